import type { HandlerSeen, RowChange } from '../observations.js'
import type { ProcessTruth } from '../truth.js'
import type { Checker, CheckerContext } from './checker.js'

/** Part of the lease that a node leaves unused, at least (S8). */
const MARGIN = 0.1

/** What a timer may be late by, and what a process that was stopped needs until it has looked at its clocks. */
const TICK_MS = 3

/** How one handler stands. */
export interface HandlerTruth {
  readonly number: number
  readonly process: string
  readonly job: string
  readonly key: string
  readonly token: number
  readonly session: string
  readonly startedAt: number
  abortedAt: number | null
  endedAt: number | null
}

/**
 * S8, S9: nobody acts without being entitled to. A handler is started on a grant that the ledger has, once, under a
 * session that is believed; while its signal has not fired its session's lease has not run out, counted from when the
 * last request was sent that was answered. Handlers that live at one time keep to the job's places.
 */
export function checkBelief({ truth, broken }: CheckerContext): Checker {
  const handlers = new Map<number, HandlerTruth>()
  const started = new Set<string>()
  /** How many places a run's job had when it took one: a run keeps its place where others are taken away. */
  const concurrencies = new Map<string, number>()

  const start = (seen: Extract<HandlerSeen, { kind: 'handler-started' }> & { at: number }): void => {
    const { job, key, token, process, at } = seen
    const name = `${job}/${key}#${token}`
    const grant = truth.grant(job, key, token)
    if (!grant) {
      broken('S9', `${process} started ${name}, which the ledger never granted`)
      return
    }
    // Where the store was set back, and its clock is behind too, the same token may be given again while the first grant is on its way.
    const isGivenAgain = truth.restoredAt > at - truth.world.plan.leaseMs && truth.world.storeOffsetMs < 0
    if (grant.process !== process && isGivenAgain) return
    if (grant.process !== process) broken('S9', `${process} started ${name}, which was granted to ${grant.process}`)
    const attempt = grant.run.attemptId ?? ''
    if (started.has(attempt)) broken('S9', `${name} was started twice`)
    started.add(attempt)
    for (const other of handlers.values()) {
      if (other.process !== process || other.job !== job || other.key !== key || other.endedAt !== null) continue
      broken('L6', `${process} started ${name} while the handler of #${other.token} still runs in it`)
    }
    const until = believedUntil(grant.session)
    if (at >= until) broken('S8', `${process} started ${name} ${at - until} ms after the end of its belief`)
    const { run } = grant
    const same = run.date === seen.date && run.scheduledAt === seen.scheduledAt && run.since === seen.since
    const covers = JSON.stringify(run.covers) === JSON.stringify(seen.covers)
    if (!same || !covers || run.attempt !== seen.attempt)
      broken('S6', `${name} was shown other terms than the ledger's`)
    handlers.set(seen.handler, {
      number: seen.handler,
      process,
      job,
      key,
      token,
      session: grant.session,
      startedAt: at,
      abortedAt: seen.aborted ? at : null,
      endedAt: null,
    })
    simultaneous(job)
  }

  const step = (seen: Extract<HandlerSeen, { kind: 'handler-step' }> & { at: number }): void => {
    const handler = handlers.get(seen.handler)
    if (!handler || seen.aborted) return
    inTime(handler, seen.at)
    const until = believedUntil(handler.session)
    const process = truth.process(seen.process)
    if (seen.at < until + TICK_MS || justBack(process, seen.at)) return
    broken(
      'S8',
      `${seen.process} works on ${seen.job}/${seen.key}#${seen.token} ${seen.at - until} ms after the end of its belief`,
    )
  }

  /** `timeout` fires the signal. */
  const inTime = (handler: HandlerTruth, at: number): void => {
    const timeoutMs = truth.grant(handler.job, handler.key, handler.token)?.definition?.timeoutMs
    const process = truth.process(handler.process)
    if (timeoutMs == null || handler.abortedAt !== null || !process || process.state !== 'running') return
    const since = Math.max(handler.startedAt, process.resumedAt)
    if (at - since > timeoutMs + TICK_MS) {
      broken(
        'L4',
        `${handler.process} works on ${handler.job}/${handler.key}#${handler.token} for ${at - since} ms, timeout is ${timeoutMs}`,
      )
    }
  }

  /** The signal fires when belief ends, whether or not the handler happens to act just then (L4). */
  const fired = (handler: HandlerTruth, at: number): void => {
    const until = believedUntil(handler.session)
    if (handler.abortedAt !== null || at < until + TICK_MS || justBack(truth.process(handler.process), at)) return
    const name = `${handler.job}/${handler.key}#${handler.token}`
    broken('S8', `${handler.process} told ${name} to end ${at - until} ms after the end of its belief`)
  }

  const believedUntil = (session: string): number => {
    const known = truth.sessions.get(session)
    return known ? known.acceptedSentAt + known.leaseMs * (1 - MARGIN) : Number.NEGATIVE_INFINITY
  }

  /** A process that comes back works on until its first timer has looked; one that was suspended has to be told by a clock. */
  const justBack = (process: ProcessTruth | undefined, at: number): boolean => {
    if (!process) return true
    const wasSuspended = process.suspendedAt <= process.resumedAt && process.suspendedAt > 0
    return at <= process.resumedAt + (wasSuspended ? SUSPEND_TICK_MS : TICK_MS)
  }

  const taken = ({ job, key, before, after }: RowChange): void => {
    if (!after?.place || before?.place) return
    const row = truth.ledger.job(job)
    concurrencies.set(`${job}/${key}`, (row && truth.definition(row)?.concurrency) ?? 1)
  }

  /** Handlers that nobody has told to stop, in processes that are able to act. */
  const simultaneous = (job: string): void => {
    // An early takeover by a store whose clock was set, or whose contents were, is fenced, not prevented (S4, S5).
    const disturbed = Math.max(truth.steppedAt, truth.restoredAt)
    const active = [...handlers.values()].filter((one) => {
      if (one.job !== job || one.endedAt !== null || one.abortedAt !== null) return false
      return truth.process(one.process)?.state === 'running' && !justBack(truth.process(one.process), truth.now)
    })
    const places = Math.max(0, ...active.map((one) => concurrencies.get(`${job}/${one.key}`) ?? 1))
    if (active.length <= places || active.some((one) => one.startedAt < disturbed + QUIET_MS)) return
    const names = active.map((one) => `${one.process}:${one.key}#${one.token}`)
    broken('S4', `${active.length} handlers of ${job} work at one time, ${places} may: ${names.join(', ')}`)
  }

  return {
    see(seen) {
      if (seen.kind === 'commit') for (const row of seen.rows) taken(row)
      if (seen.kind === 'handler-started') start(seen)
      if (seen.kind === 'handler-step') step(seen)
      if (seen.kind === 'handler-aborted' || seen.kind === 'handler-ended') {
        const handler = handlers.get(seen.handler)
        if (handler && seen.kind === 'handler-aborted') {
          fired(handler, seen.at)
          handler.abortedAt ??= seen.at
        }
        if (handler && seen.kind === 'handler-ended') handlers.delete(seen.handler)
      }
      if (seen.kind === 'attend' || seen.kind === 'beat') for (const one of handlers.values()) inTime(one, seen.at)
      if (seen.kind === 'process' && (seen.what === 'killed' || seen.what === 'stopped')) {
        for (const [number, one] of handlers) if (one.process === seen.process) handlers.delete(number)
      }
    },
  }
}

/** The pulse that notices a suspend by the clocks. */
const SUSPEND_TICK_MS = 1_000

/** Sessions and grants of before a disturbance of the store may be in the way of those after it. */
const QUIET_MS = 130_000
