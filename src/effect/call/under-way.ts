import type { EffectClock } from '../port.js'

/** The sendings of this process that have not ended, by their key: whoever else wants the same waits for them. */
export class UnderWay {
  readonly #last = new Map<string, Promise<unknown>>()

  /** Until `ending` has ended, however it ends. */
  add<R>(key: string, ending: Promise<R>): Promise<R> {
    const forget = () => {
      if (this.#last.get(key) === ending) this.#last.delete(key)
    }
    this.#last.set(key, ending)
    ending.then(forget, forget)
    return ending
  }

  of(key: string): Promise<unknown> | null {
    return this.#last.get(key) ?? null
  }
}

/** Waits for so long, or until `early` has ended however it ends; throws the signal's reason once that fires. */
export async function pause(
  clock: EffectClock,
  ms: number,
  signal: AbortSignal | undefined,
  early: Promise<unknown> | null = null,
): Promise<void> {
  signal?.throwIfAborted()
  if (ms <= 0) return
  await new Promise<void>((resolve) => {
    const end = () => {
      timer.cancel()
      signal?.removeEventListener('abort', end)
      resolve()
    }
    const timer = clock.after(ms, end)
    signal?.addEventListener('abort', end)
    early?.then(end, end)
  })
  signal?.throwIfAborted()
}

/** Calls `act` with a signal that fires after so long, and with the run's; ends then, even if `act` does not. */
export async function within<R>(
  clock: EffectClock,
  ms: number,
  runs: AbortSignal | undefined,
  act: (signal: AbortSignal) => Promise<R> | R,
): Promise<R> {
  runs?.throwIfAborted()
  const controller = new AbortController()
  const { signal } = controller
  const onAbort = () => controller.abort(runs?.reason)
  const timer = clock.after(ms, () => controller.abort(new Error(`no answer within ${ms} ms`)))
  runs?.addEventListener('abort', onAbort, { once: true })
  try {
    const ended = new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    })
    return await Promise.race([act(signal), ended])
  } finally {
    timer.cancel()
    runs?.removeEventListener('abort', onAbort)
  }
}

export type Outcome<R> = { readonly result: R } | { readonly error: unknown }

export async function outcomeOf<R>(act: Promise<R>): Promise<Outcome<R>> {
  try {
    return { result: await act }
  } catch (error) {
    return { error }
  }
}
