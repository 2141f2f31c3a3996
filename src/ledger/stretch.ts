import type { Cursor, Occurrence, Schedule } from '../schedule/types.js'
import type { Draft } from './draft.js'

/** A stretch of occurrences after the cursor: its first and last, and how many. */
export interface Stretch {
  readonly from: Occurrence
  readonly to: Occurrence
  readonly count: number
}

/** The occurrences after the draft's cursor up to an instant; null: there are none. */
export function dueStretch(draft: Draft, schedule: Schedule, until: number): Stretch | null {
  const { cursor } = draft.header
  const [from] = schedule.between(cursor, until, 1)
  const [to] = schedule.latest(cursor, until, 1)
  if (from === undefined || to === undefined) return null
  return { from, to, count: schedule.count(cursor, until) }
}

/** The cursor behind an occurrence: the next one is the first that it does not stand for. */
export function behind(occurrence: Occurrence): Cursor {
  return { instant: occurrence.instant, label: occurrence.through }
}
