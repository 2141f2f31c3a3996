import type { ScheduleSpec } from '../../schedule/types.js'
import { offsetAt, type Segments, type ZoneTable } from './zones.js'

/**
 * When a schedule is due, found the slow way: every second or minute is tried. It shares nothing with `src/schedule` but
 * the data, understands only what the simulation's schedules use (numbers, lists, ranges, steps; no days or months), and
 * is what the ledger's arithmetic is held against.
 */
export interface Enumerator {
  readonly kind: 'labels' | 'instants'
  /** Keys of the occurrences after `from` and up to `to`: labels, or instants. In order. */
  keys(from: string, to: string): string[]
  /** When a key is due by this zone data; null where the schedule leaves it out (a gap that is skipped). */
  instantOf(key: string): number | null
  /** Whether the key is one of this schedule's, well-formed. */
  owns(key: string): boolean
  /** The key of an instant, or the latest label that the zone's clock has shown up to it: more than it shows in a second pass. */
  keyAt(instant: number): string
  /** Whether one key is at or before another, in the order of time. */
  upTo(a: string, b: string): boolean
  /** The first instant after this one, and after this key, at which something is due, at most `limit`; null: none. */
  next(after: { readonly instant: number; readonly label: string }, limit: number): number | null
}

const SECOND = 1_000
const MINUTE = 60_000
/** More steps than any simulation takes: a loop without end is an error of the simulation itself. */
const MOST = 2_000_000

export function enumerator(spec: ScheduleSpec, anchor: number, zones: ZoneTable): Enumerator {
  // Definitions and zone tables are shared objects: what was made of them once serves the whole simulation.
  const made = CACHE.get(spec) ?? new Map<ZoneTable, Enumerator>()
  CACHE.set(spec, made)
  const known = 'every' in spec ? undefined : made.get(zones)
  const fresh = known ?? make(spec, anchor, zones)
  made.set(zones, fresh)
  return fresh
}

const CACHE = new WeakMap<ScheduleSpec, Map<ZoneTable, Enumerator>>()

function make(spec: ScheduleSpec, anchor: number, zones: ZoneTable): Enumerator {
  if ('every' in spec)
    return instants(spec.every, (instant) => (instant - anchor) % spec.every === 0 && instant > anchor, anchor)
  const segments = zones[spec.timeZone]
  if (!segments) throw new Error(`the simulation has no zone ${spec.timeZone}`)
  if ('at' in spec) return once(labelText(wallOf(spec.at)), segments, spec.dstGap)
  const { matches, stepMs, fixed } = cron(spec.cron)
  if (fixed) return labels(stepMs, matches, segments, spec.dstGap)
  return instants(stepMs, (instant) => matches(instant + offsetAt(segments, instant)), 0)
}

/** A single date: everything about it is read off, and only what is before and after it matters. */
function once(label: string, segments: Segments, dstGap: 'next' | 'skip'): Enumerator {
  const wall = wallOf(label)
  const due = instantOfWall(wall, segments, dstGap)
  return {
    kind: 'labels',
    keys: (from, to) => (wallOf(from) < wall && wall <= wallOf(to) ? [label] : []),
    instantOf: (key) => (key.endsWith('Z') ? null : instantOfWall(wallOf(key), segments, dstGap)),
    owns: (key) => key === label,
    keyAt: (instant) => labelText(reached(segments, instant)),
    upTo: (a, b) => a <= b,
    next: (after, limit) => (wallOf(after.label) < wall && due !== null && due <= limit ? due : null),
  }
}

function instants(stepMs: number, matches: (instant: number) => boolean, origin: number): Enumerator {
  const after = (instant: number) => instant + stepMs - modulo(instant - origin, stepMs)
  return {
    kind: 'instants',
    keys: (from, to) => {
      const found: string[] = []
      const end = parseInstant(to)
      for (let at = after(parseInstant(from)), steps = 0; at <= end; at += stepMs, steps += 1) {
        if (steps > MOST) throw new Error(`too many moments between ${from} and ${to}`)
        if (matches(at)) found.push(instantText(at))
      }
      return found
    },
    instantOf: (key) => (key.endsWith('Z') ? parseInstant(key) : null),
    owns: (key) => key.endsWith('Z') && instantText(parseInstant(key)) === key && matches(parseInstant(key)),
    keyAt: instantText,
    upTo: (a, b) => parseInstant(a) <= parseInstant(b),
    next: ({ instant }, limit) => {
      for (let at = after(instant); at <= limit; at += stepMs) if (matches(at)) return at
      return null
    },
  }
}

function labels(
  stepMs: number,
  matches: (wall: number) => boolean,
  segments: Segments,
  dstGap: 'next' | 'skip',
): Enumerator {
  const after = (wall: number) => wall + stepMs - modulo(wall, stepMs)
  const instantOf = (wall: number) => instantOfWall(wall, segments, dstGap)
  return {
    kind: 'labels',
    keys: (from, to) => {
      const found: string[] = []
      const end = wallOf(to)
      for (let wall = after(wallOf(from)), steps = 0; wall <= end; wall += stepMs, steps += 1) {
        if (steps > MOST) throw new Error(`too many moments between ${from} and ${to}`)
        if (matches(wall)) found.push(labelText(wall))
      }
      return found
    },
    instantOf: (key) => (key.endsWith('Z') ? null : instantOf(wallOf(key))),
    owns: (key) => !key.endsWith('Z') && labelText(wallOf(key)) === key && matches(wallOf(key)),
    keyAt: (instant) => labelText(reached(segments, instant)),
    upTo: (a, b) => a <= b,
    next: ({ label }, limit) => {
      const end = limit + DAY
      let earliest: number | null = null
      for (let wall = after(wallOf(label)); wall <= end; wall += stepMs) {
        if (!matches(wall)) continue
        const at = instantOf(wall)
        if (at === null) continue
        // Labels rise, but their instants need not where a clock is set back: look a little further before answering.
        if (earliest === null || at < earliest) earliest = at
        if (at > earliest) break
      }
      return earliest !== null && earliest <= limit ? earliest : null
    },
  }
}

const DAY = 24 * 60 * MINUTE

/** The latest wall time that a clock has shown. */
function reached(segments: Segments, instant: number): number {
  const shown = segments.flatMap(([from, offset], index) => {
    const until = segments[index + 1]?.[0] ?? Number.POSITIVE_INFINITY
    return from <= instant ? [Math.min(instant, until - 1) + offset] : []
  })
  return Math.max(...shown)
}

/** The first pass in an overlap; the first instant after it, or none, in a gap. */
function instantOfWall(wall: number, segments: Segments, dstGap: 'next' | 'skip'): number | null {
  for (const [index, [from, offset]] of segments.entries()) {
    const until = segments[index + 1]?.[0] ?? Number.POSITIVE_INFINITY
    const instant = wall - offset
    if (instant >= from && instant < until) return instant
    if (instant < from) return dstGap === 'skip' ? null : from
  }
  return null
}

/** Reads a pattern of five or six fields; days and months are stars. */
function cron(pattern: string): { matches: (wall: number) => boolean; stepMs: number; fixed: boolean } {
  const fields = pattern.split(' ')
  const [seconds = '0', minutes = '*', hours = '*'] = fields.length === 6 ? fields : ['0', ...fields]
  const second = field(seconds, 60)
  const minute = field(minutes, 60)
  const hour = field(hours, 24)
  return {
    matches: (wall) => {
      if (wall % SECOND !== 0) return false
      const day = Math.floor(wall / SECOND) % 86_400
      return second.has(day % 60) && minute.has(Math.floor(day / 60) % 60) && hour.has(Math.floor(day / 3600))
    },
    stepMs: seconds === '0' ? MINUTE : SECOND,
    fixed: !/[*/]/.test(`${seconds} ${minutes} ${hours}`),
  }
}

function field(text: string, size: number): ReadonlySet<number> {
  const found = new Set<number>()
  for (const part of text.split(',')) {
    const [range = '*', step = '1'] = part.split('/')
    const [low, high] = range === '*' ? [0, size - 1] : range.split('-').map(Number)
    const end = high ?? (part.includes('/') ? size - 1 : (low ?? 0))
    for (let value = low ?? 0; value <= end; value += Number(step)) found.add(value)
  }
  return found
}

/** The same few texts are read again and again. */
const READ = new Map<string, number>()

function wallOf(label: string): number {
  const known = READ.get(label)
  if (known !== undefined) return known
  if (READ.size > 2_000) READ.clear()
  const wall = Date.parse(`${label.length === 16 ? `${label}:00` : label}Z`)
  READ.set(label, wall)
  return wall
}

function labelText(wall: number): string {
  const text = new Date(wall).toISOString()
  return wall % MINUTE === 0 ? text.slice(0, 16) : shorten(text)
}

function parseInstant(key: string): number {
  return wallOf(key.slice(0, -1))
}

function instantText(instant: number): string {
  return `${shorten(new Date(instant).toISOString())}Z`
}

/** Seconds and milliseconds only where they are not zero. */
function shorten(iso: string): string {
  const text = iso.slice(0, 23).replace(/\.000$/, '')
  return text.length === 19 && text.endsWith(':00') ? text.slice(0, 16) : text
}

function modulo(value: number, by: number): number {
  return ((value % by) + by) % by
}
