export { dateOf, instantToKey, keyToInstant, labelToWall, wallToLabel } from './labels.js'
export {
  instantOf,
  type Jump,
  jumpsBetween,
  type ListOptions,
  nextOccurrences,
  previousOccurrences,
  type Reading,
  readClock,
} from './people.js'
export { type ParseOptions, parseSchedule } from './schedule.js'
export { type ScheduleInput, scheduleSpec } from './spec.js'
export type {
  Cursor,
  Occurrence,
  Schedule,
  ScheduleKind,
  ScheduleSpec,
  ZoneData,
  ZoneRules,
} from './types.js'
export { intlZones } from './zones.js'
