import type { Draft } from './draft.js'
import type { Run } from './types.js'

/**
 * When the job needs attention next: the earliest of the next occurrence (also while every place is taken), a run that
 * could start now, a retry, and the end of a pause. Ends of sessions are not in it: `Attendance.nextEndAt` tells those.
 */
export function wakeAt(draft: Draft): number | null {
  const { header } = draft
  if (header.retired) return draft.waitingTotal() > 0 ? dueNow(draft) : null
  const candidates: number[] = []
  if (header.pause === null) {
    const next = draft.scheduleInForce()?.next(header.cursor)
    if (next) candidates.push(next.instant)
  } else if (header.pause.until !== null) {
    candidates.push(header.pause.until)
  }
  for (const run of draft.held()) {
    if (run.state === 'queued') candidates.push(run.readyAt <= draft.now ? dueNow(draft) : run.readyAt)
  }
  if (draft.held().length < draft.definition.concurrency && mayStart(draft)) candidates.push(dueNow(draft))
  return candidates.length === 0 ? null : Math.min(...candidates)
}

/** A paused job starts what people ask for and goes on with what it began; everything else waits. */
export function startsWhilePaused(run: Run): boolean {
  return run.lane === 'manual' || run.place
}

function mayStart(draft: Draft): boolean {
  const { waiting } = draft.header
  if (waiting.manual > 0) return true
  return draft.header.pause === null && waiting.schedule + waiting.backlog > 0
}

/** Due at once; an instant already due stays as it is, so that looking in vain writes nothing. */
function dueNow(draft: Draft): number {
  const old = draft.job.header.wakeAt
  return old !== null && old <= draft.now ? old : draft.now
}
