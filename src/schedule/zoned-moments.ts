import { DAY_MS } from './calendar.js'
import type { Moments } from './moments.js'
import { MAX_OFFSET_MS, type Timeline } from './timeline.js'

/**
 * How far a search goes that finds matching wall times, but only ones that the zone's clock never shows (quarter past two
 * on the Sunday on which two o'clock is always left out).
 */
export const HORIZON_MS = 50 * 366 * DAY_MS

/**
 * The instants at which a zone's clock shows one of a set of wall times: in both passes of an overlap, and none in a
 * gap. This is what an interval-like expression means.
 */
export class ZonedMoments implements Moments {
  constructor(
    private readonly walls: Moments,
    private readonly timeline: Timeline,
  ) {}

  next(after: number): number | null {
    let from = after
    while (from < after + HORIZON_MS) {
      const { end, offset } = this.timeline.segmentAt(from + 1)
      const wall = this.walls.next(from + offset)
      if (wall !== null && wall - offset < end) return wall - offset
      // The next match of any later segment, whatever its offset, is at least here: whole years are jumped over.
      const bound = this.walls.next(end - MAX_OFFSET_MS - 1)
      if (bound === null) return null
      from = Math.max(end - 1, bound - MAX_OFFSET_MS - 1)
    }
    return null
  }

  last(until: number): number | null {
    let to = until
    while (to > until - HORIZON_MS) {
      const { start, offset } = this.timeline.segmentAt(to)
      const wall = this.walls.last(to + offset)
      if (wall !== null && wall - offset >= start) return wall - offset
      const bound = this.walls.last(start - 1 + MAX_OFFSET_MS)
      if (bound === null) return null
      to = Math.min(start - 1, bound + MAX_OFFSET_MS)
    }
    return null
  }

  count(after: number, until: number): number {
    let count = 0
    let from = after
    while (from < until) {
      const { end, offset } = this.timeline.segmentAt(from + 1)
      const to = Math.min(until, end - 1)
      count += this.walls.count(from + offset, to + offset)
      from = to
    }
    return count
  }

  has(moment: number): boolean {
    return this.walls.has(this.timeline.wallAt(moment))
  }
}
