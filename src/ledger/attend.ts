import type { AttendContext } from './context.js'
import { Draft } from './draft.js'
import { decideDue } from './due.js'
import { grant } from './grant.js'
import { recover } from './recover.js'
import { cancelRetired, cancelStopped } from './stop.js'
import type { Aggregate, Change } from './types.js'

/**
 * Looks after one job: takes up what ended sessions left, decides what is due, grants what may start on this node.
 * Null: there is nothing to write.
 */
export function attend(job: Aggregate, ctx: AttendContext): Change | null {
  const draft = new Draft(job, ctx)
  recover(draft, ctx)
  cancelStopped(draft)
  decideDue(draft)
  if (draft.header.retired) cancelRetired(draft)
  else grant(draft, ctx)
  return draft.close()
}
