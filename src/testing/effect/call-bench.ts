import type { CallOptions, ProviderCall } from '../../effect/call/face.js'
import type { EffectClock } from '../../effect/port.js'
import { never } from './bench.js'

/** No pause is this long, so the clock below can tell a time-out from a pause. */
export const TIMEOUT_MS = 7_777_000

/** Pauses end at once; time-outs fire when they are told to. */
export class CallClock implements EffectClock {
  readonly #timeouts = new Set<() => void>()
  #onPause: () => void = () => {}

  monotonic(): number {
    return 0
  }

  random(): number {
    return 0.5
  }

  after(delayMs: number, fn: () => void): { cancel(): void } {
    if (delayMs === TIMEOUT_MS) {
      this.#timeouts.add(fn)
      return { cancel: () => void this.#timeouts.delete(fn) }
    }
    this.#onPause()
    const turn = setImmediate(fn)
    return { cancel: () => clearImmediate(turn) }
  }

  /** Until somebody pauses. */
  nextPause(): Promise<void> {
    return new Promise((resolve) => {
      this.#onPause = resolve
    })
  }

  timeOut(): void {
    for (const fn of this.#timeouts) fn()
  }
}

/** A provider that remembers what it was sent, and does with each sending what it is told. */
export class Provider {
  readonly sent: { readonly idempotencyKey: string; readonly input: unknown }[] = []

  options<R>(
    answers: readonly (() => R | Promise<R>)[],
    more: Partial<CallOptions<R, unknown>> = {},
  ): CallOptions<R, unknown> {
    return {
      timeout: TIMEOUT_MS,
      ...more,
      send: async ({ idempotencyKey, input }: ProviderCall<unknown>) => {
        const answer = answers[this.sent.length] ?? never
        this.sent.push({ idempotencyKey, input })
        return answer()
      },
    }
  }
}

/** A promise that its holder settles. */
export function deferred<R>() {
  let resolve: (value: R) => void = never
  let reject: (error: unknown) => void = never
  const promise = new Promise<R>((yes, no) => {
    resolve = yes
    reject = no
  })
  return { promise, resolve, reject }
}

/** Looks until it is so: once in each turn, so that what is waited for has its turns too. */
export async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setImmediate(resolve))
}

/** A request whose answer never comes. */
export const lost = (): never => {
  throw new Error('socket hang up')
}
