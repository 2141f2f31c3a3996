import type { Schedule } from '../schedule/types.js'
import { catchUp } from './catch-up.js'
import type { Draft } from './draft.js'
import { placeFresh } from './overlap.js'
import { recordFate } from './rows.js'
import { behind, dueStretch } from './stretch.js'
import { decideUpToTaken } from './taken.js'

/**
 * Decides every occurrence that is due, under the terms in force. Every command begins with this, so that none swallows
 * what was due before it. The work is bounded: stretches that are not worked on are counted, not walked.
 */
export function decideDue(draft: Draft): void {
  const { schedule } = draft
  pauseAfterFailures(draft)
  if (schedule === null || draft.header.retired) {
    endPause(draft)
    return
  }
  if (decideUpToTaken(draft, schedule)) return
  const { pause } = draft.header
  if (pause !== null) {
    missPaused(draft, schedule, Math.min(draft.now, pause.until ?? draft.now))
    if (!endPause(draft)) return
  }
  decideFreshAndCatchUp(draft, schedule)
  advanceTo(draft, schedule, draft.now)
}

/**
 * What is fresh and what is catch-up: the latest due, attended within `grace` of its instant, is fresh; all others are
 * catch-up. `merge` joins the fresh one with the catch-up that is found with it.
 */
function decideFreshAndCatchUp(draft: Draft, schedule: Schedule): void {
  const found = dueStretch(draft, schedule, draft.now)
  if (found === null) return
  const fresh = draft.now - found.to.instant <= draft.definition.graceMs ? found.to : null
  if (found.count === 1 && fresh !== null) {
    placeFresh(draft, schedule, fresh)
    return
  }
  const joined = catchUp(draft, schedule, { until: draft.now, newest: found.to, fresh })
  if (fresh !== null && !joined) placeFresh(draft, schedule, fresh)
}

function missPaused(draft: Draft, schedule: Schedule, until: number): void {
  const stretch = dueStretch(draft, schedule, until)
  if (stretch !== null) recordFate(draft, 'missed', 'paused', stretch)
  advanceTo(draft, schedule, until)
}

/** Ends a pause whose time has come, as `resume` would: failures are forgotten, else they would pause the job again. */
function endPause(draft: Draft): boolean {
  const { pause } = draft.header
  if (pause === null || pause.until === null || pause.until > draft.now) return false
  draft.header.pause = null
  draft.failures = 'reset'
  draft.event('resumed', `${draft.ctx.changeId}.resumed`, 'fleetcron', 'the pause ended')
  return true
}

/** Counts the runs that were failed so far, one that was given up in this very change included. */
function pauseAfterFailures(draft: Draft): void {
  const { pauseAfter } = draft.definition
  const failures = draft.job.tally.failures + (draft.failures === 'count' ? 1 : 0)
  if (pauseAfter === null || failures < pauseAfter || draft.header.pause !== null) return
  const why = `${failures} failures in a row (pauseAfter: ${pauseAfter}); resume the job when its cause is mended`
  draft.header.pause = { since: draft.now, until: null, by: 'fleetcron', why }
  draft.event('paused', `${draft.ctx.changeId}.paused`, 'fleetcron', why)
}

/**
 * Moves the cursor to an instant and past everything decided up to it. The label is the greatest of the old one, the
 * zone's wall clock, and the labels decided, so that a node with other zone data neither repeats nor loses one.
 */
function advanceTo(draft: Draft, schedule: Schedule, instant: number): void {
  const newest = schedule.latest(draft.header.cursor, instant, 1)[0]
  if (newest !== undefined) draft.advance(schedule, behind(newest))
  draft.advance(schedule, schedule.cursorAt(instant))
}
