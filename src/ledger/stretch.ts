import type { Cursor, Occurrence, Schedule } from '../schedule/types.js'
import type { Draft } from './draft.js'

/** A stretch of occurrences after the cursor: its first and last, and how many. */
export interface Stretch {
  readonly from: Occurrence
  readonly to: Occurrence
  readonly count: number
}

/**
 * The occurrences after the draft's cursor up to `until`, without leading ones whose key a clash has shown to be taken:
 * those were decided by somebody this ledger does not remember (a wiped or restored store).
 */
export function dueStretch(draft: Draft, schedule: Schedule, until: number): Stretch | null {
  let { cursor } = draft.header
  let from = schedule.between(cursor, until, 1)[0]
  while (from !== undefined && draft.passTaken(from.key)) {
    cursor = behind(from)
    from = schedule.between(cursor, until, 1)[0]
  }
  const to = schedule.latest(cursor, until, 1)[0]
  if (from === undefined || to === undefined) return null
  return { from, to, count: schedule.count(cursor, until) }
}

/** The cursor behind an occurrence: the next one is the first that it does not stand for. */
export function behind(occurrence: Occurrence): Cursor {
  return { instant: occurrence.instant, label: occurrence.through }
}
