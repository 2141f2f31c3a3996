import type { CatchUp, Definition, Overlap, Retry } from '../ledger/types.js'
import { graceOf, unpoked } from './attend-option.js'
import { FOREIGN_CATCH_UPS, FOREIGN_KEYS, FOREIGN_OVERLAPS } from './foreign-words.js'
import { checkKeysKept } from './key-retention.js'
import {
  type Duration,
  durationMs,
  flag,
  naming,
  oneOf,
  optionInvalid,
  refuseUnknown,
  textOf,
  wholeNumber,
} from './option-values.js'
import { resourceOf } from './resource-option.js'
import { checkSchedule, scheduleOf } from './schedule-option.js'

/** What happens to occurrences that passed while nobody attended, and to those that wait behind them. */
export interface CatchUpInput {
  /** `merge`: one run for all of them; `each`: one run for each; `skip`: they are missed. */
  readonly policy: 'merge' | 'each' | 'skip'
  /** Older ones are missed. Default: one period of the schedule, at least 1 h, at most 7 d; `each` must say it. */
  readonly within?: Duration
  /** At most this many catch-up runs wait. Default 100. */
  readonly most?: number
}

export interface RetryInput {
  /** Further attempts after a thrown error. */
  readonly limit: number
  /** Before the first one. Default `'1s'`. */
  readonly delay?: Duration
  /** Each further delay is so many times longer. Default 2. */
  readonly factor?: number
  /** No delay is longer. Default `'1h'`. */
  readonly maxDelay?: Duration
}

/** Policies that a fleet may also set for all its jobs (`defaults`). */
export interface JobPolicies {
  /** Runs of the job at a time, in the whole fleet. Default 1. */
  readonly concurrency?: number
  /** Runs that may wait for a place. Default 100. */
  readonly queue?: number
  /** A fresh occurrence that finds every place held: `skip` (default), `wait`, `merge` into one waiting run, `replace` the running one. */
  readonly overlap?: Overlap
  /** Default `'merge'`. */
  readonly catchUp?: 'merge' | 'skip' | CatchUpInput
  /** Further attempts after a thrown error. Default 0. */
  readonly retry?: number | RetryInput
  /** Further attempts after a lost node; 0: once the handler was called, no other attempt follows. Default 3. */
  readonly recover?: number
  /** Then the signal fires, and 5 s later the run has failed. Default: none. */
  readonly timeout?: Duration | null
  /** The job pauses after so many failures in a row. Default: never. */
  readonly pauseAfter?: number | null
  /** An occurrence attended this much after its instant is late, not missed. At least 1 s. Default `'60s'`. */
  readonly grace?: Duration
  /** Whether an attempt shuts out older ones in the business database before its handler is called. Default true. */
  readonly fence?: boolean
  /**
   * Who says that it is time: the fleet's own clock (`fleet`, default), or a door (`poke`): `fleet.poke(job)`, BullMQ, a
   * platform's scheduler. Occurrences are decided, recorded and caught up with all the same.
   */
  readonly attend?: 'fleet' | 'poke'
  /**
   * With `attend: 'poke'`: so long after the instant, and at most half way to the next occurrence, the fleet starts by itself
   * what nobody has poked. Default `'60s'`.
   */
  readonly pokeGrace?: Duration
  /**
   * While this node cannot reach the store: `wait` (default), or `run` what comes due, unowned (`run.owned` is false), on every
   * such node; then only the keys of its effects keep a thing from being done twice.
   */
  readonly onOutage?: 'wait' | 'run'
}

/** A job: at most one of `cron`, `every` and `at`; without any it runs on request only. */
export interface JobOptions extends JobPolicies {
  /** Outlives a rename; the ledger knows the job as `service:id`. Default: the name. */
  readonly id?: string
  /** Five fields (minutes first), six (seconds first) or an alias such as `@daily`. */
  readonly cron?: string
  /** A period, counted from the job's first definition: `'15m'` or milliseconds, at least 1 s. */
  readonly every?: Duration
  /** One moment: a `Date`, a text with an offset, or a local label in `timeZone`. */
  readonly at?: string | Date
  /**
   * Where `cron` and `at` are read; labels of `every` are UTC's. IANA name, `UTC` or an offset. Default: the fleet's, else the zone
   * stored at first definition, else the process's.
   */
  readonly timeZone?: string
  /** A local time that a day leaves out: the first instant after it (`next`, default), or not at all. */
  readonly dstGap?: 'next' | 'skip'
  /** What the job's fence is raised on, for a job with one place. Default: the job, `fleet/service:id`. */
  readonly resource?: string
  /** This node does not host the job; others may. */
  readonly disabled?: boolean
  /** So long after its start this node leaves the job to others. Default 0. */
  readonly initialDelay?: Duration
}

/** Every policy's default, once. */
export const DEFAULTS = {
  concurrency: 1,
  queue: 100,
  overlap: 'skip',
  catchUp: { policy: 'merge', withinMs: null, most: 100 },
  retry: { limit: 0, delayMs: 1_000, factor: 2, maxDelayMs: 3_600_000 },
  recover: 3,
  timeoutMs: null,
  pauseAfter: null,
  graceMs: 60_000,
  fence: true,
} as const satisfies Omit<Definition, 'schedule'>

/** A definition holds it for jobs with `attend: 'poke'` alone, so that all others keep their hashes. */
export const POKE_DEFAULTS = { attend: 'fleet', pokeGraceMs: 60_000 } as const

/** What no definition holds, since each node acts on it by itself. */
export const OUTAGE_DEFAULT = 'wait'

/** Names of the policies. */
export const POLICY_KEYS = [
  'concurrency',
  'queue',
  'overlap',
  'catchUp',
  'retry',
  'recover',
  'timeout',
  'pauseAfter',
  'grace',
  'fence',
  'attend',
  'pokeGrace',
  'onOutage',
]
const OWN_KEYS = ['id', 'cron', 'every', 'at', 'timeZone', 'dstGap', 'resource']
export const JOB_KEYS = [...OWN_KEYS, ...POLICY_KEYS, 'disabled', 'initialDelay']

/** A job's options with every default filled in. */
export interface ResolvedJob {
  readonly id: string
  readonly definition: Definition
  readonly zoneDefaulted: boolean
  readonly disabled: boolean
  readonly initialDelayMs: number
  readonly onOutage: 'wait' | 'run'
  /** Names of what nobody said. */
  readonly defaulted: ReadonlySet<string>
}

export interface JobSurroundings {
  readonly defaults: JobPolicies
  /** The fleet's zone, if it names one. */
  readonly timeZone: string | undefined
  /** The process's. */
  readonly processTimeZone: string
  /** How long the keys of effects are kept; null, or left out: for good. */
  readonly keysKeptMs?: number | null
}

/**
 * The one way from a job's options to its terms.
 * @throws `OPTION_INVALID`, `SCHEDULE_INVALID`, `ZONE_UNKNOWN`
 */
export function resolveJob(name: string, input: JobOptions, around: JobSurroundings): ResolvedJob {
  const what = `job '${name}'`
  refuseUnknown(what, input, JOB_KEYS, FOREIGN_KEYS)
  const given = definedOnly(input) as JobOptions
  checkSchedule(what, input, given)
  const zone = given.timeZone ?? around.timeZone
  const policies = resolvePolicies(what, { ...around.defaults, ...given })
  if (given.pokeGrace !== undefined && policies.pokeGraceMs === undefined) throw unpoked(what)
  const definition = {
    schedule: naming(what, () => scheduleOf(given, zone ?? around.processTimeZone)),
    ...policies,
    ...resourceOf(what, given.resource, policies),
  }
  checkKeysKept(what, definition, around.keysKeptMs ?? null)
  return {
    id: textOf(`${what}: id`, given.id ?? name, 200),
    definition,
    zoneDefaulted: zone === undefined,
    disabled: given.disabled === undefined ? false : flag(`${what}: disabled`, given.disabled),
    initialDelayMs:
      given.initialDelay === undefined ? 0 : durationMs(`${what}: initialDelay`, given.initialDelay, 0, 86_400_000),
    onOutage: outageOf(what, { ...around.defaults, ...given }),
    defaulted: defaultedOf({ ...around.defaults, ...given }),
  }
}

/** The policies that nobody named. Jobs of a kind share one set: there may be ten thousand of them. */
function defaultedOf(said: object): ReadonlySet<string> {
  const names = ['timeZone', ...POLICY_KEYS].filter((key) => !Object.hasOwn(said, key))
  const known = DEFAULTED.get(names.join())
  if (known !== undefined) return known
  const made = new Set(names)
  DEFAULTED.set(names.join(), made)
  return made
}

/** By their names; of a dozen options there are not many mixtures. */
const DEFAULTED = new Map<string, ReadonlySet<string>>()

/** Checks a fleet's `defaults`, and gives those that are set. */
export function checkDefaults(input: JobPolicies): JobPolicies {
  refuseUnknown('defaults', input, POLICY_KEYS, FOREIGN_KEYS)
  const given = definedOnly(input) as JobPolicies
  resolvePolicies('defaults', given)
  outageOf('defaults', given)
  return given
}

function resolvePolicies(what: string, given: JobPolicies): Omit<Definition, 'schedule'> {
  const { concurrency, queue, overlap, recover, timeout, pauseAfter, grace, fence } = given
  return {
    concurrency: concurrency === undefined ? DEFAULTS.concurrency : wholeNumber(`${what}: concurrency`, concurrency, 1),
    queue: queue === undefined ? DEFAULTS.queue : wholeNumber(`${what}: queue`, queue, 0),
    overlap: oneOf(
      `${what}: overlap`,
      overlap ?? DEFAULTS.overlap,
      ['skip', 'wait', 'merge', 'replace'],
      FOREIGN_OVERLAPS,
    ),
    catchUp: catchUpOf(what, given.catchUp ?? 'merge'),
    retry: retryOf(what, given.retry ?? DEFAULTS.retry.limit),
    recover: recover === undefined ? DEFAULTS.recover : wholeNumber(`${what}: recover`, recover, 0),
    timeoutMs: timeout === undefined || timeout === null ? null : durationMs(`${what}: timeout`, timeout, 1),
    pauseAfter:
      pauseAfter === undefined || pauseAfter === null ? null : wholeNumber(`${what}: pauseAfter`, pauseAfter, 1),
    graceMs: grace === undefined ? DEFAULTS.graceMs : graceOf(`${what}: grace`, grace),
    fence: fence === undefined ? DEFAULTS.fence : flag(`${what}: fence`, fence),
    ...pokeOf(what, given),
  }
}

function pokeOf(what: string, { attend, pokeGrace }: JobPolicies): Pick<Definition, 'pokeGraceMs'> {
  const who = oneOf(`${what}: attend`, attend ?? POKE_DEFAULTS.attend, ['fleet', 'poke'])
  const pokeGraceMs =
    pokeGrace === undefined ? POKE_DEFAULTS.pokeGraceMs : durationMs(`${what}: pokeGrace`, pokeGrace, 1_000, 86_400_000)
  return who === 'poke' ? { pokeGraceMs } : {}
}

function outageOf(what: string, given: JobPolicies): 'wait' | 'run' {
  return oneOf(`${what}: onOutage`, given.onOutage ?? OUTAGE_DEFAULT, ['wait', 'run'])
}

function catchUpOf(what: string, input: NonNullable<JobPolicies['catchUp']>): CatchUp {
  const option = `${what}: catchUp`
  const words = ['merge', 'each', 'skip'] as const
  const given: CatchUpInput = typeof input === 'string' ? { policy: input } : input
  refuseUnknown(option, given, ['policy', 'within', 'most'])
  const policy = oneOf(option, given.policy, words, FOREIGN_CATCH_UPS)
  if (policy === 'each' && given.within === undefined) {
    throw optionInvalid(option, "'each' has to say how far back it goes: { policy: 'each', within: '7d' }.")
  }
  return {
    policy,
    withinMs: given.within === undefined ? null : durationMs(`${option}.within`, given.within, 1),
    most: given.most === undefined ? DEFAULTS.catchUp.most : wholeNumber(`${option}.most`, given.most, 1, 1_000),
  }
}

function retryOf(what: string, input: number | RetryInput): Retry {
  const option = `${what}: retry`
  if (typeof input === 'number') return { ...DEFAULTS.retry, limit: wholeNumber(option, input, 0, 1_000) }
  refuseUnknown(option, input, ['limit', 'delay', 'factor', 'maxDelay'], { attempts: 'limit', backoff: 'delay' })
  const { limit, delay, factor, maxDelay } = input
  if (factor !== undefined && !(typeof factor === 'number' && factor >= 1 && factor <= 100)) {
    throw optionInvalid(`${option}.factor`, `${String(factor)} is not a number from 1 to 100.`)
  }
  return {
    limit: wholeNumber(`${option}.limit`, limit, 0, 1_000),
    delayMs: delay === undefined ? DEFAULTS.retry.delayMs : durationMs(`${option}.delay`, delay, 0),
    factor: factor ?? DEFAULTS.retry.factor,
    maxDelayMs: maxDelay === undefined ? DEFAULTS.retry.maxDelayMs : durationMs(`${option}.maxDelay`, maxDelay, 0),
  }
}

/** An option that is undefined was not given. */
function definedOnly(input: object): object {
  return Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined))
}
