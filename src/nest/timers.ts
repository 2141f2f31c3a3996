import { hostname } from 'node:os'
import { Logger } from '@nestjs/common'
import type { ModuleRef } from '@nestjs/core'
import type { SchedulerRegistry } from '@nestjs/schedule'
import { CronJob, type CronJobParams } from 'cron'
import { parseDuration } from '../duration.js'
import type { Timer as Delay } from '../fleet/clock.js'
import { optionInvalid } from '../fleet/option-values.js'
import { withRun } from '../fleet/run.js'
import { abortReason } from '../fleet/signal.js'
import { type Found, handlerOf } from './explorer.js'
import { FleetCronJob } from './fleet-cron-job.js'
import { type JobOverride, zoneOf } from './job-words.js'
import { nameOf } from './names.js'
import type { ResolvedModule } from './options.js'
import { type TimerJob, TimerRun } from './timer-run.js'

/** One job as a timer of this process. */
interface Timer {
  /** What the registry knows it by; without a name it is a random one, as in @nestjs/schedule. */
  readonly key: string
  readonly found: Found
  readonly override: JobOverride
  readonly tick: () => unknown
}

const KINDS = { cron: 'cron job', interval: 'interval', timeout: 'timeout' } as const
const KIND_NAMES = { cron: 'Cron Job', interval: 'Interval', timeout: 'Timeout' } as const

/**
 * Jobs that run on every node: all of them in local mode, in a fleet those with `scope: 'node'`. They are the timers
 * and `CronJob`s that @nestjs/schedule makes, in its `SchedulerRegistry`, with the same messages; only that each call is
 * given a `Run`.
 */
export class Timers {
  private readonly logger = new Logger('Scheduler')
  private readonly timers = new Map<string, Timer>()
  private readonly later: { readonly ms: number; readonly act: () => Promise<unknown> }[] = []
  private readonly delays = new Set<Delay>()
  private readonly stopping = new AbortController()

  constructor(
    private readonly registry: SchedulerRegistry,
    private readonly moduleRef: ModuleRef,
    private readonly options: Pick<ResolvedModule, 'effects' | 'fleet'>,
  ) {}

  /** Takes a job; a provider that is made per request has no instance that a timer could call. */
  add(found: Found, override: JobOverride = {}): void {
    const { declaration, wrapper, isStatic } = found
    const { kind } = declaration.timing
    if (!isStatic) {
      const where = `"${String(wrapper.name)}@${String(declaration.method)}"`
      this.logger.warn(`Cannot register ${KINDS[kind]} ${where} because it is defined in a non static provider.`)
      return
    }
    const key = declaration.name ?? crypto.randomUUID()
    const id = `${kind}:${key}`
    if (this.timers.has(id))
      throw new Error(`${KIND_NAMES[kind]} with the given name (${key}) already exists. Ignored.`)
    this.timers.set(id, { key, found, override, tick: this.tickOf(found, override) })
  }

  /** Once, so long after the application is up; an error is logged. */
  addDelay(ms: number, act: () => Promise<unknown>): void {
    this.later.push({ ms, act })
  }

  mount(): void {
    for (const { ms, act } of this.later) {
      this.delays.add(this.after(ms, () => void act().catch((error) => this.logger.error(error))))
    }
    for (const timer of this.timers.values()) {
      const { timing } = timer.found.declaration
      if (timing.kind === 'cron') this.mountCron(timer)
      else if (timer.override.enabled === false || timer.found.declaration.options.disabled === true) continue
      else if (timing.kind === 'interval') {
        this.registry.addInterval(timer.key, setInterval(timer.tick, timing.ms))
      } else this.registry.addTimeout(timer.key, setTimeout(timer.tick, timing.ms))
    }
  }

  /** Ends every timer of the registry, also those that the application added. */
  clear(): void {
    this.stopping.abort(abortReason('stop', 'a timer', 'of this node', null))
    for (const delay of this.delays) delay.cancel()
    for (const key of this.registry.getTimeouts()) this.registry.deleteTimeout(key)
    for (const key of this.registry.getIntervals()) this.registry.deleteInterval(key)
    for (const [key, job] of [...this.registry.getCronJobs()]) {
      // What shows a job of the fleet is no timer and cannot be stopped.
      if (job instanceof FleetCronJob) this.registry.getCronJobs().delete(key)
      else this.registry.deleteCronJob(key)
    }
  }

  private mountCron({ key, found, override, tick }: Timer): void {
    const { timing, options } = found.declaration
    if (timing.kind !== 'cron') return
    const { waitForCompletion, overlap, threshold, unrefTimeout, initialDelay, disabled } = options
    const off = override.enabled === undefined ? disabled === true : !override.enabled
    const delayMs = initialDelay === undefined ? 0 : parseDuration(initialDelay, `job '${key}': initialDelay`)
    const job = CronJob.from({
      cronTime: override.cron ?? timing.cronTime,
      onTick: tick,
      start: !off && delayMs === 0,
      waitForCompletion: waitForCompletion ?? overlap === 'skip',
      ...zoneParams(key, override.timeZone === undefined ? options : { timeZone: override.timeZone }),
      ...(found.declaration.name === null ? {} : { name: found.declaration.name }),
      ...(threshold === undefined ? {} : { threshold }),
      ...(unrefTimeout === undefined ? {} : { unrefTimeout }),
    } as unknown as CronJobParams)
    this.registry.addCronJob(key, job)
    if (off || delayMs === 0) return
    // Deleted meanwhile, or deleted and added anew by somebody else: it is not to come back.
    const start = () => {
      if (this.registry.getCronJobs().get(key) === job) job.start()
    }
    this.delays.add(this.after(delayMs, start))
  }

  /** By the clock that the fleet was given, if it was given one. */
  private after(ms: number, act: () => void): Delay {
    const clock = this.options.fleet?.clock
    if (clock !== undefined) return clock.after(ms, act)
    const timer = setTimeout(act, ms)
    return { cancel: () => clearTimeout(timer) }
  }

  /** Calls the method with a run of its own; an error is logged and the timer goes on. */
  private tickOf(found: Found, override: JobOverride): () => Promise<void> {
    const { timing, options } = found.declaration
    const handler = handlerOf(found, this.moduleRef)
    const name = nameOf(found)
    const cron =
      timing.kind !== 'cron' ? null : (override.cron ?? (typeof timing.cronTime === 'string' ? timing.cronTime : null))
    const zone = override.timeZone ?? zoneOf(`job '${name}'`, options)
    const job: TimerJob = {
      name,
      cron,
      timeZone: zone ?? Intl.DateTimeFormat().resolvedOptions().timeZone,
      node: `${hostname()}#${process.pid}`,
      effects: this.options.effects,
      log: (line) => this.logger.log(line),
      lastToken: 0,
      since: null,
    }
    return async () => {
      try {
        const run = new TimerRun(job, Date.now(), this.stopping.signal)
        await withRun(run, () => handler(run as never))
        job.since = run.scheduledAt
      } catch (error) {
        this.logger.error(error)
      }
    }
  }
}

/** The zone as `cron` takes it. */
function zoneParams(
  key: string,
  options: { readonly timeZone?: string | undefined; readonly utcOffset?: number | string | undefined },
): { timeZone?: string; utcOffset?: number } {
  const { timeZone, utcOffset } = options
  if (typeof utcOffset === 'number') {
    if (timeZone !== undefined)
      throw optionInvalid(`job '${key}'`, 'timeZone and utcOffset exclude each other: write timeZone.')
    return { utcOffset }
  }
  const zone = zoneOf(`job '${key}'`, { timeZone, utcOffset })
  return zone === undefined ? {} : { timeZone: /^[+-]/.test(zone) ? `UTC${zone}` : zone }
}
