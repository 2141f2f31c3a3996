import { FleetcronError } from '../errors.js'
import { awaitsPoke, poke } from '../ledger/index.js'
import type { Aggregate, Run } from '../ledger/types.js'
import { parseSchedule } from '../schedule/index.js'
import type { Schedule } from '../schedule/types.js'
import type { Loaded } from '../store/port.js'
import { instantOf, jobUnknown } from './asked.js'
import { type Commands, throwIfUnreadable } from './commands.js'
import { isUnavailable } from './link.js'
import type { Lookups } from './lookups.js'
import { type Duration, durationMs } from './option-values.js'
import type { Parts } from './parts.js'
import { Backoff, pause } from './pause.js'

export interface PokeRequest {
  /**
   * An occurrence that is due so soon is waited for, since the clock of whoever pokes may be ahead of the store's. Default
   * `'5s'`, at most an hour.
   */
  readonly early?: Duration
  /** The instant it was sent for: the run of the latest occurrence up to then is given first, also where it comes again later. */
  readonly at?: Date
}

const EARLY_MS = 5_000
const ROUNDS = 30
const YEAR_MS = 366 * 86_400_000

/** Rows in which the latest occurrence is looked for where it was merged into another's. */
const SEARCHED = 500

/** What doors say: it is time. The ledger lets start what is due, once, whoever says it how often. */
export class Pokes {
  constructor(
    private readonly parts: Parts,
    private readonly commands: Commands,
    private readonly lookups: Lookups,
  ) {}

  /**
   * The row of the latest occurrence, then whatever else of the schedule waits or runs.
   * @throws `JOB_UNKNOWN`, `OPTION_INVALID`, `STORE_UNAVAILABLE`, `NOT_STARTED`
   */
  async poke(job: string, { early, at }: PokeRequest = {}): Promise<readonly Run[]> {
    const until = at === undefined ? Number.POSITIVE_INFINITY : instantOf('poke: at', at)
    const earlyMs = early === undefined ? EARLY_MS : durationMs('poke: early', early, 0, 3_600_000)
    await this.letStart(job, earlyMs)
    await this.parts.looker.attendOne(job)
    return this.due(job, until)
  }

  private async letStart(job: string, earlyMs: number): Promise<void> {
    const { facts, link, stopping } = this.parts
    const backoff = new Backoff(facts.clock, 10, 500)
    const taken = new Set<string>()
    const { zones } = facts
    let doubt: unknown = null
    let dueAt: number | null = null
    for (let round = 0; round < ROUNDS; round += 1) {
      const { aggregate, now } = await this.load(job)
      dueAt ??= this.awaited(aggregate, now, earlyMs)
      // A store's clock that was set back meanwhile is not waited for.
      if (now < dueAt && dueAt - now <= earlyMs) {
        await pause(facts.clock, link.untilMs(dueAt), stopping)
        continue
      }
      const context = { fleet: facts.fleet, now, changeId: facts.clock.id(), taken }
      const change = poke(aggregate, zones === undefined ? context : { ...context, zones })
      if (change === null) return
      try {
        if (await this.commands.apply(now, change, taken)) return
      } catch (error) {
        if (!isUnavailable(error)) throw error
        doubt = error
      }
      await pause(facts.clock, backoff.nextMs(), stopping)
    }
    throw doubt ?? new FleetcronError('STORE_UNAVAILABLE', `Job '${job}' is changed by others all the time: ask again.`)
  }

  /** The instant that a poke is about: now where something waits for it, else that of an occurrence which comes so soon. */
  private awaited(aggregate: Aggregate, now: number, earlyMs: number): number {
    const { header, runs } = aggregate
    if (header.retired || header.pause !== null || runs.some(awaitsPoke)) return now
    const next = this.scheduleOf(aggregate)?.next(header.cursor)?.instant ?? now
    return next - now <= earlyMs ? next : now
  }

  private async due(job: string, until: number): Promise<readonly Run[]> {
    const { aggregate, now } = await this.load(job)
    const live = aggregate.runs.filter(({ cause }) => cause === 'schedule' || cause === 'catch-up')
    const schedule = this.scheduleOf(aggregate)
    const instant = Math.min(now, until)
    const [latest] = schedule?.latest(schedule.cursorAt(instant - YEAR_MS), instant, 1) ?? []
    if (latest === undefined || latest.instant <= aggregate.header.anchor) return live
    const row = await this.lookups.occurrence(job, latest.key, SEARCHED)
    return row === null ? live : [row, ...live.filter(({ key }) => key !== row.key)]
  }

  private scheduleOf({ definition, header: { anchor } }: Aggregate): Schedule | null {
    const { zones } = this.parts.facts
    if (definition.schedule === null) return null
    return parseSchedule(definition.schedule, zones === undefined ? { anchor } : { anchor, zones })
  }

  private async load(job: string): Promise<Pick<Loaded, 'now'> & { readonly aggregate: Aggregate }> {
    const { reply: loaded } = await this.commands.load({ jobs: [job] })
    throwIfUnreadable(loaded, job)
    const aggregate = loaded.jobs.get(job)
    if (aggregate === undefined) throw jobUnknown(job)
    return { now: loaded.now, aggregate }
  }
}
