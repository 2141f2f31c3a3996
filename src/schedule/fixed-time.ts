import { DAY_MS } from './calendar.js'
import { clampInstant, laterCursor, placeOf } from './cursor.js'
import { cursorWall, labelToWall, wallToLabel } from './labels.js'
import type { Moments } from './moments.js'
import type { Gap, Timeline } from './timeline.js'
import type { Cursor, Occurrence, Schedule, ScheduleSpec } from './types.js'
import { HORIZON_MS } from './zoned-moments.js'

/**
 * A schedule whose occurrences are known by their wall-clock labels. Each label of a date that exists has one instant:
 * the first pass of an overlap, or the end of a gap; labels that meet at the end of a gap are one occurrence, named by the
 * first. Positions are labels too, so that nodes whose zone data differ neither repeat nor lose one.
 */
export class FixedTimeSchedule implements Schedule {
  readonly kind = 'fixed-time'

  constructor(
    readonly spec: ScheduleSpec,
    private readonly walls: Moments,
    private readonly timeline: Timeline,
    private readonly dstGap: 'next' | 'skip',
  ) {}

  next(cursor: Cursor): Occurrence | null {
    return this.first(cursorWall(cursor.label))
  }

  between(cursor: Cursor, until: number, limit: number): Occurrence[] {
    const found: Occurrence[] = []
    let after = cursorWall(cursor.label)
    while (found.length < limit) {
      const occurrence = this.first(after)
      if (occurrence === null || occurrence.instant > until) break
      found.push(occurrence)
      after = cursorWall(occurrence.through)
    }
    return found
  }

  latest(cursor: Cursor, until: number, limit: number): Occurrence[] {
    const found: Occurrence[] = []
    const after = cursorWall(cursor.label)
    let to = this.timeline.reachedAt(clampInstant(until))
    while (found.length < limit) {
      const occurrence = this.last(after, to)
      if (occurrence === null) break
      found.push(occurrence)
      to = cursorWall(occurrence.key) - 1
    }
    return found.reverse()
  }

  count(cursor: Cursor, until: number): number {
    const after = cursorWall(cursor.label)
    const to = this.timeline.reachedAt(clampInstant(until))
    let count = this.walls.count(after, to)
    for (const gap of this.timeline.gaps(after, to)) {
      const hidden = this.walls.count(Math.max(after, gap.from - 1), gap.to - 1)
      if (hidden === 0) continue
      count -= hidden
      if (this.dstGap === 'skip') continue
      // The labels of existing dates are one occurrence; the label of the gap's end, if there is one, is that same one.
      const kept = this.firstIn(gap, after) !== null
      if (kept && !this.walls.has(gap.to)) count += 1
    }
    return count
  }

  cursorAt(instant: number): Cursor {
    return placeOf(this.timeline, instant)
  }

  later(a: Cursor, b: Cursor): Cursor {
    return laterCursor(a, b)
  }

  occurrence(key: string): Occurrence | null {
    const wall = labelToWall(key)
    if (wall === null || !this.walls.has(wall)) return null
    const occurrence = this.first(wall - 1)
    return occurrence?.key === key ? occurrence : null
  }

  label(instant: number): string {
    return wallToLabel(this.timeline.wallAt(instant))
  }

  /** The first occurrence with a label above `after`. */
  private first(after: number): Occurrence | null {
    let from = after
    while (from < after + HORIZON_MS) {
      const wall = this.walls.next(from)
      if (wall === null) return null
      const { instant, gap } = this.timeline.place(wall)
      if (gap === null) return occurrenceOf(wall, wall, instant)
      if (this.dstGap === 'next') {
        const first = this.firstIn(gap, from)
        if (first !== null) return occurrenceOf(first, this.lastIn(gap), instant)
      }
      from = gap.to - 1
    }
    return null
  }

  /** The last occurrence of the labels above `after` and not above `until`. */
  private last(after: number, until: number): Occurrence | null {
    let to = until
    while (to > until - HORIZON_MS) {
      const wall = this.walls.last(to)
      if (wall === null || wall <= after) return null
      const { instant, gap: around } = this.timeline.place(wall)
      const gap = around ?? this.timeline.gapBefore(wall)
      if (gap === null) return occurrenceOf(wall, wall, instant)
      const first = this.dstGap === 'next' ? this.firstIn(gap, after) : null
      // Beyond `to` it is the one that was given already, and what is left of the gap are dates that do not exist.
      if (first !== null && first <= to) return occurrenceOf(first, this.lastIn(gap), instant)
      if (around === null) return occurrenceOf(wall, wall, instant)
      to = gap.from - 1
    }
    return null
  }

  /** The first label above `after` that the gap hides and whose date exists, or null. */
  private firstIn(gap: Gap, after: number): number | null {
    const missing = missingDates(gap)
    const wall = this.walls.next(Math.max(after, gap.from - 1))
    if (wall === null || wall >= gap.to) return null
    if (wall < missing.from || wall >= missing.to) return wall
    const later = this.walls.next(Math.max(after, missing.to - 1))
    return later !== null && later < gap.to ? later : null
  }

  /** The last label that falls on the gap's end; there is one. */
  private lastIn(gap: Gap): number {
    const missing = missingDates(gap)
    const wall = this.walls.last(gap.to) ?? gap.to
    return wall >= missing.from && wall < missing.to ? (this.walls.last(missing.from - 1) ?? wall) : wall
  }
}

/** The whole dates inside a gap, `from <= wall < to`: they have no instant at all, so nothing is owed for them. */
function missingDates(gap: Gap): { readonly from: number; readonly to: number } {
  const from = Math.ceil(gap.from / DAY_MS) * DAY_MS
  const to = Math.floor(gap.to / DAY_MS) * DAY_MS
  return { from, to: Math.max(from, to) }
}

function occurrenceOf(first: number, through: number, instant: number): Occurrence {
  const label = wallToLabel(first)
  return { key: label, label, through: first === through ? label : wallToLabel(through), instant }
}
