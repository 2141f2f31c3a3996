import type { JobView } from '../fleet/lookups.js'
import { parseSchedule } from '../schedule/index.js'
import type { ScheduleSpec } from '../schedule/types.js'

/** When a Job Scheduler makes its next job, in BullMQ's own words. */
export type Repeat =
  | { readonly pattern: string; readonly tz: string }
  /** From the epoch; never 0, which BullMQ takes for "now". */
  | { readonly every: number; readonly offset: number }

/** Begins the pattern of a job that is due at one moment. */
const AT = 'at '

/** Null: the job runs on request only. */
export function repeatOf({ schedule, definedAt }: Pick<JobView, 'schedule' | 'definedAt'>): Repeat | null {
  if (schedule === null) return null
  if ('cron' in schedule) return { pattern: schedule.cron, tz: schedule.timeZone }
  if ('at' in schedule) return { pattern: `${AT}${schedule.at}`, tz: schedule.timeZone }
  const { every } = schedule
  return { every, offset: definedAt.getTime() % every || every }
}

/**
 * BullMQ asks this, in place of its own reading of patterns, for the first moment after another one: so a poke comes at the
 * ledger's instants, whatever daylight saving does and whatever a pattern may say. A local time that a day leaves out is poked after
 * the gap also where the job leaves it out: a poke for nothing changes nothing. Undefined: none comes any more.
 */
export function nextPoke(millis: number, { pattern, tz }: { pattern?: string; tz?: string }): number | undefined {
  if (pattern === undefined || tz === undefined) return undefined
  const place = { timeZone: tz, dstGap: 'next' } as const
  const spec: ScheduleSpec = pattern.startsWith(AT)
    ? { at: pattern.slice(AT.length), ...place }
    : { cron: pattern, ...place }
  const schedule = parseSchedule(spec, { anchor: 0 })
  return schedule.next(schedule.cursorAt(millis))?.instant
}
