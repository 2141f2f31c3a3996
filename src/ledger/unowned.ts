import type { Context, Decision } from './context.js'
import { Draft } from './draft.js'
import { decideDue } from './due.js'
import { TEXT_LIMITS } from './limits.js'
import { recordRun } from './rows.js'
import { cleanError } from './settle.js'
import type { Reason } from './states.js'
import { cancelStopped } from './stop.js'
import { keptJson } from './text.js'
import type { Aggregate, RunError } from './types.js'

/** What a node did by itself while it could not reach the store (`onOutage: 'run'`). */
export interface UnownedRun {
  /** Random: the row is its own, and a resend is recognised by it. */
  readonly id: string
  /** The occurrence, which it neither consumes nor is: its key, instant, and date in the job's zone. */
  readonly key: string
  readonly instant: number
  readonly date: string
  /** Hash of the definition it was run under. */
  readonly definition: string
  /** The node's label. */
  readonly node: string
  /** By the node's idea of the store's clock. */
  readonly startedAt: number
  readonly endedAt: number
  readonly result: string | null
  /** Null: it succeeded. */
  readonly error: RunError | null
  readonly isTimeout: boolean
}

/**
 * Records an unowned run afterwards, as a row of its own: the occurrence is decided as if nothing had been done, since only the
 * keys of its effects say what was.
 */
export function recordUnowned(job: Aggregate, unowned: UnownedRun, ctx: Context): Decision {
  const { id, node, startedAt, endedAt } = unowned
  const key = `outage:${unowned.key}:${id}`
  if (ctx.taken?.has(key)) return { outcome: 'unchanged' }
  const draft = new Draft(job, ctx)
  cancelStopped(draft)
  decideDue(draft)
  const error = unowned.error === null ? null : cleanError(unowned.error)
  const reason: Reason<'failed'> | null = error === null ? null : unowned.isTimeout ? 'timeout' : 'error'
  const outcome = error === null ? 'succeeded' : unowned.isTimeout ? 'timed-out' : 'failed'
  const note = 'unowned: the store could not be reached'
  const attempt = { id, session: '', node, token: 0, startedAt, endedAt, outcome, note } as const
  const covers = { from: unowned.key, to: unowned.key, count: 1 }
  const { date, instant: scheduledAt } = unowned
  recordRun(
    draft,
    { key, cause: 'manual', covers, scheduledAt, date },
    {
      state: error === null ? 'succeeded' : 'failed',
      reason,
      definition: unowned.definition,
      attempt: 1,
      attemptId: id,
      attempts: [attempt],
      startedAt,
      endedAt: Math.min(endedAt, draft.now),
      result: keptJson(unowned.result, TEXT_LIMITS.result),
      error,
    },
  )
  const change = draft.close()
  return change === null ? { outcome: 'unchanged' } : { outcome: 'change', change }
}
