import { BoundedMap } from './bounded-map.js'
import { DAY_MS } from './calendar.js'
import type { ZoneRules } from './types.js'

/** A stretch of instants in which a zone's offset does not change: `start <= instant < end`. */
export interface Segment {
  readonly start: number
  readonly end: number
  readonly offset: number
  /** The wall time up to which the clock had come before this stretch: everything below was shown already. */
  readonly reached: number
}

/** Wall times that no clock shows, `from <= wall < to`, because it jumps over them at `instant`. */
export interface Gap {
  readonly from: number
  readonly to: number
  readonly instant: number
}

/** Where a wall time lies: the instant at which the clock first shows it or a later one, and the gap that hides it. */
export interface Place {
  readonly instant: number
  readonly gap: Gap | null
}

/** Offsets are less than a day in either direction, so an instant and its wall time are less than a day apart. */
export const MAX_OFFSET_MS = DAY_MS

const CHUNK_MS = 400 * DAY_MS
const MARGIN_MS = 3 * DAY_MS

/**
 * A zone's clock as segments of constant offset, cached in chunks of 400 days (with a margin, so that the neighbourhood of
 * any moment is inside one chunk).
 *
 * Wall time is mapped to instants by one rule: a wall time's instant is the first at which the clock shows that time or
 * a later one. Outside changes that is the plain conversion; in an overlap it is the first pass; in a gap, its end. The
 * rule is monotonic, so increasing labels never have decreasing instants.
 */
export class Timeline {
  private readonly chunks = new BoundedMap<number, readonly Segment[]>(128)

  constructor(private readonly rules: ZoneRules) {}

  /** The segment that holds the instant. */
  segmentAt(instant: number): Segment {
    const chunk = this.chunk(Math.floor(instant / CHUNK_MS))
    for (const segment of chunk) if (instant < segment.end) return segment
    throw new RangeError(`No offset at ${instant}`)
  }

  wallAt(instant: number): number {
    return instant + this.segmentAt(instant).offset
  }

  /** The latest wall time that the clock has shown up to the instant, this included: in a second pass, the end of the first. */
  reachedAt(instant: number): number {
    const segment = this.segmentAt(instant)
    return Math.max(instant + segment.offset, segment.reached - 1)
  }

  place(wall: number): Place {
    const chunk = this.chunk(Math.floor(wall / CHUNK_MS))
    for (const segment of chunk) {
      if (wall >= segment.end + segment.offset) continue
      const start = segment.start + segment.offset
      if (wall >= start) return { instant: wall - segment.offset, gap: null }
      return { instant: segment.start, gap: { from: segment.reached, to: start, instant: segment.start } }
    }
    throw new RangeError(`No instant for ${wall}`)
  }

  /** The gap that ends just before a wall time that is shown, or null. */
  gapBefore(wall: number): Gap | null {
    return this.place(wall - 1).gap
  }

  /** The gaps that end after `after` and not after `until` (wall times), in order. */
  *gaps(after: number, until: number): Generator<Gap> {
    for (let index = Math.floor(after / CHUNK_MS); index <= Math.floor(until / CHUNK_MS); index++) {
      for (const { start, offset, reached } of this.chunk(index)) {
        const to = start + offset
        const belongsHere = Math.floor(to / CHUNK_MS) === index
        if (to > reached && belongsHere && to > after && to <= until) yield { from: reached, to, instant: start }
      }
    }
  }

  /** The instants at which the clock shows this wall time: none in a gap, two in an overlap. */
  instantsOf(wall: number): number[] {
    const instants: number[] = []
    for (const { start, end, offset } of this.chunk(Math.floor(wall / CHUNK_MS))) {
      const instant = wall - offset
      if (instant >= start && instant < end) instants.push(instant)
    }
    return instants
  }

  private chunk(index: number): readonly Segment[] {
    return this.chunks.getOrCompute(index, () => this.compute(index))
  }

  private compute(index: number): Segment[] {
    const limit = (index + 1) * CHUNK_MS + MARGIN_MS
    const segments: Segment[] = []
    let start = index * CHUNK_MS - MARGIN_MS
    // Nothing is known of the time before, and nothing in the chunk depends on it: the first segment hides no gap.
    let reached = start + this.rules.offsetAt(start)
    while (start < limit) {
      const offset = this.rules.offsetAt(start)
      const change = this.rules.nextChange(start, limit)
      if (change !== null && change <= start) throw new RangeError(`Zone data goes back: ${change} after ${start}`)
      const end = change ?? limit
      segments.push({ start, end, offset, reached })
      reached = Math.max(reached, end + offset)
      start = end
    }
    return segments
  }
}

const timelines = new WeakMap<ZoneRules, Timeline>()

/** The timeline of a zone's rules, shared as long as the rules live. */
export function timelineOf(rules: ZoneRules): Timeline {
  const found = timelines.get(rules)
  if (found !== undefined) return found
  const timeline = new Timeline(rules)
  timelines.set(rules, timeline)
  return timeline
}
