import type { BoundEffects, Effects } from '../effect/port.js'
import { FleetcronError } from '../errors.js'
import type { Run as FleetRun, RunOccurrence } from '../fleet/run.js'
import type { Covers } from '../ledger/types.js'
import { instantToKey, parseSchedule, scheduleSpec } from '../schedule/index.js'

/** What a timer's runs know of each other: the ledger of one job in one process. */
export interface TimerJob {
  readonly name: string
  /** Null: not a cron expression. */
  readonly cron: string | null
  readonly timeZone: string
  readonly node: string
  readonly effects: Effects | null
  readonly log: (line: string) => void
  lastToken: number
  /** When the last run that succeeded was due. */
  since: Date | null
}

/**
 * The run of a timer on one node. It is told apart from every other by its moment; nothing is recorded and nobody takes it
 * over, so it is always the first attempt, and nothing is there to fence it with: its effects hold by their keys.
 */
export class TimerRun implements FleetRun {
  readonly job: string
  readonly key: string
  readonly cause = 'schedule'
  readonly scheduledAt: Date
  readonly date: string
  readonly covers: Covers
  readonly since: Date | null
  readonly attempt = 1
  readonly owned = true
  readonly token: number
  readonly resource: string
  readonly node: string
  readonly data = undefined
  readonly once: BoundEffects['once']
  readonly fence: BoundEffects['fence']
  readonly call: BoundEffects['call']
  readonly #log: TimerJob['log']

  constructor(
    job: TimerJob,
    now: number,
    readonly signal: AbortSignal,
  ) {
    // A cron moment is a whole second; its timer fires a little later.
    const due = job.cron === null ? now : Math.floor(now / 1000) * 1000
    const { key, date } = labelsOf(job, due)
    job.lastToken = Math.max(job.lastToken + 1, now * 1000)
    this.job = job.name
    this.key = key
    this.date = date
    this.scheduledAt = new Date(due)
    this.covers = { from: key, to: key, count: 1 }
    this.since = job.since
    this.token = job.lastToken
    this.resource = `node/${job.name}`
    this.node = job.node
    this.#log = job.log
    const { once, fence, call } = bind(job, this, signal)
    this.once = once
    this.fence = fence
    this.call = call
  }

  occurrences(): RunOccurrence[] {
    return [{ key: this.key, at: new Date(this.scheduledAt) }]
  }

  log(message: string, fields: Readonly<Record<string, unknown>> = {}): void {
    this.#log(`${message} ${JSON.stringify({ ...fields, job: this.job, key: this.key })}`)
  }
}

/** A fixed-time job's key is its label; any other's, also where the expression is not understood here, its instant. */
function labelsOf({ cron, timeZone }: TimerJob, due: number): { key: string; date: string } {
  try {
    const spec = scheduleSpec({ cron: cron ?? '* * * * * *', timeZone })
    const schedule = parseSchedule(spec, { anchor: 0 })
    const label = schedule.label(due)
    const key = schedule.kind === 'fixed-time' ? label : instantToKey(due)
    return { key, date: label.slice(0, 10) }
  } catch {
    const key = instantToKey(due)
    return { key, date: key.slice(0, 10) }
  }
}

function bind(job: TimerJob, run: TimerRun, signal: AbortSignal): BoundEffects {
  const { effects, name } = job
  if (effects === null) {
    const refuse = (): never => {
      const message = `Job '${name}' asks for an effect, but there is no business database: hand one in as \`effects\` to FleetModule.forRoot().`
      throw new FleetcronError('EFFECT_INVALID', message)
    }
    const refuseLater = async () => refuse()
    return { once: refuseLater, call: refuseLater, fence: refuse } as unknown as BoundEffects
  }
  const { key, token, resource } = run
  const attempt = { resource, token, attempt: 1, fence: false, signal }
  return effects.bind({ fleet: 'node', job: name, runKey: key, ...attempt })
}
