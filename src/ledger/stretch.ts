import type { Cursor, Occurrence, Schedule } from '../schedule/types.js'
import type { Draft } from './draft.js'

/** A stretch of occurrences after the cursor: its first and last, and how many. */
export interface Stretch {
  readonly from: Occurrence
  readonly to: Occurrence
  readonly count: number
}

/**
 * The occurrences after `cursor` up to `until`, without leading ones whose key a clash has shown to be taken: those
 * were decided by somebody this ledger does not remember (a wiped or restored store).
 */
export function dueStretch(draft: Draft, schedule: Schedule, cursor: Cursor, until: number): Stretch | null {
  let start = cursor
  let from = schedule.between(start, until, 1)[0]
  while (from !== undefined && draft.isTaken(from.key)) {
    start = after(schedule, start, from)
    from = schedule.between(start, until, 1)[0]
  }
  const to = schedule.latest(start, until, 1)[0]
  if (from === undefined || to === undefined) return null
  return { from, to, count: schedule.count(start, until) }
}

/** The cursor behind an occurrence. */
export function after(schedule: Schedule, cursor: Cursor, occurrence: Occurrence): Cursor {
  return schedule.later(cursor, { instant: occurrence.instant, label: occurrence.through })
}
