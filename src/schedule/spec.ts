import { parseDuration } from '../duration.js'
import { FleetcronError } from '../errors.js'
import { parseExpression } from './expression.js'
import { FixedTimeSchedule } from './fixed-time.js'
import { parseWall, wallToLabel } from './labels.js'
import { OneMoment } from './moments.js'
import { quote } from './quote.js'
import { timelineOf } from './timeline.js'
import type { ScheduleSpec } from './types.js'
import { intlZones, normaliseZone } from './zones.js'

/** A schedule as people write it: exactly one of `cron`, `every` and `at`. */
export interface ScheduleInput {
  /** Five fields (minutes first), six (seconds first) or an alias such as `@daily`. */
  readonly cron?: string | undefined
  /** A period: `'15m'` or milliseconds, at least one second. */
  readonly every?: string | number | undefined
  /** One moment: a `Date`, a text with `Z` or an offset, or a label, which is read in `timeZone`. */
  readonly at?: string | Date | undefined
  /** IANA name, `UTC`, or an offset such as `+02:00`. */
  readonly timeZone: string
  /** What becomes of a time of day that a date leaves out: run at the end of the gap (default), or not at all. */
  readonly dstGap?: 'next' | 'skip' | undefined
}

/** The shortest period; shorter ones cost a store more than they are worth. */
const MIN_EVERY_MS = 1_000

/**
 * Checks a schedule where it is defined, and gives the data that is stored for it. Everything that can be wrong is found
 * here, in bounded time.
 *
 * @throws FleetcronError `SCHEDULE_INVALID`, `ZONE_UNKNOWN`, `OPTION_INVALID` (the duration of `every`)
 */
export function scheduleSpec(input: ScheduleInput): ScheduleSpec {
  const { cron, every, at } = input
  const given = Object.entries({ cron, every, at }).filter(([, value]) => value !== undefined)
  if (given.length !== 1) {
    const names = given.length === 0 ? 'none' : given.map(([name]) => name).join(' and ')
    throw invalid(`A schedule has exactly one of cron, every and at; this one has ${names}`)
  }
  if (every !== undefined) return { every: period(every) }
  const timeZone = normaliseZone(input.timeZone)
  const rules = intlZones(timeZone)
  const dstGap = input.dstGap ?? 'next'
  if (dstGap !== 'next' && dstGap !== 'skip') throw invalid(`dstGap is ${quote(dstGap)}: write 'next' or 'skip'`)
  if (cron !== undefined) return { cron: parseExpression(cron).text, timeZone, dstGap }
  const moment = parseAt(at instanceof Date ? dateText(at) : (at ?? ''))
  if ('instant' in moment) return { at: new Date(moment.instant).toISOString(), timeZone, dstGap }
  const label = wallToLabel(moment.wall)
  const spec: ScheduleSpec = { at: label, timeZone, dstGap }
  const schedule = new FixedTimeSchedule(spec, new OneMoment(moment.wall), timelineOf(rules), dstGap)
  if (schedule.occurrence(label) === null) {
    const why = dstGap === 'skip' ? "that time, and dstGap is 'skip'" : 'that date'
    throw invalid(`at '${label}' never comes in ${timeZone}: its clock leaves out ${why}: write a time that exists`)
  }
  return spec
}

function period(every: string | number): number {
  const ms = parseDuration(every, 'every')
  if (ms >= MIN_EVERY_MS) return ms
  throw invalid(`every '${every}' is too short: write at least 1s`)
}

function dateText(at: Date): string {
  if (Number.isNaN(at.getTime())) throw invalid('at is an invalid Date')
  return at.toISOString()
}

/**
 * What a text says: an instant, or a wall time to be read in some zone.
 *
 * @param what names the option in the error
 */
export function parseAt(text: string, what = 'at'): { readonly instant: number } | { readonly wall: number } {
  const match = typeof text === 'string' ? AT.exec(text.trim()) : null
  const wall = match === null ? null : parseWall(`${match[1]}T${match[2]}${fraction(match[3])}`)
  if (match === null || wall === null) {
    throw invalid(
      `${what} ${quote(text)} is no moment of the years 1900 to 9999: write a wall time as '2026-11-29T09:00', or an instant as '2026-11-29T07:00Z' or '2026-11-29T09:00+02:00'`,
    )
  }
  const [, , , , zone, sign, hours, minutes] = match
  if (zone === undefined) return { wall }
  if (zone === 'Z') return { instant: wall }
  const offset = (Number(hours) * 60 + Number(minutes)) * 60_000
  return { instant: sign === '-' ? wall + offset : wall - offset }
}

const AT = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}(?::\d{2})?)(\.\d{1,3})?(Z|([+-])([01]\d|2[0-3]):?([0-5]\d))?$/

function fraction(text: string | undefined): string {
  return text === undefined ? '' : text.padEnd(4, '0')
}

function invalid(message: string): FleetcronError {
  return new FleetcronError('SCHEDULE_INVALID', `${message}.`)
}
