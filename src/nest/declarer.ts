import type { Logger } from '@nestjs/common'
import type { ModuleRef } from '@nestjs/core'
import type { SchedulerRegistry } from '@nestjs/schedule'
import { FleetcronError } from '../errors.js'
import { setBoot } from '../fleet/boot.js'
import type { Fleet } from '../fleet/fleet.js'
import { POLICY_KEYS } from '../fleet/job-options.js'
import { closest, didYouMean, optionInvalid } from '../fleet/option-values.js'
import type { Run } from '../fleet/run.js'
import { type Found, handlerOf } from './explorer.js'
import { FleetCronJob } from './fleet-cron-job.js'
import type { FoundHandler } from './handler.decorator.js'
import { timerToFleetJob, toFleetJob } from './job-words.js'
import { type Named, nameJobs, nameOf, namesToPaste } from './names.js'
import type { ResolvedModule } from './options.js'
import type { Timers } from './timers.js'
import { timerRow, viewOf } from './views.js'
import { checkOverride, checkTiming, checkWords } from './words.js'

/** Gives each job that was found to the fleet or to the timers of this node, and says which is where. */
export class Declarer {
  private isUp = false
  private tellUp = () => {}
  private readonly up = new Promise<void>((resolve) => {
    this.tellUp = resolve
  })

  constructor(
    private readonly options: ResolvedModule,
    private readonly fleet: Fleet,
    private readonly registry: SchedulerRegistry,
    private readonly moduleRef: ModuleRef,
    private readonly timers: Timers,
    private readonly logger: Logger,
  ) {}

  /**
   * @param foreign what @nestjs/schedule runs on every node
   * @throws FleetcronError `JOB_DUPLICATE`, `JOB_UNKNOWN`, and whatever an option's check says
   */
  declareAll(found: readonly Found[], foreign: readonly string[]): void {
    const { isLocal, jobs } = this.options
    for (const one of found) this.check(one)
    const ofEveryNode = found.filter((one) => this.scopeOf(one) === 'node')
    if (!isLocal) for (const one of ofEveryNode) this.checkNode(one)
    const timers = ofEveryNode.filter((one) => !this.isKept(one))
    const named = nameJobs(
      found.filter((one) => !timers.includes(one)),
      (line) => this.logger.warn(line),
    )
    this.checkOverrides([...named.map(({ name }) => name), ...timers.map(nameOf)])
    for (const one of timers) this.timers.add(one, jobs[nameOf(one)])
    for (const job of named) this.declare(job)
    setBoot(this.fleet, { ofEveryNode: timers.map((one) => timerRow(one, jobs[nameOf(one)])) })
    if (isLocal) this.sayLocal(found)
    else this.sayFleet(named, ofEveryNode, foreign)
  }

  /** The application is up. */
  letHandlersGo(): void {
    this.isUp = true
    this.tellUp()
  }

  private check(found: Found): void {
    checkTiming(found)
    try {
      checkWords(found)
    } catch (error) {
      // @nestjs/schedule takes no notice of what it does not know.
      if (!this.options.isLocal) throw error
      this.logger.warn((error as Error).message)
    }
  }

  private scopeOf({ declaration: { timing, options } }: Found): 'fleet' | 'node' {
    if (this.options.isLocal) return 'node'
    const onlyOnce = timing.kind === 'timeout' || (timing.kind === 'cron' && typeof timing.cronTime !== 'string')
    return options.scope ?? (onlyOnce ? 'node' : this.options.scope)
  }

  /** Whether the fleet keeps a job of every node, since it is this node alone. Local mode runs no request-scoped provider. */
  private isKept({ isStatic }: Found): boolean {
    return this.options.isSolo && (isStatic || !this.options.isLocal)
  }

  private declare({ name, found }: Named): void {
    const { timing, options } = found.declaration
    const isTimer = this.scopeOf(found) === 'node'
    const job = (isTimer ? timerToFleetJob : toFleetJob)(name, found.declaration, this.options.jobs[name])
    this.fleet.job(name, job, this.onceUp(handlerOf(found, this.moduleRef)))
    this.registry.addCronJob(name, new FleetCronJob(viewOf(name, job, this.fleet)))
    if (timing.kind !== 'timeout' || job.disabled === true) return
    const key = options.key ?? this.options.fleet?.release
    if (isTimer) this.timers.addDelay(timing.ms, () => this.fleet.trigger(name))
    else if (key === undefined) throw optionInvalid(`job '${name}'`, ONCE_PER_KEY)
    else this.timers.addDelay(timing.ms, () => this.fleet.trigger(name, { key: `timeout:${key}` }))
  }

  /** Gives the fleet what does the work of schedules kept in the store. */
  declareHandlers(handlers: readonly FoundHandler[]): void {
    const places = new Map<string, string>()
    for (const { definition, found, place } of handlers) {
      const other = places.get(definition.name)
      if (other !== undefined) {
        const message = `Two methods are the handler '${definition.name}': ${other} and ${place}. Give each a handler of its own, and provide a class once.`
        throw new FleetcronError('JOB_DUPLICATE', message)
      }
      places.set(definition.name, place)
      this.fleet.handler(definition, this.onceUp(handlerOf(found, this.moduleRef)) as (run: Run) => unknown)
    }
  }

  /** A handler waits until the application is up. */
  private onceUp(handler: (run: Run<never>) => unknown): (run: Run<never>) => unknown {
    return async (run) => {
      if (!this.isUp) await Promise.race([this.up, whenAborted(run.signal)])
      return handler(run)
    }
  }

  /** A timer has none of the fleet's policies: one that is written down was meant. */
  private checkNode(found: Found): void {
    const { options } = found.declaration
    const policy = [...POLICY_KEYS, 'id', 'dstGap'].find((key) => Object.hasOwn(options, key))
    if (policy === undefined) return
    throw optionInvalid(
      `job '${nameOf(found)}'`,
      `it runs on every node (scope: 'node') and has the option '${policy}', which only the fleet has: leave it out, or write scope: 'fleet'.`,
    )
  }

  private checkOverrides(known: readonly string[]): void {
    const unknown = Object.keys(this.options.jobs).find((name) => !known.includes(name))
    for (const [name, override] of Object.entries(this.options.jobs)) checkOverride(name, override)
    if (unknown === undefined) return
    const near = closest(unknown, known)
    throw new FleetcronError(
      'JOB_UNKNOWN',
      `The module's \`jobs\` name '${unknown}', and this application has no such job.${didYouMean(near && `'${near}'`)} Known are ${known.join(', ') || 'none'}.`,
    )
  }

  private sayLocal(local: readonly Found[]): void {
    const idle = local.flatMap((one) => {
      const policies = POLICY_KEYS.filter((key) => key in one.declaration.options && key !== 'overlap')
      return policies.length === 0 ? [] : [`${nameOf(one)}: ${policies.join(', ')}`]
    })
    const without = idle.length === 0 ? '' : `; of no effect here: ${idle.join('; ')}`
    this.logger.log(`local mode (no fleet is named): every process runs every job, as @nestjs/schedule does${without}`)
  }

  private sayFleet(named: readonly Named[], local: readonly Found[], foreign: readonly string[]): void {
    const names = namesToPaste(named)
    if (names !== null) this.logger.log(names)
    if (local.length > 0) this.logger.log(`on every node (scope 'node'): ${local.map(nameOf).join(', ')}`)
    if (foreign.length === 0) return
    this.logger.warn(
      `${foreign.join(', ')}: decorated by @nestjs/schedule and run by its ScheduleModule, on every node. For a job of the ` +
        "fleet import the decorator from 'fleetcron/nest'.",
    )
  }
}

const ONCE_PER_KEY =
  "a @Timeout of the fleet runs once for each key: write key: process.env.RELEASE, or the module's `release`; with scope: 'node' it runs on every node."

function whenAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason)
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}
