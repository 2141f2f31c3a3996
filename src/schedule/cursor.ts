import { DAY_MS, FIRST_WALL, LAST_WALL } from './calendar.js'
import { wallToLabel } from './labels.js'
import type { Timeline } from './timeline.js'
import type { Cursor } from './types.js'

/** An instant inside the years that have labels in every zone. */
export function clampInstant(instant: number): number {
  return Math.min(Math.max(Math.floor(instant), FIRST_WALL + DAY_MS), LAST_WALL - DAY_MS)
}

/**
 * The cursor at an instant: its label is the latest wall time that the zone's clock has shown, so that inside a second
 * pass the labels of the first pass are behind it.
 */
export function placeOf(timeline: Timeline, instant: number): Cursor {
  const at = clampInstant(instant)
  return { instant: at, label: wallToLabel(timeline.reachedAt(at)) }
}

/** The greater of two cursors, field by field; labels compare as text. */
export function laterCursor(a: Cursor, b: Cursor): Cursor {
  const label = [a.label, b.label].sort()[1] ?? a.label
  return { instant: Math.max(a.instant, b.instant), label }
}
