import type { EffectClock } from '../../src/effect/port.js'

/** Shorter than the provider's slow answer. */
export const TIMEOUT_MS = 700

/** Pauses end at once, time-outs are real: a provider is a process with a clock of its own. */
export const BRIEF_PAUSES: EffectClock = {
  monotonic: () => performance.now(),
  random: Math.random,
  after(delayMs, fn) {
    if (delayMs !== TIMEOUT_MS) {
      const turn = setImmediate(fn)
      return { cancel: () => clearImmediate(turn) }
    }
    const late = AbortSignal.timeout(delayMs)
    late.addEventListener('abort', fn)
    return { cancel: () => late.removeEventListener('abort', fn) }
  },
}
