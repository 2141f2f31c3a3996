import type { DiscoveryService, ModulesContainer } from '@nestjs/core'
import { FleetcronError } from '../errors.js'
import { instancesOf } from './explorer.js'

/** Where @nestjs/schedule keeps on a function what its decorators said. */
const METADATA = 'SCHEDULER_TYPE'

/** Methods that bear @nestjs/schedule's own decorators, as `Class.method`. */
function foreignJobs(discovery: DiscoveryService): string[] {
  const places = instancesOf(discovery).flatMap(({ prototype }) =>
    methodsOf(prototype).flatMap(([method, fn]) =>
      Reflect.hasMetadata(METADATA, fn) ? [`${prototype.constructor.name}.${method}`] : [],
    ),
  )
  return [...new Set(places)]
}

function methodsOf(prototype: object): [string, object][] {
  const found = new Map<string, object>()
  for (
    let owner: object | null = prototype;
    owner !== null && owner !== Object.prototype;
    owner = Object.getPrototypeOf(owner)
  ) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(owner))) {
      if (typeof value === 'function' && !found.has(name)) found.set(name, value)
    }
  }
  return [...found]
}

/** Whether the application holds a ScheduleModule of @nestjs/schedule, of whichever copy of it. */
function hasScheduleModule(modules: ModulesContainer): boolean {
  return [...modules.values()].some(({ providers }) =>
    [...providers.keys()].some((token) => typeof token === 'function' && token.name === 'ScheduleExplorer'),
  )
}

/**
 * Methods that @nestjs/schedule's own decorators stand on, and that @nestjs/schedule runs: on every node.
 *
 * @throws FleetcronError `OPTION_INVALID` where nothing runs them: half of an import was changed
 */
export function checkForeign(discovery: DiscoveryService, modules: ModulesContainer): readonly string[] {
  const jobs = foreignJobs(discovery)
  if (jobs.length === 0 || hasScheduleModule(modules)) return jobs
  throw new FleetcronError(
    'OPTION_INVALID',
    `${jobs.join(', ')}: decorated by @nestjs/schedule, whose ScheduleModule is not in this application, so nothing runs ` +
      "it. Import the decorator from here: import { Cron, Interval, Timeout } from 'fleetcron/nest'.",
  )
}
