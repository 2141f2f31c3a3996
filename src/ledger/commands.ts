import { dateOf } from '../schedule/index.js'
import { cancelStopped, cancelWaiting } from './attend.js'
import type { Context, Decision, Request } from './context.js'
import { Draft } from './draft.js'
import { decideDue } from './due.js'
import { BACKFILL_MOST, TEXT_LIMITS } from './limits.js'
import { queueRun } from './rows.js'
import { isLive } from './states.js'
import { cleanText } from './text.js'
import type { Aggregate, Run, Stop } from './types.js'

/**
 * What people and programs ask for. Every command first decides what is due, under the terms in force, so that none
 * swallows it. A request that was carried out before (`ctx.taken` has its id, from a clash) changes nothing.
 */

/** The key of the run that a request makes: its own row, which neither consumes nor is an occurrence. */
export function manualKey(requestId: string): string {
  return `manual:${requestId}`
}

/** Starts the job once, now or as soon as a place is free. Refused where `queue` manual runs already wait. */
export function trigger(job: Aggregate, input: { request: Request; data: string | null }, ctx: Context): Decision {
  const { request } = input
  const key = manualKey(request.id)
  if (isRepeated(ctx, request.id, key)) return { outcome: 'unchanged' }
  return command(job, ctx, (draft) => {
    const full = refuseFull(draft)
    if (full !== null) return full
    const date = dateOf({ label: draft.schedule?.label(draft.now) ?? isoLabel(draft.now) })
    queueRun(draft, { key, cause: 'manual', covers: null, scheduledAt: draft.now, date, data: input.data })
    draft.event('triggered', request.id, request.by, request.why, { key })
    return null
  })
}

/** Runs a failed, cancelled, skipped or missed run's work again, as a manual run with the same date and data. */
export function retryRun(job: Aggregate, run: Run, input: { request: Request }, ctx: Context): Decision {
  const { request } = input
  const key = manualKey(request.id)
  if (isRepeated(ctx, request.id, key)) return { outcome: 'unchanged' }
  if (isLive(run.state) || run.state === 'succeeded') {
    return refused(
      'STATE_CONFLICT',
      `run ${run.key} of ${run.job} is ${run.state}: only what ended without success can be retried`,
    )
  }
  return command(job, ctx, (draft) => {
    const full = refuseFull(draft)
    if (full !== null) return full
    const { covers, scheduledAt, date, data } = run
    queueRun(draft, { key, cause: 'manual', covers, scheduledAt, date, data, retryOf: run.key })
    draft.event('retried', request.id, request.by, request.why, { key, retryOf: run.key })
    return null
  })
}

/** One run for each occurrence with `from <= instant <= to`, in the past, at most 1,000. */
export function backfill(
  job: Aggregate,
  input: { request: Request; from: number; to: number },
  ctx: Context,
): Decision {
  const { request, from, to } = input
  if (isRepeated(ctx, request.id, '')) return { outcome: 'unchanged' }
  return command(job, ctx, (draft) => {
    const { schedule } = draft
    if (schedule === null)
      return refused('STATE_CONFLICT', `${job.header.job} has no schedule: there is nothing to backfill`)
    if (to > draft.now)
      return refused('OPTION_INVALID', `a backfill of ${job.header.job} ends in the future: end it at or before now`)
    const start = schedule.cursorAt(from - 1)
    const count = schedule.count(start, to)
    if (count === 0)
      return refused('OPTION_INVALID', `${job.header.job} has no occurrence in that time: check from and to`)
    if (count > BACKFILL_MOST) {
      return refused(
        'OPTION_INVALID',
        `a backfill of ${job.header.job} asks for ${count} occurrences: at most ${BACKFILL_MOST} at once`,
      )
    }
    for (const occurrence of schedule.between(start, to, BACKFILL_MOST)) {
      queueRun(draft, {
        key: `backfill:${request.id}:${occurrence.key}`,
        cause: 'backfill',
        covers: { from: occurrence.key, to: occurrence.key, count: 1 },
        scheduledAt: occurrence.instant,
        date: dateOf(occurrence),
      })
    }
    draft.event('backfilled', request.id, request.by, request.why, { from, to, count })
    return null
  })
}

/** Starts nothing new until `resume`, or until the instant. Occurrences in between are missed, reason `paused`. */
export function pause(job: Aggregate, input: { request: Request; until: number | null }, ctx: Context): Decision {
  const { request, until } = input
  if (isRepeated(ctx, request.id, '')) return { outcome: 'unchanged' }
  return command(job, ctx, (draft) => {
    if (until !== null && until <= draft.now) {
      return refused('OPTION_INVALID', `a pause of ${job.header.job} would end in the past: give an instant to come`)
    }
    const old = draft.header.pause
    if (old !== null && old.until === until) return { outcome: 'unchanged' }
    const why = request.why === null ? null : cleanText(request.why, TEXT_LIMITS.why)
    draft.header.pause = { since: old?.since ?? draft.now, until, by: cleanText(request.by, TEXT_LIMITS.by), why }
    draft.event('paused', request.id, request.by, request.why, { until })
    return null
  })
}

/** Ends a pause and forgets the failures in a row. */
export function resume(job: Aggregate, input: { request: Request }, ctx: Context): Decision {
  const { request } = input
  if (isRepeated(ctx, request.id, '')) return { outcome: 'unchanged' }
  return command(job, ctx, (draft) => {
    if (draft.header.pause === null) return { outcome: 'unchanged' }
    draft.header.pause = null
    draft.failures = 'reset'
    draft.event('resumed', request.id, request.by, request.why)
    return null
  })
}

/** Takes a run back: at once where nobody works on it, else its holder is asked to stop. */
export function cancel(job: Aggregate, run: Run, input: { request: Request }, ctx: Context): Decision {
  const { request } = input
  if (isRepeated(ctx, request.id, '')) return { outcome: 'unchanged' }
  if (!isLive(run.state)) {
    return run.state === 'cancelled'
      ? { outcome: 'unchanged' }
      : refused(
          'STATE_CONFLICT',
          `run ${run.key} of ${run.job} has ended as ${run.state}: it cannot be cancelled any more`,
        )
  }
  if (run.stop !== null) return { outcome: 'unchanged' }
  return command(job, ctx, (draft) => {
    const current = draft.runs().find((one) => one.key === run.key) ?? run
    if (current.stop === null) askToStop(draft, current, request)
    draft.event('cancelled', request.id, request.by, request.why, { key: run.key })
    return null
  })
}

/** Takes the job out of service: nothing is due any more, what waits is cancelled, who works is asked to stop. */
export function retire(job: Aggregate, input: { request: Request }, ctx: Context): Decision {
  const { request } = input
  if (isRepeated(ctx, request.id, '')) return { outcome: 'unchanged' }
  return command(job, ctx, (draft) => {
    if (draft.header.retired) return { outcome: 'unchanged' }
    draft.header.retired = true
    cancelWaiting(draft)
    for (const run of draft.runs()) if (run.stop === null) askToStop(draft, run, request)
    draft.event('retired', request.id, request.by, request.why)
    return null
  })
}

function command(job: Aggregate, ctx: Context, act: (draft: Draft) => Decision | null): Decision {
  const draft = new Draft(job, ctx)
  decideDue(draft)
  cancelStopped(draft)
  const refusal = act(draft)
  if (refusal !== null) return refusal
  const change = draft.close()
  return change === null ? { outcome: 'unchanged' } : { outcome: 'change', change }
}

function askToStop(draft: Draft, run: Run, request: Request): void {
  const by = cleanText(request.by, TEXT_LIMITS.by)
  const why = request.why === null ? null : cleanText(request.why, TEXT_LIMITS.why)
  const stop: Stop = { kind: 'cancel', at: draft.now, by, why }
  if (run.state === 'running') draft.step(run, 'ask-to-stop', { ...run, stop })
  else
    draft.step(run, 'cancel', {
      ...run,
      state: 'cancelled',
      reason: 'cancelled',
      stop,
      place: false,
      endedAt: draft.now,
    })
}

function refuseFull(draft: Draft): Decision | null {
  const { job } = draft.header
  if (draft.header.retired) return refused('STATE_CONFLICT', `${job} is retired: define it again before you start it`)
  const waiting = draft.header.waiting.manual
  if (waiting < draft.definition.queue) return null
  return refused(
    'QUEUE_FULL',
    `${waiting} manual runs of ${job} wait already (queue: ${draft.definition.queue}): try again later or raise queue`,
  )
}

function isRepeated(ctx: Context, requestId: string, key: string): boolean {
  return ctx.taken !== undefined && (ctx.taken.has(requestId) || ctx.taken.has(key))
}

function refused(code: Extract<Decision, { outcome: 'refused' }>['code'], message: string): Decision {
  return { outcome: 'refused', code, message }
}

function isoLabel(instant: number): string {
  return new Date(instant).toISOString().slice(0, 16)
}
