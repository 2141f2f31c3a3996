import { clampInstant, laterCursor, placeOf } from './cursor.js'
import { instantToKey, keyToInstant, wallToLabel } from './labels.js'
import type { Moments } from './moments.js'
import type { Timeline } from './timeline.js'
import type { Cursor, Occurrence, Schedule, ScheduleSpec } from './types.js'

/**
 * A schedule whose occurrences are known by their instants: real time is their identity. Its labels are for people, and
 * its cursor still carries one, so that a job that becomes fixed-time goes on where it was.
 */
export class IntervalLikeSchedule implements Schedule {
  readonly kind = 'interval-like'

  constructor(
    readonly spec: ScheduleSpec,
    private readonly instants: Moments,
    private readonly timeline: Timeline,
  ) {}

  next(cursor: Cursor): Occurrence | null {
    const instant = this.instants.next(cursor.instant)
    return instant === null ? null : this.at(instant)
  }

  between(cursor: Cursor, until: number, limit: number): Occurrence[] {
    const found: Occurrence[] = []
    let after = cursor.instant
    while (found.length < limit) {
      const instant = this.instants.next(after)
      if (instant === null || instant > until) break
      found.push(this.at(instant))
      after = instant
    }
    return found
  }

  latest(cursor: Cursor, until: number, limit: number): Occurrence[] {
    const found: Occurrence[] = []
    let to = clampInstant(until)
    while (found.length < limit) {
      const instant = this.instants.last(to)
      if (instant === null || instant <= cursor.instant) break
      found.push(this.at(instant))
      to = instant - 1
    }
    return found.reverse()
  }

  count(cursor: Cursor, until: number): number {
    return this.instants.count(cursor.instant, clampInstant(until))
  }

  cursorAt(instant: number): Cursor {
    return placeOf(this.timeline, instant)
  }

  later(a: Cursor, b: Cursor): Cursor {
    return laterCursor(a, b)
  }

  occurrence(key: string): Occurrence | null {
    const instant = keyToInstant(key)
    return instant !== null && this.instants.has(instant) ? this.at(instant) : null
  }

  label(instant: number): string {
    return wallToLabel(this.timeline.wallAt(instant))
  }

  private at(instant: number): Occurrence {
    const label = this.label(instant)
    return { key: instantToKey(instant), label, through: label, instant }
  }
}
