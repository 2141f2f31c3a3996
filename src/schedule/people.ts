import { FleetcronError } from '../errors.js'
import { parseSchedule } from './schedule.js'
import { scheduleSpec } from './spec.js'
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

/** The instants at which a zone's clock shows a wall time: none in a gap, one, or the two passes of an overlap, in order. */
export function passesOf(wall: number, timeZone: string, zones: ZoneData = intlZones): number[] {
  return timelineOf(zones(timeZone)).instantsOf(wall)
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
