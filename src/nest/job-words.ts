import type { JobOptions, JobPolicies } from '../fleet/job-options.js'
import { type Duration, optionInvalid } from '../fleet/option-values.js'
import type { Run } from '../fleet/run.js'
import type { Declaration, Timing } from './declarations.js'

/** A method that takes a run, or nothing. */
export type RunMethod = (run: Run<never>) => unknown

/** A decorator of such a method. */
export type RunDecorator = <Method extends RunMethod>(
  target: object,
  method: string | symbol,
  descriptor: TypedPropertyDescriptor<Method>,
) => void

/** A zone by its name, or a fixed offset: minutes east of UTC, or `'+02:00'`. */
export type ZoneOptions =
  | { readonly timeZone?: string; readonly utcOffset?: never }
  | { readonly timeZone?: never; readonly utcOffset?: number | string }

interface NestWords {
  /**
   * What the fleet knows the job by, such as `daily-invoices`: the same on every node and in every release. Default: class
   * and method, `Invoices.daily`, which changes with either.
   */
  readonly name?: string
  /** This node does not host the job. */
  readonly disabled?: boolean
  /** True: an occurrence that finds the job running is left out; in a fleet the same as `overlap: 'skip'`. */
  readonly waitForCompletion?: boolean
  /** Milliseconds (or `'30s'`) after its start at which this node begins to attend the job. Default: at once. */
  readonly initialDelay?: Duration
  /** Of timers only, milliseconds; a fleet says `grace`. */
  readonly threshold?: number
  /** Of timers only; a fleet ends with `app.close()`. */
  readonly unrefTimeout?: boolean
}

/** Policies that only a fleet has. */
export type FleetPolicies = JobPolicies & Pick<JobOptions, 'id' | 'dstGap' | 'resource'>

/** One run per occurrence in the whole fleet. In local mode, where no fleet is named, a timer of this process. */
export type FleetScope = NestWords & FleetPolicies & { readonly scope?: 'fleet' }

/** A timer on every node, as in @nestjs/schedule: it has none of the fleet's policies. */
export type NodeScope = NestWords & { readonly [Policy in keyof FleetPolicies]?: never } & { readonly scope: 'node' }

export type CronOptions = (FleetScope | NodeScope) & ZoneOptions
export type IntervalOptions = FleetScope | NodeScope
export type TimeoutOptions =
  | (Omit<NodeScope, 'scope'> & { readonly scope?: 'node' })
  /** Runs once in the whole fleet for each `key` (default: the module's `release`): the first node whose timeout is over asks for it. */
  | (FleetScope & { readonly scope: 'fleet'; readonly key?: string | undefined })

/** What any of the decorators may have been given. */
export type AnyJobOptions = NestWords &
  FleetPolicies & {
    readonly scope?: 'fleet' | 'node'
    readonly timeZone?: string
    readonly utcOffset?: number | string
    readonly key?: string | undefined
  }

/**
 * A job's part of the module's options: what configuration says wins over the decorator. Types let a `cron` pass whose variable may not
 * be set; the start refuses one that is not.
 */
export type JobOverride = JobPolicies & {
  readonly timeZone?: string
  /** False: this node does not host the job. */
  readonly enabled?: boolean
} & (
    | { readonly cron?: string | undefined; readonly every?: never; readonly at?: never }
    | { readonly cron?: never; readonly every: Duration; readonly at?: never }
    | { readonly cron?: never; readonly every?: never; readonly at: string | Date }
  )

/** A schedule in the fleet's own words. */
function scheduleOf(timing: Timing): Pick<JobOptions, 'cron' | 'every' | 'at'> {
  if (timing.kind === 'timeout') return {}
  if (timing.kind === 'interval') return { every: timing.ms }
  const { cronTime } = timing
  if (typeof cronTime === 'string') return { cron: cronTime }
  return { at: cronTime instanceof Date ? cronTime : cronTime.toJSDate() }
}

/**
 * The decorator's options in the words of a fleet's job.
 * @throws FleetcronError `OPTION_INVALID` for words that only a timer has, and for two that contradict each other
 */
export function toFleetJob(name: string, declaration: Declaration, override: JobOverride | undefined): JobOptions {
  const what = `job '${name}'`
  const { name: _, scope, utcOffset, waitForCompletion, threshold, unrefTimeout, key, ...rest } = declaration.options
  if (threshold !== undefined) {
    throw optionInvalid(
      what,
      'there is no `threshold` in a fleet: write `grace`, after which an occurrence is missed, not late.',
    )
  }
  if (unrefTimeout !== undefined) {
    throw optionInvalid(what, 'there is no `unrefTimeout` in a fleet: leave it out; the fleet ends with app.close().')
  }
  const zone = zoneOf(what, { timeZone: rest.timeZone, utcOffset })
  const job: JobOptions = {
    ...scheduleOf(declaration.timing),
    ...rest,
    ...(zone === undefined ? {} : { timeZone: zone }),
    ...overlapOf(what, waitForCompletion, rest.overlap),
  }
  return override === undefined ? job : { ...job, ...fromOverride(override) }
}

/** What a timer does: it waits for nothing, leaves out what it missed, and is not fenced. */
const TIMER_TERMS: JobOptions = { concurrency: 100, catchUp: 'skip', fence: false, attend: 'fleet' }

/** A timer as a job of a fleet that is one process: with its words, and without the fleet's policies. */
export function timerToFleetJob(name: string, declaration: Declaration, override: JobOverride | undefined): JobOptions {
  const { timeZone, utcOffset, disabled, initialDelay, waitForCompletion, overlap } = declaration.options
  const { timing } = declaration
  const waits = waitForCompletion ?? overlap === 'skip'
  const words = { timeZone, utcOffset, disabled, initialDelay, ...(waits ? { waitForCompletion: true } : {}) }
  const options = Object.fromEntries(Object.entries(words).filter(([, value]) => value !== undefined))
  const longEnough = timing.kind === 'interval' ? { ...timing, ms: Math.max(LEAST_PERIOD_MS, timing.ms) } : timing
  const { cron, every, at, timeZone: zone, enabled } = override ?? {}
  const timed = Object.entries({ cron, every, at, timeZone: zone, enabled }).filter(([, value]) => value !== undefined)
  const job = toFleetJob(
    name,
    { ...declaration, timing: longEnough, options },
    override && (Object.fromEntries(timed) as JobOverride),
  )
  return { ...job, ...TIMER_TERMS, ...(waits ? { concurrency: 1 } : {}) }
}

/** The shortest period of a fleet's job. */
const LEAST_PERIOD_MS = 1_000

/** An override in the words of a fleet's job: a new schedule replaces the old one, whatever its kind. */
function fromOverride(override: JobOverride): JobOptions {
  const { enabled, ...terms } = override
  const { cron, every, at } = override
  const schedule = [cron, every, at].some((value) => value !== undefined) ? { cron, every, at } : {}
  return { ...terms, ...schedule, ...(enabled === undefined ? {} : { disabled: !enabled }) } as JobOptions
}

function overlapOf(
  what: string,
  wait: boolean | undefined,
  overlap: JobOptions['overlap'],
): Pick<JobOptions, 'overlap'> {
  if (wait !== true) return {}
  if (overlap === undefined || overlap === 'skip') return { overlap: 'skip' }
  throw optionInvalid(
    what,
    `waitForCompletion: true is overlap: 'skip', and overlap says '${overlap}': leave waitForCompletion out.`,
  )
}

/**
 * The name of the zone that a decorator means: `utcOffset` in minutes becomes an offset such as `+02:00`.
 * @throws FleetcronError `OPTION_INVALID`
 */
export function zoneOf(
  what: string,
  { timeZone, utcOffset }: { timeZone?: string | undefined; utcOffset?: number | string | undefined },
): string | undefined {
  if (utcOffset === undefined || utcOffset === null) return timeZone
  if (timeZone !== undefined) throw optionInvalid(what, 'timeZone and utcOffset exclude each other: write timeZone.')
  if (typeof utcOffset === 'string' && /^[+-]\d\d:\d\d$/.test(utcOffset)) return utcOffset
  if (typeof utcOffset !== 'number' || !Number.isInteger(utcOffset) || Math.abs(utcOffset) >= 24 * 60) {
    throw optionInvalid(what, `utcOffset: '${utcOffset}' is neither minutes east of UTC nor a text such as '+02:00'.`)
  }
  const minutes = Math.abs(utcOffset)
  const two = (value: number) => String(value).padStart(2, '0')
  return `${utcOffset < 0 ? '-' : '+'}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`
}
