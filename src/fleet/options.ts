import type { Effects } from '../effect/port.js'
import { FleetcronError } from '../errors.js'
import { intlZones } from '../schedule/index.js'
import type { Store } from '../store/port.js'
import type { Clock } from './clock.js'
import { checkDefaults, type JobPolicies } from './job-options.js'
import type { Logger } from './log.js'
import {
  type Duration,
  durationMs,
  flag,
  naming,
  optionInvalid,
  refuseUnknown,
  textOf,
  wholeNumber,
} from './option-values.js'
import type { Surroundings } from './system-clock.js'

export interface FleetOptions {
  /** Name of the fleet: all nodes that share one ledger under it belong together. */
  readonly fleet: string
  /** A URL (`sqlite:./ledger.db`, `memory:`) or a store. Left out, the variable FLEETCRON_STORE names it. */
  readonly store?: string | Store | undefined
  /**
   * Whether a start makes or upgrades the tables of a store that is named by a URL. False: it only verifies them, and says which
   * command is missing (`fleetcron migrate`). Default true.
   */
  readonly autoMigrate?: boolean
  /** The business database, for `run.once`: what an adapter such as `sqlite(database)` gives. */
  // biome-ignore lint/suspicious/noExplicitAny: any adapter's transaction type is welcome here; `Register` types the runs.
  readonly effects?: Effects<any>
  /** The application that the jobs belong to; no colon. Default: the name in package.json. */
  readonly service?: string
  /** For people. Default `host#pid`. */
  readonly nodeLabel?: string
  /** A node that is silent for so long has lost its runs. Default `'10s'`, from 1 s to 10 min. */
  readonly lease?: Duration
  /** Runs this node takes at a time. Default 100. */
  readonly maxRuns?: number
  /**
   * How long runs that ended and events are kept; `false`: for good. What somebody asked for stays 7 days at least. Pruning
   * never makes an occurrence runnable again. Default `'90d'`, from 1 day to 10 years.
   */
  readonly retention?: Duration | false
  /** False: this node defines, asks and looks, but runs nothing. Default true. */
  readonly attends?: boolean
  /** Policies for every job that does not name its own. */
  readonly defaults?: JobPolicies
  /** Zone for every job that does not name its own. Default: the stored one, else the process's. */
  readonly timeZone?: string
  /** A label of what is deployed; for people. */
  readonly release?: string
  /** Where lines go; false: nowhere. Default: stderr. */
  readonly logger?: Logger | false
  /** Default: the process's. */
  readonly clock?: Clock
}

export interface ResolvedFleet {
  readonly fleet: string
  readonly store: string | Store
  readonly autoMigrate: boolean
  readonly effects: Effects | null
  readonly service: string
  readonly serviceDefaulted: boolean
  readonly label: string
  readonly leaseMs: number
  readonly maxRuns: number
  readonly retentionMs: number | null
  readonly attends: boolean
  readonly defaults: JobPolicies
  readonly timeZone: string | undefined
  readonly release: string | null
  readonly logger: Logger | null
}

/** A fleet's defaults, once. */
export const FLEET_DEFAULTS = {
  leaseMs: 10_000,
  maxRuns: 100,
  retentionMs: 90 * 86_400_000,
  attends: true,
  autoMigrate: true,
} as const

export const FLEET_KEYS = [
  'fleet',
  'store',
  'autoMigrate',
  'effects',
  'service',
  'nodeLabel',
  'lease',
  'maxRuns',
  'retention',
  'attends',
  'defaults',
  'timeZone',
  'release',
  'logger',
  'clock',
]

export const FOREIGN_FLEET_KEYS: Readonly<Record<string, string>> = {
  name: 'fleet',
  namespace: 'fleet',
  cluster: 'fleet',
  prefix: 'fleet',
  connection: 'store',
  database: 'store (the ledger) or effects (the business database)',
  redis: 'store',
  url: 'store',
  timezone: 'timeZone',
  tz: 'timeZone',
  concurrency: 'maxRuns (of this node) or a job’s concurrency',
  maxConcurrency: 'maxRuns',
  lockDuration: 'lease',
  ttl: 'lease',
  history: 'retention',
  maxAge: 'retention',
  archive: 'retention',
  deleteAfter: 'retention',
  leaseMs: 'lease',
  app: 'service',
  migrate: 'autoMigrate',
  synchronize: 'autoMigrate',
  migrationsRun: 'autoMigrate',
  label: 'nodeLabel',
  nodeId: 'nodeLabel',
  version: 'release',
  log: 'logger',
}

/**
 * The one way from a fleet's options to what it is.
 * @throws `OPTION_INVALID`, `STORE_MISSING`, `ZONE_UNKNOWN`
 */
export function resolveFleet(input: FleetOptions, around: Surroundings, stderr: Logger): ResolvedFleet {
  refuseUnknown('fleet options', input, FLEET_KEYS, FOREIGN_FLEET_KEYS)
  const fleet = textOf('fleet', input.fleet, 100)
  const what = (option: string) => `fleet '${fleet}': ${option}`
  const store = storeOf(fleet, input, around.storeVariable)
  const { lease, maxRuns, attends, nodeLabel, release, timeZone, logger } = input
  checkClock(what('clock'), input.clock)
  if (timeZone !== undefined) naming(what('timeZone'), () => intlZones(timeZone))
  return {
    fleet,
    store,
    autoMigrate: autoMigrateOf(what('autoMigrate'), input.autoMigrate, store),
    effects: effectsOf(what('effects'), input.effects),
    service: serviceOf(what('service'), input.service, around.packageName),
    serviceDefaulted: input.service === undefined,
    label: nodeLabel === undefined ? around.label : textOf(what('nodeLabel'), nodeLabel, 200),
    leaseMs: lease === undefined ? FLEET_DEFAULTS.leaseMs : durationMs(what('lease'), lease, 1_000, 600_000),
    maxRuns: maxRuns === undefined ? FLEET_DEFAULTS.maxRuns : wholeNumber(what('maxRuns'), maxRuns, 1, 10_000),
    retentionMs: retentionOf(what('retention'), input.retention),
    attends: attends === undefined ? FLEET_DEFAULTS.attends : flag(what('attends'), attends),
    defaults: checkDefaults(input.defaults ?? {}),
    timeZone,
    release: release === undefined ? null : textOf(what('release'), release, 200),
    logger: loggerOf(what('logger'), logger, stderr),
  }
}

function loggerOf(what: string, logger: FleetOptions['logger'], stderr: Logger): Logger | null {
  if (logger === false) return null
  if (logger === undefined || logger === null) return stderr
  if (hasFunctions(logger, ['info', 'warn', 'error'])) return logger
  throw optionInvalid(
    what,
    'pass an object with the functions info, warn and error, such as console, or false for no lines.',
  )
}

function checkClock(what: string, clock: unknown): void {
  if (clock === undefined || hasFunctions(clock, ['wall', 'monotonic', 'after', 'random', 'id'])) return
  throw optionInvalid(
    what,
    'pass an object with the functions wall, monotonic, after, random and id, such as a ManualClock of fleetcron/testing, or leave it out.',
  )
}

function hasFunctions(value: unknown, names: readonly string[]): boolean {
  return names.every((name) => typeof (value as Readonly<Record<string, unknown>> | null)?.[name] === 'function')
}

const DAY_MS = 86_400_000

function retentionOf(what: string, retention: FleetOptions['retention']): number | null {
  if (retention === undefined) return FLEET_DEFAULTS.retentionMs
  return retention === false ? null : durationMs(what, retention, DAY_MS, 3_660 * DAY_MS)
}

/** The variable is read only when the option is not there at all: one that is there and undefined was meant to be set. */
function storeOf(fleet: string, input: FleetOptions, variable: string | undefined): string | Store {
  const { store } = input
  if (typeof store === 'object' && store !== null) return store
  if (typeof store === 'string' && store !== '') return store
  if (store !== undefined && store !== '') {
    throw optionInvalid(`fleet '${fleet}': store`, "write a URL such as 'sqlite:./ledger.db', or a store.")
  }
  if (!('store' in input) && variable !== undefined && variable !== '') return variable
  const asked =
    'store' in input
      ? `\`store\` is ${store === '' ? 'empty' : 'undefined'}. Is the variable set that it is read from?`
      : 'pass `store`, or set FLEETCRON_STORE.'
  throw new FleetcronError('STORE_MISSING', `fleet '${fleet}' has no store: ${asked}`)
}

function autoMigrateOf(what: string, value: unknown, store: string | Store): boolean {
  if (value === undefined) return FLEET_DEFAULTS.autoMigrate
  if (typeof store === 'string') return flag(what, value)
  throw optionInvalid(
    what,
    'the store is an object of your own: give autoMigrate to what makes it, and leave it out here.',
  )
}

function effectsOf(what: string, effects: FleetOptions['effects']): Effects | null {
  if (effects === undefined || effects === null) return null
  if (typeof effects.raise === 'function' && typeof effects.bind === 'function') return effects
  throw optionInvalid(what, 'pass what an adapter gives, such as sqlite(database) of fleetcron/effect/sqlite.')
}

function serviceOf(what: string, service: string | undefined, packageName: string | null): string {
  if (service === undefined) return packageName?.replaceAll(':', '-') ?? 'app'
  const text = textOf(what, service, 100)
  if (!text.includes(':')) return text
  throw optionInvalid(what, `'${text}' has a colon, which parts a service from its jobs: leave it out.`)
}
