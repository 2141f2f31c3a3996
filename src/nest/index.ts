export { CronExpression, SchedulerRegistry } from '@nestjs/schedule'
export { defineHandler, type HandlerDefinition, type RunOf } from '../fleet/handlers.js'
export { Cron } from './cron.decorator.js'
export { Fenced, type FencedOptions, ReceivedFence } from './fenced.js'
export { Handler } from './handler.decorator.js'
export { FleetHealthIndicator, type FleetHealthResult } from './health.js'
export { Interval, Timeout } from './interval.decorator.js'
export type {
  CronOptions,
  IntervalOptions,
  JobOverride,
  RunDecorator,
  RunMethod,
  TimeoutOptions,
} from './job-words.js'
export { FleetModule, FleetModule as ScheduleModule } from './module.js'
export type {
  FleetModuleAsyncOptions,
  FleetModuleOptions,
  FleetOptionsFactory,
  LocalModuleOptions,
  ModuleDefaults,
} from './options.js'
export { Run } from './run.js'
export { type RunFleetJobOptions, runFleetJob } from './run-fleet-job.js'
export { InjectEffects, InjectFleet } from './tokens.js'
export type { WebDoor } from './web-doors.js'
