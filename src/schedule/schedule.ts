import { FleetcronError } from '../errors.js'
import { DAY_MS, LAST_WALL } from './calendar.js'
import { parseExpression } from './expression.js'
import { FixedTimeSchedule } from './fixed-time.js'
import { IntervalLikeSchedule } from './interval-like.js'
import { OneMoment, Progression } from './moments.js'
import { parseAt } from './spec.js'
import { timelineOf } from './timeline.js'
import type { Schedule, ScheduleSpec, ZoneData } from './types.js'
import { ZonedMoments } from './zoned-moments.js'
import { intlZones } from './zones.js'

export interface ParseOptions {
  /** Where `every` counts from, epoch milliseconds: the first occurrence is one period later. Others do not use it. */
  readonly anchor: number
  /** Zone data; by default that of the process. */
  readonly zones?: ZoneData
}

/**
 * Makes a schedule of its data. It is cheap: expressions are parsed once per text, zones computed once per process.
 *
 * @throws FleetcronError `SCHEDULE_INVALID`, `ZONE_UNKNOWN`
 */
export function parseSchedule(spec: ScheduleSpec, options: ParseOptions): Schedule {
  const zones = options.zones ?? intlZones
  if ('every' in spec) {
    const instants = new Progression(options.anchor, spec.every, LAST_WALL - DAY_MS)
    return new IntervalLikeSchedule(spec, instants, timelineOf(intlZones('UTC')))
  }
  const timeline = timelineOf(zones(spec.timeZone))
  if ('at' in spec) {
    const at = parseAt(spec.at)
    return 'instant' in at
      ? new IntervalLikeSchedule(spec, new OneMoment(at.instant), timeline)
      : new FixedTimeSchedule(spec, new OneMoment(at.wall), timeline, spec.dstGap)
  }
  if (typeof spec.cron !== 'string') {
    throw new FleetcronError('SCHEDULE_INVALID', 'A schedule is one of cron, every and at; this one has none of them.')
  }
  const { kind, moments } = parseExpression(spec.cron)
  return kind === 'fixed-time'
    ? new FixedTimeSchedule(spec, moments, timeline, spec.dstGap)
    : new IntervalLikeSchedule(spec, new ZonedMoments(moments, timeline), timeline)
}
