import type { ModuleMetadata, Type } from '@nestjs/common'
import type { Effects } from '../effect/port.js'
import type { Clock } from '../fleet/clock.js'
import type { Fleet } from '../fleet/fleet.js'
import { FOREIGN_KEYS } from '../fleet/foreign-words.js'
import { type JobPolicies, POLICY_KEYS } from '../fleet/job-options.js'
import { type Duration, durationMs, oneOf, optionInvalid, refuseUnknown } from '../fleet/option-values.js'
import { FLEET_KEYS, type FleetOptions, FOREIGN_FLEET_KEYS } from '../fleet/options.js'
import type { JobOverride } from './job-words.js'
import type { Poker } from './pokers.js'
import { type WebDoor, webDoorsOf } from './web-doors.js'

/** What the module understands with and without a fleet. */
interface DoorOptions {
  /** Whether `@Cron` counts at all. Default true. */
  readonly cronJobs?: boolean
  /** Whether `@Interval` counts at all. Default true. */
  readonly intervals?: boolean
  /** Whether `@Timeout` counts at all. Default true. */
  readonly timeouts?: boolean
  /** Schedules and policies from configuration, by the job's name; they win over the decorator. */
  readonly jobs?: Readonly<Record<string, JobOverride>>
}

/** No fleet is named: plain @nestjs/schedule, on every node. */
export interface LocalModuleOptions extends DoorOptions {
  readonly fleet?: never
  readonly store?: never
  /** The business database, for `run.once`. */
  // biome-ignore lint/suspicious/noExplicitAny: any adapter's transaction type is welcome here; `Register` types the runs.
  readonly effects?: Effects<any>
}

/** Policies for every job that does not name its own, and where jobs run that do not say. */
export type ModuleDefaults = JobPolicies & {
  /** `'node'`: a job belongs to the fleet only where it says `scope: 'fleet'`. Default `'fleet'`. */
  readonly scope?: 'fleet' | 'node'
}

export type FleetNamedOptions = DoorOptions &
  Omit<FleetOptions, 'defaults'> & {
    readonly defaults?: ModuleDefaults
    /**
     * What happens when the store cannot be reached at start. `'wait'` (default): the application starts, the fleet goes on
     * trying, and health says so; `'fail'`: the application does not start.
     */
    readonly startup?: 'wait' | 'fail'
    /**
     * `'sigterm'`: on SIGTERM, SIGINT or PM2's message `shutdown` the fleet drains and then the process ends, for an application
     * without `enableShutdownHooks()`. Default `'hooks'`: Nest's shutdown hooks drain it.
     */
    readonly shutdown?: 'hooks' | 'sigterm'
    /** At the end handlers may go on for so long; then their signals fire, and their runs go to other nodes. Default `'20s'`. */
    readonly drain?: Duration
    /** What is mounted on the application's web server: `httpDoor({ secrets })` of fleetcron/http. Default: nothing. */
    readonly http?: WebDoor | readonly WebDoor[] | undefined
    /**
     * What pokes jobs with `attend: 'poke'`: `(fleet) => bullmqDoor(fleet, { connection })` of fleetcron/bullmq. It is opened when the
     * application is up, and closed when the fleet has drained. Default: nothing.
     */
    readonly pokedBy?: (fleet: Fleet) => Poker | readonly Poker[]
  }

/** Options of the module. The fleet's lines go through Nest's logger unless `logger` says otherwise. */
export type FleetModuleOptions = LocalModuleOptions | FleetNamedOptions

/** A class that makes the options; @nestjs/schedule's method is understood too. */
export interface FleetOptionsFactory {
  createFleetOptions?(): FleetModuleOptions | Promise<FleetModuleOptions>
  createScheduleOptions?(): FleetModuleOptions | Promise<FleetModuleOptions>
}

type Injected = NonNullable<Extract<NonNullable<ModuleMetadata['providers']>[number], { inject?: unknown }>['inject']>

/** Exactly one of `useFactory`, `useClass` and `useExisting`. */
export interface FleetModuleAsyncOptions extends Pick<ModuleMetadata, 'imports'> {
  /** Tokens whose values `useFactory` is given, in order. */
  readonly inject?: Injected
  // biome-ignore lint/suspicious/noExplicitAny: what is injected has the types that the user writes.
  readonly useFactory?: (...injected: any[]) => FleetModuleOptions | Promise<FleetModuleOptions>
  readonly useClass?: Type<FleetOptionsFactory>
  readonly useExisting?: Type<FleetOptionsFactory>
}

/** The module's options with every default filled in. */
export interface ResolvedModule {
  /** Whether no fleet is named: every process runs every job. */
  readonly isLocal: boolean
  /** Whether the fleet is this process alone, and keeps what runs on every node too. */
  readonly isSolo: boolean
  /** Null: local mode, with timers. */
  readonly fleet: FleetOptions | null
  readonly effects: Effects | null
  readonly kinds: { readonly cron: boolean; readonly interval: boolean; readonly timeout: boolean }
  readonly jobs: Readonly<Record<string, JobOverride>>
  readonly scope: 'fleet' | 'node'
  readonly startup: 'wait' | 'fail'
  readonly shutdown: 'hooks' | 'sigterm'
  readonly drainMs: number
  readonly doors: readonly WebDoor[]
  readonly pokedBy: ((fleet: Fleet) => Poker | readonly Poker[]) | null
}

/** The module's own defaults, once. */
export const MODULE_DEFAULTS = {
  cronJobs: true,
  intervals: true,
  timeouts: true,
  scope: 'fleet',
  startup: 'wait',
  shutdown: 'hooks',
  // Kubernetes kills a process 30 s after its SIGTERM; what is handed back before that is taken over at once.
  drainMs: 20_000,
} as const

const MODULE_KEYS = ['cronJobs', 'intervals', 'timeouts', 'jobs', 'startup', 'shutdown', 'drain', 'http', 'pokedBy']
const LOCAL_KEYS = ['cronJobs', 'intervals', 'timeouts', 'jobs', 'effects']

/**
 * The one way from the module's options to what it does. A fleet is meant as soon as `fleet` or `store` stands in the options,
 * also as undefined: a variable that is missing must not turn it off.
 *
 * @param solo the clock of a fleet that is this process alone; null: none such
 * @throws FleetcronError `OPTION_INVALID`
 */
export function resolveModule(input: FleetModuleOptions, solo: Clock | null = null): ResolvedModule {
  const { cronJobs, intervals, timeouts, jobs, startup, shutdown, drain, http, pokedBy, ...rest } =
    input as FleetNamedOptions
  const door = {
    kinds: {
      cron: cronJobs ?? MODULE_DEFAULTS.cronJobs,
      interval: intervals ?? MODULE_DEFAULTS.intervals,
      timeout: timeouts ?? MODULE_DEFAULTS.timeouts,
    },
    jobs: jobs ?? {},
    effects: rest.effects ?? null,
    isSolo: solo !== null,
    startup: oneOf('startup', startup ?? MODULE_DEFAULTS.startup, ['wait', 'fail']),
    shutdown: oneOf('shutdown', shutdown ?? MODULE_DEFAULTS.shutdown, ['hooks', 'sigterm']),
    drainMs: drain === undefined ? MODULE_DEFAULTS.drainMs : durationMs('drain', drain, 0),
    doors: webDoorsOf(http),
    pokedBy: pokedByOf(pokedBy),
  }
  if (!('fleet' in input) && !('store' in input)) {
    refuseUnknown('FleetModule without `fleet` and `store`', input, LOCAL_KEYS, fleetWords(input))
    const alone = solo === null ? null : { ...rest, fleet: 'local', store: 'memory:', clock: solo }
    return { ...door, isLocal: true, fleet: alone, scope: 'node' }
  }
  if (rest.fleet === undefined) {
    throw optionInvalid(
      'fleet',
      "a store needs a fleet: name it, such as fleet: 'billing'; without both it is plain @nestjs/schedule.",
    )
  }
  refuseUnknown('the options of FleetModule', input, [...FLEET_KEYS, ...MODULE_KEYS], FOREIGN_FLEET_KEYS)
  refuseUnknown('defaults', rest.defaults ?? {}, ['scope', ...POLICY_KEYS], FOREIGN_KEYS)
  const { scope, ...defaults } = rest.defaults ?? {}
  return {
    ...door,
    isLocal: false,
    fleet: { ...rest, defaults, ...(solo === null ? {} : { clock: solo }) },
    scope: oneOf('defaults: scope', scope ?? MODULE_DEFAULTS.scope, ['fleet', 'node']),
  }
}

function pokedByOf(given: FleetNamedOptions['pokedBy']): ResolvedModule['pokedBy'] {
  if (given === undefined || typeof given === 'function') return given ?? null
  throw optionInvalid('pokedBy', 'write a function of the fleet: (fleet) => bullmqDoor(fleet, { connection }).')
}

/** An option that only a fleet has says that one was meant. */
function fleetWords(input: object): Record<string, string> {
  const words = [...FLEET_KEYS, ...MODULE_KEYS].filter((key) => !LOCAL_KEYS.includes(key) && key in input)
  return Object.fromEntries(words.map((key) => [key, 'a fleet, which needs `fleet` and `store`']))
}
