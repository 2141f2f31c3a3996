import type { UnownedRun } from '../ledger/index.js'
import type { Definition, JobHeader, Run, RunError } from '../ledger/types.js'
import { dateOf } from '../schedule/index.js'
import type { Occurrence } from '../schedule/types.js'
import { describeError } from './attempt-error.js'
import type { Timer } from './clock.js'
import { HandlerRun } from './handler-run.js'
import type { HostedJob } from './node.js'
import type { Parts } from './parts.js'
import { keepResult } from './result.js'
import { withRun } from './run.js'
import { abortReason } from './signal.js'

/** A handler that has not ended this long after its signal is waited for no longer. */
const OBEY_MS = 5_000

/** What is run: an occurrence of a job, by the terms last seen. */
export interface Unowned {
  readonly job: string
  readonly due: Occurrence
  readonly header: JobHeader
  readonly definition: Definition
}

/** One call of a handler without the ledger's leave: no session, no token, no fence; its effects hold by their keys. */
export class UnownedAttempt {
  readonly job: string
  /** The occurrence's. */
  readonly key: string
  readonly startedAt: number
  /** What there is to record, once it has ended. */
  outcome: UnownedRun | null = null
  private readonly id: string
  private readonly startedStoreAt: number
  private readonly controller = new AbortController()
  private readonly timers: Timer[] = []
  private why: 'stop' | 'timeout' | null = null
  private isOver = false

  constructor(
    private readonly parts: Parts,
    private readonly hosted: HostedJob,
    private readonly unowned: Unowned,
    private readonly tellEnded: () => void,
  ) {
    const { clock } = parts.facts
    this.job = unowned.job
    this.key = unowned.due.key
    this.id = clock.id()
    this.startedAt = clock.monotonic()
    this.startedStoreAt = parts.link.storeNow()
  }

  begin(): void {
    const { events, log, facts } = this.parts
    const { timeoutMs } = this.unowned.definition
    events.emit('unowned-started', this.ref())
    log.warn(`job '${this.hosted.name}' is run unowned: the store cannot be reached`, { key: this.key })
    if (timeoutMs !== null) this.timers.push(facts.clock.after(timeoutMs, () => this.fire('timeout')))
    this.call().then(
      (value) => this.end(value, null),
      (error) => this.end(undefined, describeError(error)),
    )
  }

  /** Fires the handler's signal. Only the first reason counts. */
  fire(why: 'stop' | 'timeout'): void {
    if (this.why !== null || this.isOver) return
    this.why = why
    this.controller.abort(abortReason(why, this.hosted.name, this.key, this.unowned.definition.timeoutMs))
    const late = {
      name: 'RunAborted',
      message: `it did not end within ${OBEY_MS / 1_000} s after its signal`,
      stack: null,
    }
    this.timers.push(this.parts.facts.clock.after(OBEY_MS, () => this.end(undefined, late)))
  }

  private async call(): Promise<unknown> {
    const { definition, header } = this.unowned
    const terms = { definition: { ...definition, fence: false }, spec: definition.schedule, anchor: header.anchor }
    const run = new HandlerRun(this.parts, this.hosted, { run: this.row(), ...terms }, this.controller.signal, false)
    return withRun(run, () => this.hosted.handler(run as never))
  }

  private end(value: unknown, thrown: RunError | null): void {
    if (this.isOver) return
    this.isOver = true
    for (const timer of this.timers) timer.cancel()
    const { facts, events, log, link } = this.parts
    const isTimeout = this.why === 'timeout'
    const error = isTimeout && thrown === null ? TIMED_OUT : thrown
    const { json, dropped } = keepResult(error === null ? value : undefined)
    if (dropped !== null) log.warn(dropped.message, this.ref())
    const { due, header } = this.unowned
    this.outcome = {
      id: this.id,
      key: due.key,
      instant: due.instant,
      date: dateOf(due),
      definition: header.definition,
      node: facts.label,
      startedAt: this.startedStoreAt,
      endedAt: link.storeNow(),
      result: json,
      error,
      isTimeout,
    }
    const outcome = error === null ? 'succeeded' : isTimeout ? 'timed-out' : 'failed'
    const durationMs = Math.round(facts.clock.monotonic() - this.startedAt)
    events.emit('unowned-ended', { ...this.ref(), outcome, durationMs })
    const fields = { ...this.ref(), outcome, durationMs, note: error?.message ?? null }
    if (error === null) log.info('unowned run', fields)
    else log.error('unowned run', fields)
    this.tellEnded()
  }

  private ref() {
    return { job: this.job, key: this.key, id: this.id }
  }

  /** The run as its handler sees it. */
  private row(): Run {
    const { job, due, header, definition } = this.unowned
    const { fleet } = this.parts.facts
    const at = this.startedStoreAt
    const resource = definition.resource ?? `${fleet}/${job}`
    return {
      job,
      key: due.key,
      cause: 'schedule',
      lane: 'schedule',
      state: 'running',
      reason: null,
      covers: { from: due.key, to: due.key, count: 1 },
      scheduledAt: due.instant,
      date: dateOf(due),
      since: null,
      resource: definition.concurrency === 1 ? resource : `${resource}/${due.key}`,
      definition: header.definition,
      data: null,
      retryOf: null,
      position: 0,
      place: false,
      readyAt: 0,
      attempt: 1,
      attemptId: this.id,
      session: null,
      token: 0,
      stop: null,
      retries: 0,
      recoveries: 0,
      repeats: 0,
      attempts: [],
      createdAt: at,
      startedAt: at,
      endedAt: null,
      result: null,
      error: null,
    }
  }
}

const TIMED_OUT = { name: 'TimeoutError', message: 'did not end in time', stack: null }
