import { parseDuration } from '../duration.js'
import { FleetcronError } from '../errors.js'
import type { EffectClock, EffectOptions } from './port.js'
import { checkText, LIMITS } from './values.js'

const DEFAULTS = { prefix: '', retryFor: '10s' } as const

export interface EffectSettings {
  readonly prefix: string
  readonly retryForMs: number
  readonly clock: EffectClock
}

const KNOWN = ['prefix', 'retryFor', 'clock'] as const satisfies readonly (keyof EffectOptions)[]

/** @throws FleetcronError `OPTION_INVALID`, `EFFECT_INVALID` for a prefix that no key could have */
export function resolveEffectOptions(options: EffectOptions = {}): EffectSettings {
  for (const name of Object.keys(options)) {
    if ((KNOWN as readonly string[]).includes(name)) continue
    throw new FleetcronError('OPTION_INVALID', `effects: unknown option '${name}'. Known are ${KNOWN.join(', ')}.`)
  }
  const prefix = options.prefix ?? DEFAULTS.prefix
  checkText(prefix, 'effects: option prefix', 0, LIMITS.prefixCharacters)
  return {
    prefix,
    retryForMs: parseDuration(options.retryFor ?? DEFAULTS.retryFor, 'effects: retryFor'),
    clock: options.clock ?? PROCESS_CLOCK,
  }
}

/** The timer keeps the process alive: somebody awaits the effect. */
const PROCESS_CLOCK: EffectClock = {
  monotonic: () => performance.now(),
  after(delayMs, fn) {
    const timer = setTimeout(fn, delayMs)
    return { cancel: () => clearTimeout(timer) }
  },
  random: () => Math.random(),
}
