import { dateOf } from '../schedule/index.js'
import type { Occurrence, Schedule } from '../schedule/types.js'
import type { Draft } from './draft.js'
import { queueOccurrences, recordFate } from './rows.js'
import { after, dueStretch, type Stretch } from './stretch.js'
import type { Run } from './types.js'

const HOUR_MS = 3_600_000
const WEEK_MS = 7 * 24 * HOUR_MS

/**
 * Catch-up: what passed while nobody attended. Too old is missed; the rest is joined (`merge`), queued one by one
 * (`each`) or missed (`skip`), by the job's policy. Catch-up runs wait for their turn: overlap never skips them, and at
 * most `catchUp.most` of them wait. Returns whether the fresh occurrence was joined with them.
 */
export function catchUp(draft: Draft, schedule: Schedule, fresh: Occurrence | null): boolean {
  const { policy, most } = draft.definition.catchUp
  const horizon = draft.now - withinMs(draft, schedule)
  const until = fresh === null ? draft.now : fresh.instant - 1
  miss(draft, schedule, Math.min(horizon, until), 'too-old')
  if (policy === 'skip') {
    miss(draft, schedule, until, 'policy')
    return false
  }
  const room = most - draft.header.waiting.backlog
  if (policy === 'each') {
    catchUpEach(draft, schedule, until, room)
    return false
  }
  return catchUpMerged(draft, schedule, until, fresh, room)
}

/**
 * The policy's age limit: younger than one period of the schedule, at least an hour, at most a week, unless it says. The
 * period is the shorter of the gaps on both sides of the newest due: a daily job has one of 23 hours twice in its year.
 */
export function withinMs(draft: Draft, schedule: Schedule): number {
  const said = draft.definition.catchUp.withinMs
  if (said !== null) return said
  const due = schedule.latest(draft.header.cursor, draft.now, 2)
  const newest = due.at(-1)
  if (newest === undefined) return WEEK_MS
  const next = schedule.next(after(schedule, schedule.cursorAt(newest.instant), newest))
  const gapAfter = next === null ? WEEK_MS : next.instant - newest.instant
  const gapBefore = due[1] === undefined || due[0] === undefined ? WEEK_MS : due[1].instant - due[0].instant
  return Math.min(Math.max(Math.min(gapBefore, gapAfter), HOUR_MS), WEEK_MS)
}

function catchUpEach(draft: Draft, schedule: Schedule, until: number, room: number): void {
  const wanted = room > 0 ? schedule.latest(draft.header.cursor, until, room) : []
  const first = wanted[0]
  if (first === undefined) {
    miss(draft, schedule, until, 'too-many')
    return
  }
  missBefore(draft, schedule, first)
  for (const occurrence of wanted) {
    if (!draft.isTaken(occurrence.key)) queueOccurrences(draft, 'catch-up', occurrence, occurrence, 1)
    draft.advance({ instant: occurrence.instant, label: occurrence.through })
  }
}

/**
 * One run for all that was found. The fresh occurrence joins only where there is catch-up to join: alone it is an
 * ordinary occurrence, to which overlap applies.
 */
function catchUpMerged(
  draft: Draft,
  schedule: Schedule,
  until: number,
  fresh: Occurrence | null,
  room: number,
): boolean {
  if (dueStretch(draft, schedule, draft.header.cursor, until) === null) return false
  const end = fresh === null ? until : fresh.instant
  const stretch = dueStretch(draft, schedule, draft.header.cursor, end)
  if (stretch === null) return false
  if (widenWaiting(draft, schedule, stretch)) return fresh !== null
  if (room <= 0) {
    miss(draft, schedule, until, 'too-many')
    return false
  }
  queueOccurrences(draft, 'catch-up', stretch.from, stretch.to, stretch.count)
  return fresh !== null
}

/**
 * A catch-up run that still waits absorbs what follows its last label directly, as long as the whole stays younger than
 * `within`: so a merge never joins two dates of a daily job, and a busy job does not pile up runs.
 */
function widenWaiting(draft: Draft, schedule: Schedule, stretch: Stretch): boolean {
  const last = draft.waiting('backlog').at(-1)
  if (last === undefined || last.cause !== 'catch-up' || last.covers === null) return false
  const begin = schedule.occurrence(last.covers.from)
  if (begin === null || stretch.to.instant - begin.instant >= withinMs(draft, schedule)) return false
  if (!follows(schedule, last, stretch.from)) return false
  widen(draft, last, stretch)
  return true
}

/** Whether the occurrence is the one right after the last that the run covers. */
export function follows(schedule: Schedule, run: Run, occurrence: Occurrence): boolean {
  const last = run.covers === null ? null : schedule.occurrence(run.covers.to)
  if (last === null) return false
  const next = schedule.next({ instant: last.instant, label: last.through })
  return next !== null && next.key === occurrence.key
}

/** Adds a stretch to a run that has never been granted. Its key stays the first label, for ever. */
export function widen(draft: Draft, run: Run, stretch: Stretch): void {
  const covers = run.covers ?? { from: run.key, to: run.key, count: 0 }
  draft.step(run, 'absorb', {
    ...run,
    covers: { from: covers.from, to: stretch.to.key, count: covers.count + stretch.count },
    scheduledAt: stretch.to.instant,
    date: dateOf(stretch.to),
  })
  draft.header.lastFate = null
}

/** Records what is due up to an instant as missed and moves on. */
function miss(draft: Draft, schedule: Schedule, until: number, reason: string): void {
  const stretch = dueStretch(draft, schedule, draft.header.cursor, until)
  if (stretch === null) return
  recordFate(draft, 'missed', reason, stretch.from, stretch.to, stretch.count)
  draft.advance({ instant: stretch.to.instant, label: stretch.to.through })
}

/** The older ones that do not fit: everything before the first that does. */
function missBefore(draft: Draft, schedule: Schedule, first: Occurrence): void {
  const total = schedule.count(draft.header.cursor, first.instant)
  if (total <= 1) return
  miss(draft, schedule, first.instant - 1, 'too-many')
}
