import type { AttendContext } from './context.js'
import { Draft } from './draft.js'
import { decideDue } from './due.js'
import { grant } from './grant.js'
import { recordLosses, recover } from './recover.js'
import { cancelRetired, cancelStopped } from './stop.js'
import type { Aggregate, Change } from './types.js'

/**
 * Looks after one job: takes up what ended sessions left, decides what is due, grants what may start on this node.
 * Null: there is nothing to write.
 */
export function attend(job: Aggregate, ctx: AttendContext): Change | null {
  const draft = new Draft(job, ctx)
  const lost = recover(draft, ctx)
  cancelStopped(draft)
  decideDue(draft)
  // What has just been replaced may be a run that was left to another node: it is not started again, so it ends here.
  recordLosses(draft, ctx, [...lost, ...recover(draft, ctx)])
  if (draft.header.retired) cancelRetired(draft)
  else grant(draft, ctx)
  return draft.close()
}
