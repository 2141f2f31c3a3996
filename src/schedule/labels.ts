import { FleetcronError } from '../errors.js'
import { DAY_MS, dayNumber, daysInMonth, FIRST_YEAR, isLeapYear, SECOND_MS } from './calendar.js'
import { quote } from './quote.js'
import type { Occurrence } from './types.js'

/**
 * Labels are wall time as text, instants' keys the same text with a `Z`: `YYYY-MM-DDTHH:MM[:SS[.mmm]]`. Seconds are
 * written only where they (or the milliseconds) are not zero, milliseconds only where they are not zero. So every moment
 * has exactly one text, and labels compare as text in the order of time. Keys of instants do not, once there are seconds:
 * `T00:00:01Z` is less than `T00:00Z` as text.
 *
 * In this folder "wall" is wall time as a number: the epoch milliseconds at which UTC shows the same time.
 */
const LABEL = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{3}))?)?$/

/** The last labels by their seconds: a page of jobs asks for the same few moments again and again. */
const recent: { readonly wall: number; readonly label: string }[] = []
const RECENT = 64

/** The label of a wall time. */
export function wallToLabel(wall: number): string {
  const place = Math.floor(wall / SECOND_MS) % RECENT
  const known = recent[place]
  if (known?.wall === wall) return known.label
  const label = labelOf(wall)
  recent[place] = { wall, label }
  return label
}

function labelOf(wall: number): string {
  const text = new Date(wall).toISOString()
  if (wall % 60_000 === 0) return text.slice(0, 16)
  return wall % SECOND_MS === 0 ? text.slice(0, 19) : text.slice(0, 23)
}

/** The wall time of a label, or null where the text is not the one label of a moment (`T10:00:00`, 30 February). */
export function labelToWall(label: string): number | null {
  const wall = parseWall(label)
  return wall !== null && wallToLabel(wall) === label ? wall : null
}

/** The wall time of a text in the grammar of labels, also with zeros that a label leaves out; null for no real moment. */
export function parseWall(text: string): number | null {
  const match = LABEL.exec(text)
  if (match === null) return null
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, ms = 0] = match
    .slice(1)
    .map((part) => (part === undefined ? 0 : Number(part)))
  if (year < FIRST_YEAR || month < 1 || month > 12 || day < 1 || day > daysInMonth(month - 1, isLeapYear(year)))
    return null
  if (hour > 23 || minute > 59 || second > 59) return null
  return dayNumber(year, month - 1, day) * DAY_MS + ((hour * 60 + minute) * 60 + second) * SECOND_MS + ms
}

/** The key of an occurrence that is known by its instant: the UTC label with a `Z`. */
export function instantToKey(instant: number): string {
  return `${wallToLabel(instant)}Z`
}

/** The instant of such a key, or null where it is none. */
export function keyToInstant(key: string): number | null {
  return key.endsWith('Z') ? labelToWall(key.slice(0, -1)) : null
}

/** The calendar date an occurrence is for, in its schedule's zone: the date part of its label. */
export function dateOf(occurrence: Pick<Occurrence, 'label'>): string {
  return occurrence.label.slice(0, 10)
}

/** The wall time of a cursor's label. A malformed one means that the stored cursor is damaged. */
export function cursorWall(label: string): number {
  const wall = labelToWall(label)
  if (wall !== null) return wall
  throw new FleetcronError(
    'SCHEDULE_INVALID',
    `The cursor's label ${quote(label)} is not a label: expected YYYY-MM-DDTHH:MM[:SS[.mmm]], see docs/labels.md.`,
  )
}
