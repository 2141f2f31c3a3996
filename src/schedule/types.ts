/**
 * A schedule as data: what a definition stores and every node evaluates alike.
 * `cron` and an `at` without offset are read as wall time of `timeZone`; `every` counts milliseconds from an anchor.
 */
export type ScheduleSpec =
  | { readonly cron: string; readonly timeZone: string; readonly dstGap: 'next' | 'skip' }
  | { readonly every: number }
  | { readonly at: string; readonly timeZone: string; readonly dstGap: 'next' | 'skip' }

/** Fixed-time occurrences are known by their wall-clock label, interval-like ones by their UTC instant. */
export type ScheduleKind = 'fixed-time' | 'interval-like'

/** One moment at which a schedule says a job is due. */
export interface Occurrence {
  /** Identity within the job: the label of a fixed-time job, the UTC instant of any other (`2026-11-29T16:45Z`). */
  readonly key: string
  /** Wall-clock label in the schedule's zone, e.g. `2026-11-29T00:00`. */
  readonly label: string
  /** The last label it stands for: greater than `label` only where several labels of a gap fall on one instant. */
  readonly through: string
  /** When it is due, epoch milliseconds. */
  readonly instant: number
}

/** A position in a schedule: everything at or before it is decided. Fixed-time compares labels, interval-like instants. */
export interface Cursor {
  readonly instant: number
  readonly label: string
}

/** What a zone's clock shows at an instant. A test hands in other data than the process has. */
export interface ZoneRules {
  /** Offset from UTC in milliseconds at the instant, east positive. */
  offsetAt(instant: number): number
  /** The first instant after `instant` and at most `limit` at which the offset changes, or null. */
  nextChange(instant: number, limit: number): number | null
}

/** Zone data: a function from a zone's name to its rules; throws `FleetcronError` for an unknown zone. */
export type ZoneData = (timeZone: string) => ZoneRules

/** An evaluated schedule. Pure: reads no clock; strictly increasing; every method does bounded work. */
export interface Schedule {
  readonly spec: ScheduleSpec
  readonly kind: ScheduleKind
  /** The first occurrence after the cursor, or null when there is none (an `at` that passed, a pattern that ended). */
  next(cursor: Cursor): Occurrence | null
  /** Up to `limit` occurrences after the cursor with `instant <= until`, the earliest ones, in order. */
  between(cursor: Cursor, until: number, limit: number): Occurrence[]
  /** The same, but the latest ones; still in increasing order. */
  latest(cursor: Cursor, until: number, limit: number): Occurrence[]
  /** How many occurrences `between` would give without a limit. Exact, and bounded: a year of seconds costs under 10 ms. */
  count(cursor: Cursor, until: number): number
  /** The cursor at an instant: `next(cursorAt(t))` is the first occurrence strictly after t. */
  cursorAt(instant: number): Cursor
  /** The greater of two cursors, field by field: neither the instant nor the label ever moves back. */
  later(a: Cursor, b: Cursor): Cursor
  /** The occurrence with this key, or null where the key is not one of this schedule's. */
  occurrence(key: string): Occurrence | null
  /** Wall-clock label of an instant in the schedule's zone (`every`: UTC), seconds only where they are not zero. */
  label(instant: number): string
}
