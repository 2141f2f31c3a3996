import { ContextIdFactory, type DiscoveryService, type ModuleRef } from '@nestjs/core'
import { FleetcronError } from '../errors.js'
import type { JobOptions } from '../fleet/job-options.js'
import type { Run } from '../fleet/run.js'
import { declarationsOf } from './declarations.js'

export interface FoundJob {
  readonly name: string
  /** `Class.method`, for people. */
  readonly place: string
  readonly options: JobOptions
  readonly handler: (run: Run<never>) => unknown
}

type Wrapper = ReturnType<DiscoveryService['getProviders']>[number]

/**
 * Every declared job of the application's providers and controllers. A class that stands in the application under two
 * tokens is two, and so are its jobs: that is refused like any other name used twice.
 *
 * @throws FleetcronError `JOB_DUPLICATE`, naming both places
 */
export function findJobs(discovery: DiscoveryService, moduleRef: ModuleRef): FoundJob[] {
  const seen = new Set<object>()
  const jobs = new Map<string, FoundJob>()
  for (const wrapper of [...discovery.getProviders(), ...discovery.getControllers()]) {
    const { instance } = wrapper
    if (typeof instance !== 'object' || instance === null || seen.has(instance)) continue
    seen.add(instance)
    for (const job of jobsOf(wrapper, instance, moduleRef)) {
      const other = jobs.get(job.name)
      if (other !== undefined) throw duplicate(other, job)
      jobs.set(job.name, job)
    }
  }
  return [...jobs.values()]
}

function jobsOf(wrapper: Wrapper, instance: object, moduleRef: ModuleRef): FoundJob[] {
  const prototype = Object.getPrototypeOf(instance) as object | null
  return declarationsOf(prototype).map(({ declaration: { method, name, options } }) => {
    const place = `${prototype?.constructor?.name ?? 'Object'}.${String(method)}`
    return { name: name ?? place, place, options, handler: (run) => call(wrapper, method, run, moduleRef) }
  })
}

/** The method is looked up at each call, so that whatever wraps it by then takes part. */
async function call(
  wrapper: Wrapper,
  method: string | symbol,
  run: Run<never>,
  moduleRef: ModuleRef,
): Promise<unknown> {
  const instance = wrapper.isDependencyTreeStatic() ? wrapper.instance : await resolveFor(wrapper, run, moduleRef)
  return (instance as Record<string | symbol, (run: Run<never>) => unknown>)[method]?.(run)
}

/** A request-scoped provider lives for one attempt, and is given the run in place of a request. */
function resolveFor(wrapper: Wrapper, run: Run<never>, moduleRef: ModuleRef): Promise<unknown> {
  const contextId = ContextIdFactory.create()
  moduleRef.registerRequestByContextId(run, contextId)
  return moduleRef.resolve(wrapper.token, contextId, { strict: false })
}

function duplicate(first: FoundJob, second: FoundJob): FleetcronError {
  const places = first.place === second.place ? `${first.place}, twice` : `${first.place} and ${second.place}`
  return new FleetcronError(
    'JOB_DUPLICATE',
    `Two jobs are named '${first.name}': ${places}. A fleet knows its jobs by name: give each @Cron a \`name\` of its own, ` +
      'and provide a class once.',
  )
}
