import { dateOf } from '../schedule/index.js'
import type { Context, Decision, Request, ResolvedEffect } from './context.js'
import { Draft } from './draft.js'
import { decideDue } from './due.js'
import { BACKFILL_MOST, TEXT_LIMITS } from './limits.js'
import { queueRun } from './rows.js'
import { isLive } from './states.js'
import { askToStop, cancelRetired, cancelStopped } from './stop.js'
import { isBehind } from './taken.js'
import { cleanText, keptJson } from './text.js'
import type { Aggregate, Run, Stop } from './types.js'

/**
 * What people and programs ask for. Every command first decides what is due, under the terms in force, so that none
 * swallows it. A request that was carried out before (`ctx.taken` has its id, from a clash) changes nothing. A change that
 * does not hold the request's event only brought the job forward: it is committed, and the command is given again.
 */

/** The key of the run that a request makes: its own row, which neither consumes nor is an occurrence. */
export function manualKey(requestId: string): string {
  return `manual:${requestId}`
}

/** `also`: another id of the same request, by which it is found as well, and which no other request can have. */
interface TriggerInput {
  readonly request: Request
  readonly data: string | null
  readonly also?: string | null
}

/** Starts the job once, now or as soon as a place is free. Refused where `queue` manual runs already wait for one. */
export function trigger(job: Aggregate, input: TriggerInput, ctx: Context): Decision {
  const { request } = input
  const data = keptJson(input.data, TEXT_LIMITS.data)
  if (data === null && input.data !== null) return refuseData(job, input.data)
  const key = manualKey(request.id)
  if (isTaken(ctx, key)) return { outcome: 'unchanged' }
  return command(job, request, ctx, (draft) => {
    const full = refuseStart(draft)
    if (full !== null) return full
    const date = dateOf({ label: draft.schedule?.label(draft.now) ?? isoLabel(draft.now) })
    queueRun(draft, { key, cause: 'manual', covers: null, scheduledAt: draft.now, date, data })
    draft.event('triggered', request.id, request.by, request.why, { key })
    if (input.also != null) draft.event('triggered', input.also, request.by, request.why, { key, of: request.id })
    return null
  })
}

/** Runs a failed, cancelled, skipped or missed run's work again, as a manual run with the same date and data. */
export function retryRun(job: Aggregate, run: Run, input: { request: Request }, ctx: Context): Decision {
  const { request } = input
  const key = manualKey(request.id)
  if (isTaken(ctx, key)) return { outcome: 'unchanged' }
  if (isLive(run.state) || run.state === 'succeeded') {
    return refused(
      'STATE_CONFLICT',
      `run ${run.key} of ${run.job} is ${run.state}: only what ended without success can be retried`,
    )
  }
  return command(job, request, ctx, (draft) => {
    const full = refuseStart(draft)
    if (full !== null) return full
    const { covers, scheduledAt, date, data } = run
    queueRun(draft, { key, cause: 'manual', covers, scheduledAt, date, data, retryOf: run.key })
    draft.event('retried', request.id, request.by, request.why, { key, retryOf: run.key })
    return null
  })
}

/** Changes nothing: it keeps who said what became of a call of a provider, and why. */
export function noteResolved(job: Aggregate, input: { request: Request } & ResolvedEffect, ctx: Context): Decision {
  const { request, run, effect, as } = input
  return command(job, request, ctx, (draft) => {
    draft.event('resolved', request.id, request.by, request.why, { run, effect, as })
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
  return command(job, request, ctx, (draft) => {
    const { schedule } = draft
    if (draft.header.retired) return refuseRetired(draft)
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
  return command(
    job,
    request,
    ctx,
    (draft) => {
      if (until !== null && until <= draft.now) {
        return refused('OPTION_INVALID', `a pause of ${job.header.job} would end in the past: give an instant to come`)
      }
      const old = draft.header.pause
      // Failures may pause the job in this very change: then it is written, since a yes says that it is done.
      if (job.header.pause !== null && old !== null && old.until === until) return { outcome: 'unchanged' }
      draft.header.pause = { since: old?.since ?? draft.now, until, ...cleanReason(request) }
      draft.event('paused', request.id, request.by, request.why, { until })
      return null
    },
    CHANGES_TERMS,
  )
}

/** Ends a pause and forgets the failures in a row. */
export function resume(job: Aggregate, input: { request: Request }, ctx: Context): Decision {
  const { request } = input
  return command(
    job,
    request,
    ctx,
    (draft) => {
      if (job.header.pause === null && draft.header.pause === null) return { outcome: 'unchanged' }
      draft.header.pause = null
      draft.failures = 'reset'
      draft.event('resumed', request.id, request.by, request.why)
      return null
    },
    CHANGES_TERMS,
  )
}

/** Takes a run back: at once where nobody works on it, else its holder is asked to stop. */
export function cancel(job: Aggregate, run: Run, input: { request: Request }, ctx: Context): Decision {
  const { request } = input
  if (run.state === 'cancelled' || (isLive(run.state) && run.stop !== null)) return { outcome: 'unchanged' }
  return command(job, request, ctx, (draft) => {
    const current = draft.current(run)
    if (!isLive(current.state)) {
      const message = `run ${run.key} of ${run.job} has ended as ${current.state}: it cannot be cancelled any more`
      return refused('STATE_CONFLICT', message)
    }
    if (current.stop === null) askToStop(draft, current, stopOf(draft, request))
    draft.event('cancelled', request.id, request.by, request.why, { key: run.key })
    return null
  })
}

/** Takes the job out of service: nothing is due any more, what waits is cancelled, who works is asked to stop. */
export function retire(job: Aggregate, input: { request: Request }, ctx: Context): Decision {
  const { request } = input
  return command(
    job,
    request,
    ctx,
    (draft) => {
      if (draft.header.retired) return { outcome: 'unchanged' }
      draft.header.retired = true
      cancelRetired(draft)
      for (const run of draft.runs()) if (run.stop === null) askToStop(draft, run, stopOf(draft, request))
      draft.event('retired', request.id, request.by, request.why)
      return null
    },
    CHANGES_TERMS,
  )
}

const CHANGES_TERMS = { changesTerms: true } as const

/** Decides what is due, then acts; a refusal decides nothing, and neither does a request that was carried out before. */
function command(
  job: Aggregate,
  request: Request,
  ctx: Context,
  act: (draft: Draft) => Exclude<Decision, { outcome: 'change' }> | null,
  what: { readonly changesTerms?: boolean } = {},
): Decision {
  if (cleanText(request.id, TEXT_LIMITS.requestId) !== request.id) {
    return refused(
      'OPTION_INVALID',
      `the request id ${cleanText(request.id, 40)} cannot be kept: at most ${TEXT_LIMITS.requestId} well-formed characters`,
    )
  }
  if (isTaken(ctx, request.id)) return { outcome: 'unchanged' }
  const draft = new Draft(job, ctx)
  cancelStopped(draft)
  decideDue(draft)
  // Where a step is all that was taken, the change does not hold the request's event: it is asked again.
  const refusal = what.changesTerms && isBehind(draft) ? null : act(draft)
  if (refusal !== null) return refusal
  const change = draft.close()
  return change === null ? { outcome: 'unchanged' } : { outcome: 'change', change }
}

function isTaken(ctx: Context, id: string): boolean {
  return ctx.taken?.has(id) ?? false
}

function stopOf(draft: Draft, request: Request): Stop {
  return { kind: 'cancel', at: draft.now, ...cleanReason(request) }
}

function cleanReason({ by, why }: Request): { readonly by: string; readonly why: string | null } {
  return { by: cleanText(by, TEXT_LIMITS.by), why: why === null ? null : cleanText(why, TEXT_LIMITS.why) }
}

type Refusal = Extract<Decision, { outcome: 'refused' }>

function refuseStart(draft: Draft): Refusal | null {
  if (draft.header.retired) return refuseRetired(draft)
  const { queue, concurrency } = draft.definition
  const waiting = draft.header.waiting.manual
  const open = Math.max(0, concurrency - draft.held().length)
  if (waiting < queue + open) return null
  return refused(
    'QUEUE_FULL',
    `${waiting} manual runs of ${draft.header.job} wait already (queue: ${queue}): try again later or raise queue`,
  )
}

function refuseRetired(draft: Draft): Refusal {
  return refused('STATE_CONFLICT', `${draft.header.job} is retired: define it again before you start it`)
}

function refuseData(job: Aggregate, data: string): Refusal {
  const most = TEXT_LIMITS.data
  return refused(
    'OPTION_INVALID',
    `the data for ${job.header.job} has ${data.length} characters as JSON, more than ${most}: hand over a reference, such as an id`,
  )
}

function refused(code: Refusal['code'], message: string): Refusal {
  return { outcome: 'refused', code, message }
}

function isoLabel(instant: number): string {
  return new Date(instant).toISOString().slice(0, 16)
}
