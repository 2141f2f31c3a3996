import type { Outcome } from '../ledger/context.js'
import type { AttemptOutcome } from '../ledger/types.js'
import type { ScheduleSpec } from '../schedule/types.js'
import { describeError, isUncertain, staleToken } from './attempt-error.js'
import type { Timer } from './clock.js'
import type { AbortKind, AttemptRef } from './events.js'
import { prepareEffects, shutOut } from './fence.js'
import { HandlerRun } from './handler-run.js'
import type { HostedJob } from './node.js'
import { ownSchedule } from './own-schedule.js'
import type { Grant, Parts } from './parts.js'
import { keepResult } from './result.js'
import { withRun } from './run.js'
import { abortReason } from './signal.js'

/** A handler that has not ended this long after its signal is given up: its place here is free, it stays visible. */
const OBEY_MS = 5_000

/** What a handler did. */
type Ending =
  | { readonly kind: 'returned'; readonly value: unknown }
  | { readonly kind: 'threw'; readonly error: unknown }

/**
 * One attempt: the fence is raised, the handler is called, its end is turned into an outcome and offered to the ledger.
 *
 *   preparing ──fence──▶ running ──returns, throws──▶ ended
 *       │                   │
 *       │ signal            │ signal, 5 s without an end
 *       ▼                   ▼
 *     ended             abandoned ──returns, throws──▶ ended
 *
 * The first signal decides what the end means: after `session`, `suspend`, `stop` and `lost` a handler that throws is
 * handed back uncharged and one that returns has succeeded; after `timeout` it has failed; after `cancel` and `replace`
 * it is cancelled. Whether the row still is this attempt's to end is the store's to say.
 */
export class Attempt {
  readonly ref: AttemptRef
  readonly startedAt: number
  state: 'preparing' | 'running' | 'abandoned' | 'ended' = 'preparing'
  why: AbortKind | null = null
  private readonly controller = new AbortController()
  private readonly timers: Timer[] = []
  private offered = false
  /** Whether another attempt would end the same way. */
  private isFinal = false

  constructor(
    private readonly parts: Parts,
    private readonly hosted: HostedJob,
    readonly grant: Grant,
    private readonly tell: { readonly ended: () => void; readonly abandoned: () => void },
  ) {
    const { job, key, attempt, attemptId, token } = grant.run
    this.ref = { job, key, attempt, attemptId: attemptId ?? '', token }
    this.startedAt = parts.facts.clock.monotonic()
  }

  begin(): void {
    this.go().catch((error) => this.fellApart(error))
  }

  /** Fires the handler's signal. Only the first reason counts. */
  fire(why: AbortKind): void {
    if (this.why !== null || this.state === 'ended' || this.state === 'abandoned') return
    this.why = why
    this.controller.abort(abortReason(why, this.hosted.name, this.ref.key, this.grant.definition.timeoutMs))
    this.parts.events.emit('signal-fired', { ...this.ref, why })
    if (this.state === 'running') this.timer(OBEY_MS, () => this.giveUp().catch((error) => this.fellApart(error)))
  }

  private async go(): Promise<void> {
    const { facts, effectTables, sessions } = this.parts
    const refusal = await prepareEffects(facts, effectTables, this.grant, this.controller.signal)
    const made = await ownSchedule(this.parts, this.grant)
    sessions.check()
    if (this.why === 'cancel' || this.why === 'replace') this.end({ kind: 'cancelled', why: this.why })
    else if (this.why !== null) this.end({ kind: 'handed-back', why: WORDS[this.why], called: false })
    else if (!this.grant.session.believed()) this.end({ kind: 'handed-back', why: WORDS.session, called: false })
    else if (refusal !== null) this.end(refusal)
    else if (made.unknown !== null) this.end({ kind: 'handed-back', why: made.unknown, called: false })
    else await this.run(made.spec)
  }

  private async run(spec: ScheduleSpec | null): Promise<void> {
    const { timeoutMs } = this.grant.definition
    this.state = 'running'
    if (timeoutMs !== null) this.timer(timeoutMs, () => this.fire('timeout'))
    let run: HandlerRun
    try {
      run = new HandlerRun(this.parts, this.hosted, { ...this.grant, spec }, this.controller.signal)
    } catch (error) {
      // Data that its handler does not take stays so: the run fails at once, and says it once.
      this.isFinal = true
      return this.finish({ kind: 'threw', error })
    }
    let ending: Ending
    try {
      this.parts.events.emit('run-started', { ...this.ref, run: this.grant.run })
      ending = { kind: 'returned', value: await withRun(run, () => this.hosted.handler(run as never)) }
    } catch (error) {
      ending = { kind: 'threw', error }
    }
    this.finish(ending)
  }

  private finish(ending: Ending): void {
    this.parts.sessions.check()
    const wasAbandoned = (this.state as string) === 'abandoned'
    const outcome = this.offered ? null : this.outcomeOf(ending)
    if (wasAbandoned) this.parts.events.emit('abandoned-ended', this.ref)
    this.end(outcome)
  }

  private outcomeOf(ending: Ending): Outcome {
    const { why } = this
    if (why === 'timeout') return { kind: 'timed-out' }
    if (why === 'cancel' || why === 'replace') return { kind: 'cancelled', why }
    if (ending.kind === 'returned') {
      const { json, dropped } = keepResult(ending.value)
      if (dropped !== null) this.parts.log.warn(dropped.message, this.ref)
      return { kind: 'returned', result: json }
    }
    if (why !== null) return { kind: 'handed-back', why: WORDS[why], called: true }
    const { run, session } = this.grant
    const stale = staleToken(ending.error)
    if (stale !== null && stale.resource === run.resource && stale.token === run.token && session.believed()) {
      return { kind: 'refused-by-fence', token: stale.highest, called: true }
    }
    const uncertain = isUncertain(ending.error)
    return { kind: 'threw', error: describeError(ending.error), ...(uncertain && { uncertain }) }
  }

  /** The handler does not obey. Who ends its run shuts it out first; after a lost session the run is others' to end. */
  private async giveUp(): Promise<void> {
    const { why } = this
    if (this.state !== 'running' || why === null) return
    const outcome = this.outcomeOfSilence(why)
    if (outcome !== null && this.grant.definition.fence) await shutOut(this.parts.facts, this.grant.run, OBEY_MS)
    if (this.state !== 'running') return
    this.state = 'abandoned'
    this.parts.events.emit('run-abandoned', { ...this.ref, why })
    this.parts.log.error(
      `job '${this.hosted.name}': the handler did not end within ${OBEY_MS / 1000} s after its signal (${WORDS[why]}); it goes on unowned. Let it watch run.signal.`,
      this.ref,
    )
    if (outcome !== null) this.offer(outcome)
    this.tell.abandoned()
  }

  private outcomeOfSilence(why: AbortKind): Outcome | null {
    if (why === 'timeout') return { kind: 'timed-out' }
    if (why === 'cancel' || why === 'replace') return { kind: 'cancelled', why }
    if (why === 'stop') return { kind: 'handed-back', why: WORDS.stop, called: true }
    return null
  }

  private end(outcome: Outcome | null): void {
    for (const timer of this.timers) timer.cancel()
    this.state = 'ended'
    if (outcome !== null) this.offer(outcome)
    this.tell.ended()
  }

  private offer(outcome: Outcome): void {
    this.offered = true
    const durationMs = Math.round(this.parts.facts.clock.monotonic() - this.startedAt)
    const word = OUTCOME_WORDS[outcome.kind]
    this.parts.events.emit('run-ended', { ...this.ref, outcome: word, durationMs })
    this.writeLine(outcome, word, durationMs)
    this.parts.settling.offer(this.isFinal ? withoutRetry(this.grant) : this.grant, outcome)
  }

  /** The one line per attempt. */
  private writeLine(outcome: Outcome, word: AttemptOutcome, durationMs: number): void {
    const { date, job, key, attempt, token } = this.grant.run
    const note = outcome.kind === 'threw' ? outcome.error.message : outcome.kind === 'handed-back' ? outcome.why : null
    const fields = { date, job, key, attempt, token, outcome: word, durationMs, note }
    if (word === 'succeeded' || word === 'cancelled') this.parts.log.info('run', fields)
    else if (word === 'handed-back') this.parts.log.warn('run', fields)
    else this.parts.log.error('run', fields)
  }

  /** A defect of ours must not cost the process, nor repeat a handler that was called without counting it. */
  private fellApart(error: unknown): void {
    const { message } = describeError(error)
    this.parts.log.error(`job '${this.hosted.name}': an attempt could not be ended properly`, {
      ...this.ref,
      error: message,
    })
    if (this.state === 'ended') return
    const called = this.state !== 'preparing'
    this.state = 'ended'
    if (!this.offered) {
      this.offered = true
      this.parts.settling.offer(this.grant, { kind: 'handed-back', why: message, called })
    }
    this.tell.ended()
  }

  private timer(delayMs: number, fn: () => void): void {
    this.timers.push(this.parts.facts.clock.after(delayMs, fn))
  }
}

const WORDS: Readonly<Record<AbortKind, string>> = {
  session: 'the session was lost',
  suspend: 'the machine was suspended',
  stop: 'the node stops',
  timeout: 'timeout',
  cancel: 'cancelled',
  replace: 'replaced',
  lost: 'the run belongs to somebody else by now',
}

const OUTCOME_WORDS: Readonly<Record<Outcome['kind'], AttemptOutcome>> = {
  returned: 'succeeded',
  threw: 'failed',
  'handed-back': 'handed-back',
  'timed-out': 'timed-out',
  cancelled: 'cancelled',
  'refused-by-fence': 'handed-back',
}

function withoutRetry(grant: Grant): Grant {
  const { definition } = grant
  return { ...grant, definition: { ...definition, retry: { ...definition.retry, limit: 0 } } }
}
