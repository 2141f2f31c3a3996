import type { Definition } from '../ledger/types.js'
import { intlZones, type ScheduleInput, scheduleSpec } from '../schedule/index.js'
import { oneOf, optionInvalid } from './option-values.js'

type ScheduleWords = Partial<ScheduleInput>

/**
 * A job on request says nothing of a schedule; one whose schedule is there and undefined was to have one.
 * @throws `OPTION_INVALID`
 */
export function checkSchedule(what: string, input: object, given: ScheduleWords): void {
  const words = ['cron', 'every', 'at'] as const
  const missing = words.find((word) => word in input && given[word] === undefined)
  if (missing === undefined || words.some((word) => given[word] !== undefined)) return
  throw optionInvalid(
    `${what}: ${missing}`,
    'it is there and undefined, so the job would never run by itself. Set what it is read from, or leave it out for a job on request.',
  )
}

/**
 * A zone or a `dstGap` that nobody knows is refused also where nothing is read in it: the schedule may become a cron one day.
 * @throws `SCHEDULE_INVALID`, `ZONE_UNKNOWN`, `OPTION_INVALID`
 */
export function scheduleOf(given: ScheduleWords, timeZone: string): Definition['schedule'] {
  const { cron, every, at, dstGap } = given
  if (given.timeZone !== undefined) intlZones(given.timeZone)
  if (dstGap !== undefined) oneOf('dstGap', dstGap, ['next', 'skip'])
  if (cron === undefined && every === undefined && at === undefined) return null
  return scheduleSpec({ cron, every, at, timeZone, dstGap })
}
