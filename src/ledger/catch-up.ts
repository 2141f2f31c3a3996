import type { Occurrence, Schedule } from '../schedule/types.js'
import type { Draft } from './draft.js'
import { follows, queueOccurrences, recordFate, widen } from './rows.js'
import type { Reason } from './states.js'
import { behind, dueStretch, type Stretch } from './stretch.js'

const HOUR_MS = 3_600_000
const WEEK_MS = 7 * 24 * HOUR_MS

/** What is found: up to when, the latest due in that time, and the same where it is fresh. */
interface Found {
  readonly until: number
  readonly newest: Occurrence
  readonly fresh: Occurrence | null
}

/**
 * Catch-up: what passed while nobody attended. Too old is missed; the rest is joined (`merge`), queued one by one
 * (`each`) or missed (`skip`), by the job's policy. Catch-up runs wait for their turn: overlap never skips them, and at
 * most `catchUp.most` of them wait. Returns whether the fresh occurrence was joined with the others.
 */
export function catchUp(draft: Draft, schedule: Schedule, found: Found): boolean {
  const { newest, fresh } = found
  const { policy } = draft.definition.catchUp
  const within = draft.definition.catchUp.withinMs ?? defaultWithinMs(schedule, newest)
  const until = fresh === null ? found.until : fresh.instant - 1
  miss(draft, schedule, Math.min(draft.now - within, until), 'too-old')
  if (policy === 'merge') return catchUpMerged(draft, schedule, until, fresh, within)
  if (policy === 'each') catchUpEach(draft, schedule, until)
  else miss(draft, schedule, until, 'policy')
  return false
}

/**
 * The age limit of a job that names none: one period of its schedule, at least an hour, at most a week. The period is
 * the shorter of the gaps on both sides of the newest due: a daily job has one of 23 hours in its year, and a merge must
 * not join two dates on that day either.
 */
function defaultWithinMs(schedule: Schedule, newest: Occurrence): number {
  const [before] = schedule.latest(schedule.cursorAt(newest.instant - WEEK_MS), newest.instant - 1, 1)
  const after = schedule.next(behind(newest))
  const gapBefore = before === undefined ? WEEK_MS : newest.instant - before.instant
  const gapAfter = after === null ? WEEK_MS : after.instant - newest.instant
  return Math.min(Math.max(Math.min(gapBefore, gapAfter), HOUR_MS), WEEK_MS)
}

/** The latest ones that fit are queued one by one; the older ones are missed. */
function catchUpEach(draft: Draft, schedule: Schedule, until: number): void {
  const room = roomForCatchUp(draft)
  const wanted = room > 0 ? schedule.latest(draft.header.cursor, until, room) : []
  const [first] = wanted
  miss(draft, schedule, first === undefined ? until : first.instant - 1, 'too-many')
  for (const occurrence of wanted) {
    queueOccurrences(draft, 'catch-up', { from: occurrence, to: occurrence, count: 1 })
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
  within: number,
): boolean {
  const old = dueStretch(draft, schedule, until)
  if (old === null) return false
  const all = fresh === null ? old : { from: old.from, to: fresh, count: old.count + 1 }
  if (widenWaiting(draft, schedule, all, within)) return fresh !== null
  if (roomForCatchUp(draft) <= 0) {
    miss(draft, schedule, until, 'too-many')
    return false
  }
  queueOccurrences(draft, 'catch-up', all)
  return fresh !== null
}

/**
 * A catch-up run that still waits absorbs what follows its last label directly, as long as the whole stays younger than
 * `within`: so a merge never joins two dates of a daily job, and a busy job does not pile up runs.
 */
function widenWaiting(draft: Draft, schedule: Schedule, stretch: Stretch, within: number): boolean {
  const run = draft.waiting('backlog').findLast(isCatchUp)
  if (run === undefined || !follows(draft, schedule, run, stretch.from)) return false
  const first = schedule.occurrence(run.key)
  if (first === null || stretch.to.instant - first.instant >= within) return false
  widen(draft, run, stretch)
  return true
}

/**
 * How many more catch-up runs may wait. Backfills stand in the same lane behind them: where one was loaded, every
 * waiting catch-up run was; where none was, all that wait are taken for catch-up.
 */
function roomForCatchUp(draft: Draft): number {
  const loaded = draft.waiting('backlog')
  const catchUps = loaded.filter(isCatchUp).length
  return draft.definition.catchUp.most - (catchUps < loaded.length ? catchUps : draft.header.waiting.backlog)
}

function isCatchUp(run: { readonly cause: string }): boolean {
  return run.cause === 'catch-up'
}

/** Records what is due up to an instant as missed and moves on. */
function miss(draft: Draft, schedule: Schedule, until: number, reason: Reason<'missed'>): void {
  const stretch = dueStretch(draft, schedule, until)
  if (stretch === null) return
  recordFate(draft, 'missed', reason, stretch)
  draft.advance(schedule, behind(stretch.to))
}
