import { FleetcronError } from '../errors.js'
import { wallToLabel } from './labels.js'
import { parseSchedule } from './schedule.js'
import { parseAt, scheduleSpec } from './spec.js'
import { timelineOf } from './timeline.js'
import type { Occurrence, Schedule, ZoneData } from './types.js'
import { intlZones } from './zones.js'

/** What to list: an expression's occurrences on one side of an instant. */
export interface ListOptions {
  /** IANA name, `UTC`, or an offset such as `+02:00`. */
  readonly timeZone: string
  /** The instant the list begins or ends at, itself not included; a number is epoch milliseconds. */
  readonly from: Date | number
  /** How many at most, from 0. */
  readonly count: number
  /** What becomes of a time of day that a date leaves out (default `next`: the end of the gap). */
  readonly dstGap?: 'next' | 'skip' | undefined
  /** Zone data; by default that of the process. */
  readonly zones?: ZoneData
}

/**
 * The first occurrences of a cron expression after an instant, in order.
 *
 * @throws FleetcronError `SCHEDULE_INVALID`, `ZONE_UNKNOWN`, `OPTION_INVALID`
 */
export function nextOccurrences(expression: string, options: ListOptions): Occurrence[] {
  const { schedule, from, count } = prepare(expression, options)
  return schedule.between(schedule.cursorAt(from), Number.POSITIVE_INFINITY, count)
}

/** The last occurrences of a cron expression before an instant, in the order of time. Errors as `nextOccurrences`. */
export function previousOccurrences(expression: string, options: ListOptions): Occurrence[] {
  const { schedule, from, count } = prepare(expression, options)
  return schedule.latest(schedule.cursorAt(Number.NEGATIVE_INFINITY), from - 1, count)
}

/** A wall time in a zone, for people: what the clock shows, and what is odd about it. */
export interface Reading {
  readonly label: string
  /** Offset from UTC in milliseconds, east positive. */
  readonly offset: number
  /** Which showing of this label it is: in an overlap the clock shows it twice. */
  readonly pass: 'only' | 'first' | 'second'
}

/** What a zone's clock shows at an instant. */
export function readClock(instant: number, timeZone: string, zones: ZoneData = intlZones): Reading {
  const timeline = timelineOf(zones(timeZone))
  const { offset } = timeline.segmentAt(instant)
  const passes = timeline.instantsOf(instant + offset)
  const pass = passes.length < 2 ? 'only' : passes[0] === instant ? 'first' : 'second'
  return { label: wallToLabel(instant + offset), offset, pass }
}

/** A jump of a zone's clock: the labels from `from` to just before `to` are never shown. */
export interface Jump {
  readonly from: string
  readonly to: string
  readonly instant: number
}

/** The forward jumps of a zone's clock after one instant and not after another, in order. */
export function jumpsBetween(after: number, until: number, timeZone: string, zones: ZoneData = intlZones): Jump[] {
  const timeline = timelineOf(zones(timeZone))
  const gaps = [...timeline.gaps(timeline.reachedAt(after), timeline.reachedAt(until))]
  return gaps.map(({ from, to, instant }) => ({ from: wallToLabel(from), to: wallToLabel(to), instant }))
}

/** The instant that a text means: one with `Z` or an offset, or a label, which is read in the zone. */
export function instantOf(text: string, timeZone: string, what: string, zones: ZoneData = intlZones): number {
  const at = parseAt(text, what)
  return 'instant' in at ? at.instant : timelineOf(zones(timeZone)).place(at.wall).instant
}

function prepare(expression: string, options: ListOptions): { schedule: Schedule; from: number; count: number } {
  const { timeZone, dstGap, zones, count } = options
  const from = Number(options.from)
  if (!Number.isSafeInteger(from)) throw invalid('from is no instant: give a valid Date or whole epoch milliseconds')
  if (!Number.isSafeInteger(count) || count < 0) throw invalid(`count is ${count}: give a whole number from 0`)
  const spec = scheduleSpec({ cron: expression, timeZone, dstGap })
  return { schedule: parseSchedule(spec, zones === undefined ? { anchor: 0 } : { anchor: 0, zones }), from, count }
}

function invalid(message: string): FleetcronError {
  return new FleetcronError('OPTION_INVALID', `${message}.`)
}
