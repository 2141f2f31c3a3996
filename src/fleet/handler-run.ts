import type { BoundEffects } from '../effect/port.js'
import { FleetcronError } from '../errors.js'
import { isWithin } from '../ledger/index.js'
import type { Cause, Covers, Definition, Run as LedgerRun } from '../ledger/types.js'
import { parseSchedule } from '../schedule/index.js'
import type { ScheduleSpec } from '../schedule/types.js'
import type { HostedJob } from './node.js'
import type { Parts } from './parts.js'
import type { Run, RunOccurrence } from './run.js'

/** At most this many occurrences are listed one by one. */
const OCCURRENCES_MOST = 10_000

/** What a handler's run is made of: the run, the terms it was granted under, and the schedule its occurrences came from. */
export interface Handed {
  readonly run: LedgerRun
  readonly definition: Definition
  readonly spec: ScheduleSpec | null
  readonly anchor: number
}

/** The run as its handler sees it. Asking for the signal or an effect looks at the session first: a handler that blocked the event loop goes on before any timer could tell it. */
export class HandlerRun implements Run {
  readonly job: string
  readonly key: string
  readonly cause: Cause
  readonly scheduledAt: Date
  readonly date: string
  readonly covers: Covers | null
  readonly since: Date | null
  readonly attempt: number
  readonly owned: boolean
  readonly token: number
  readonly resource: string
  readonly node: string
  readonly data: unknown
  readonly once: BoundEffects['once']
  readonly fence: BoundEffects['fence']
  readonly call: BoundEffects['call']
  readonly #parts: Parts
  readonly #grant: Handed
  readonly #signal: AbortSignal

  /** @throws `DATA_INVALID` */
  constructor(parts: Parts, hosted: HostedJob, grant: Handed, signal: AbortSignal, owned = true) {
    this.owned = owned
    const { run } = grant
    const { name } = hosted
    this.job = name
    this.key = run.key
    this.cause = run.cause
    this.scheduledAt = new Date(run.scheduledAt)
    this.date = run.date
    this.covers = run.covers
    this.since = run.since === null ? null : new Date(run.since)
    this.attempt = run.attempt
    this.token = run.token
    this.resource = run.resource
    this.node = parts.facts.label
    this.data = dataOf(hosted, grant)
    this.#parts = parts
    this.#grant = grant
    this.#signal = signal
    const bound = bindEffects(parts, name, grant, signal)
    this.once = ((key: string, fn: never, options?: never) => {
      parts.sessions.check()
      return bound().once(key, fn, options)
    }) as BoundEffects['once']
    this.fence = ((tx: never) => {
      parts.sessions.check()
      return bound().fence(tx)
    }) as BoundEffects['fence']
    this.call = ((key: string, options: never) => {
      parts.sessions.check()
      return bound().call(key, options)
    }) as BoundEffects['call']
  }

  get signal(): AbortSignal {
    this.#parts.sessions.check()
    return this.#signal
  }

  occurrences(): RunOccurrence[] {
    const { spec, anchor } = this.#grant
    const { covers } = this
    if (covers === null) return []
    // The key of a backfill or a retry names the request; that of its occurrence is the first it covers.
    const single = [{ key: covers.from, at: new Date(this.scheduledAt) }]
    if (covers.count === 1 || spec === null) return single
    const { zones } = this.#parts.facts
    const schedule = parseSchedule(spec, zones === undefined ? { anchor } : { anchor, zones })
    const first = schedule.occurrence(covers.from)
    if (first === null) return single
    const before = schedule.cursorAt(first.instant - 1)
    return schedule
      .between(before, this.scheduledAt.getTime(), OCCURRENCES_MOST)
      .filter(({ key }) => isWithin(covers, key))
      .map(({ key, instant }) => ({ key, at: new Date(instant) }))
  }

  log(message: string, fields: Readonly<Record<string, unknown>> = {}): void {
    const { job, key, attempt, token, attemptId } = this.#grant.run
    const ref = { job, key, attempt, token }
    this.#parts.log.info(message, { ...fields, ...ref })
    this.#parts.events.emit('run-logged', { ...ref, attemptId: attemptId ?? '', message, fields })
  }
}

/** What a trigger handed in goes before what the schedule says. */
function dataOf(hosted: HostedJob, { run, definition }: Handed): unknown {
  const text = run.data ?? definition.data
  const data = text === undefined ? undefined : JSON.parse(text)
  return hosted.parse === undefined ? data : hosted.parse(data)
}

function bindEffects(parts: Parts, name: string, grant: Handed, signal: AbortSignal): () => BoundEffects {
  const { effects, fleet, leaseMs } = parts.facts
  if (effects === null) {
    return () => {
      const message = `Job '${name}' asks for an effect, but fleet '${fleet}' has no business database: hand one in as \`effects\`.`
      throw new FleetcronError('EFFECT_INVALID', message)
    }
  }
  const { key, resource, token, attempt } = grant.run
  let bound: BoundEffects | null = null
  return () => {
    bound ??= effects.bind({
      fleet,
      job: name,
      ledgerJob: grant.run.job,
      runKey: key,
      resource,
      token,
      attempt,
      fence: grant.definition.fence,
      leaseMs,
      signal,
      warn: (message) => parts.log.warn(message, { job: grant.run.job, key, attempt, token }),
    })
    return bound
  }
}
