export type { Run } from '../fleet/run.js'
export { Cron, type CronOptions, type RunMethod } from './cron.decorator.js'
export { FleetModule, type FleetModuleAsyncOptions, type FleetModuleOptions } from './module.js'
export { InjectFleet } from './tokens.js'
