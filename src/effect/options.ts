import { parseDuration } from '../duration.js'
import { FleetcronError } from '../errors.js'
import { longTimer } from '../timer.js'
import type { AmbientOption, TransactionOptions } from './connections.js'
import type { EffectClock, EffectOptions } from './port.js'
import { checkText, LIMITS } from './values.js'

const DEFAULTS = { prefix: '', retryFor: '10s' } as const

export interface EffectSettings {
  readonly prefix: string
  /** Null: for good. */
  readonly keptMs: number | null
  readonly retryForMs: number
  readonly clock: EffectClock
}

const KNOWN = ['prefix', 'retention', 'retryFor', 'clock'] as const satisfies readonly (keyof EffectOptions)[]

const OF_TRANSACTIONS = [
  'isolationLevel',
  'idleTimeout',
  'connectTimeout',
  'ambient',
] as const satisfies readonly (keyof (TransactionOptions & AmbientOption<unknown>))[]

const LEVELS = ['read committed', 'repeatable read', 'serializable']

/** @throws FleetcronError `OPTION_INVALID`, `EFFECT_INVALID` for a prefix that no key could have */
export function resolveEffectOptions(options: EffectOptions = {}): EffectSettings {
  checkNames(options, KNOWN)
  const prefix = options.prefix ?? DEFAULTS.prefix
  checkText(prefix, 'effects: option prefix', 0, LIMITS.prefixCharacters)
  return {
    prefix,
    keptMs: keptMsOf(options.retention),
    retryForMs: parseDuration(options.retryFor ?? DEFAULTS.retryFor, 'effects: retryFor'),
    clock: options.clock ?? PROCESS_CLOCK,
  }
}

/** A job's default reach back into the past is a week at most; no key may be gone by then. */
const SHORTEST_RETENTION_MS = 7 * 86_400_000

function keptMsOf(retention: EffectOptions['retention']): number | null {
  if (retention === undefined || retention === false) return null
  const keptMs = parseDuration(retention, 'effects: retention')
  if (keptMs >= SHORTEST_RETENTION_MS) return keptMs
  throw new FleetcronError(
    'OPTION_INVALID',
    `effects: retention '${retention}' is less than 7d: a run of last week would make its effects again.`,
  )
}

/**
 * Parts the options of transactions from those of effects.
 *
 * @throws FleetcronError `OPTION_INVALID`
 */
export function takeTransactionOptions<Tx>(
  options: EffectOptions & TransactionOptions & AmbientOption<Tx>,
): readonly [TransactionOptions & AmbientOption<Tx>, EffectOptions] {
  checkNames(options, [...KNOWN, ...OF_TRANSACTIONS])
  const level = options.isolationLevel
  if (level !== undefined && !LEVELS.includes(level)) {
    throw new FleetcronError('OPTION_INVALID', `effects: isolationLevel '${level}' is none of ${LEVELS.join(', ')}.`)
  }
  const { isolationLevel, idleTimeout, connectTimeout, ambient, ...rest } = options
  if (ambient !== undefined && typeof ambient !== 'function') {
    throw new FleetcronError('OPTION_INVALID', `effects: ambient is ${typeof ambient}, not a function.`)
  }
  return [defined({ isolationLevel, idleTimeout, connectTimeout, ambient }), rest]
}

function defined<T extends object>(options: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as never
}

/**
 * A name that nobody knows must not turn into a default in silence.
 * @throws FleetcronError `OPTION_INVALID`
 */
export function checkNames(options: object, known: readonly string[], what = 'effects'): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new FleetcronError('OPTION_INVALID', `${what}: options are an object with ${known.join(', ')}.`)
  }
  for (const name of Object.keys(options)) {
    if (known.includes(name)) continue
    throw new FleetcronError('OPTION_INVALID', `${what}: unknown option '${name}'. Known are ${known.join(', ')}.`)
  }
}

/** The timer keeps the process alive: somebody awaits the effect. */
const PROCESS_CLOCK: EffectClock = {
  monotonic: () => performance.now(),
  after: (delayMs, fn) => longTimer(delayMs, fn, { unref: false }),
  random: () => Math.random(),
}
