import type { AttendContext } from './context.js'
import { Draft } from './draft.js'
import { decideDue } from './due.js'
import { grant } from './grant.js'
import { recover } from './recover.js'
import type { Aggregate, Change } from './types.js'

/**
 * Looks after one job: takes up what ended sessions left, decides what is due, grants what may start on this node.
 * Null: there is nothing to write.
 */
export function attend(job: Aggregate, ctx: AttendContext): Change | null {
  const draft = new Draft(job, ctx)
  recover(draft, ctx)
  decideDue(draft)
  cancelStopped(draft)
  if (draft.header.retired) cancelWaiting(draft)
  else grant(draft, ctx)
  return draft.close()
}

/** A run that was asked to stop and came back to the queue (its holder settled first) is not started again. */
export function cancelStopped(draft: Draft): void {
  for (const run of draft.runs()) {
    if (run.state !== 'queued' || run.stop === null) continue
    const reason = run.stop.kind === 'replace' ? 'replaced' : 'cancelled'
    draft.step(run, 'cancel', { ...run, state: 'cancelled', reason, place: false, endedAt: draft.now })
  }
}

/** What a retired job still had waiting, as much of it as was loaded; the rest follows at the next attendance. */
export function cancelWaiting(draft: Draft): void {
  for (const run of draft.runs()) {
    if (run.state !== 'queued') continue
    draft.step(run, 'cancel', { ...run, state: 'cancelled', reason: 'retired', place: false, endedAt: draft.now })
  }
}
