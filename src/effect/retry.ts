import { FleetcronError } from '../errors.js'
import { messageOf } from './errors.js'
import type { EffectSettings } from './options.js'
import { failureOf } from './play.js'
import type { EffectAdapter } from './port.js'

/** Pauses between tries: up to 4, 8, 16 … milliseconds, never more than this. A signal is seen after the pause it falls in. */
const LONGEST_PAUSE_MS = 100

/**
 * Repeats a transaction of our own while the database is busy or refuses to serialise it. A repeat is safe also when an
 * earlier try was committed without our knowing: it finds its own key, or its own token.
 */
export async function repeating<Tx, R>(
  adapter: EffectAdapter<Tx>,
  { clock, retryForMs }: EffectSettings,
  what: string,
  act: () => R | Promise<R>,
  signal: AbortSignal | null,
): Promise<R> {
  const startedMs = clock.monotonic()
  for (let tries = 1; ; tries++) {
    signal?.throwIfAborted()
    try {
      return await act()
    } catch (error) {
      const failure = failureOf(adapter, error)
      if (failure === 'other') throw error
      if (failure === 'unavailable') throw unreachable(what, error)
      const pauseMs = 1 + clock.random() * Math.min(LONGEST_PAUSE_MS, 2 ** (tries + 1))
      const spentMs = clock.monotonic() - startedMs
      if (spentMs + pauseMs > retryForMs) throw exhausted(what, tries, spentMs, error)
      await new Promise<void>((resolve) => clock.after(pauseMs, resolve))
    }
  }
}

function exhausted(what: string, tries: number, spentMs: number, cause: unknown): FleetcronError {
  return new FleetcronError(
    'EFFECT_UNAVAILABLE',
    `${what}: the business database could not serve it in ${tries} tries over ${Math.round(spentMs)} ms ` +
      `(${messageOf(cause)}). Nothing was written. Look for a transaction that stays open, or allow more with \`retryFor\`.`,
    { cause },
  )
}

function unreachable(what: string, cause: unknown): FleetcronError {
  return new FleetcronError(
    'EFFECT_UNAVAILABLE',
    `${what}: the business database could not be reached, or the connection broke (${messageOf(cause)}). Whether it was ` +
      'written is not known; to repeat it with the same key is safe.',
    { cause },
  )
}
