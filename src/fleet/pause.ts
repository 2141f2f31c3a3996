import type { Clock } from './clock.js'

/** Resolves after `ms`, or as soon as the signal fires. Never rejects: the caller looks at what has changed. */
export function pause(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) {
      resolve()
      return
    }
    const done = () => {
      timer.cancel()
      signal?.removeEventListener('abort', done)
      resolve()
    }
    const timer = clock.after(ms, done)
    signal?.addEventListener('abort', done)
  })
}

/** Growing pauses with jitter, so that nodes that lost the store together do not come back together. */
export class Backoff {
  private failures = 0
  private since: number | null = null

  constructor(
    private readonly clock: Clock,
    private readonly firstMs: number,
    private readonly mostMs: number,
  ) {}

  /** The next pause: between half and all of the doubled one, never more than the ceiling. */
  nextMs(): number {
    const full = Math.min(this.mostMs, this.firstMs * 2 ** Math.min(this.failures, 30))
    this.failures += 1
    this.since ??= this.clock.monotonic()
    return Math.ceil(full * (0.5 + this.clock.random() / 2))
  }

  reset(): void {
    this.failures = 0
    this.since = null
  }

  /** How long there has been no success, since the first failure after one; 0: the last was one. */
  failingMs(): number {
    return this.since === null ? 0 : this.clock.monotonic() - this.since
  }
}

/** A pause that somebody may cut short. One sleeper at a time. */
export class Nap {
  private ended: (() => void) | null = null

  constructor(private readonly clock: Clock) {}

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.clock.after(ms, () => this.wake())
      this.ended = () => {
        timer.cancel()
        resolve()
      }
    })
  }

  wake(): void {
    const ended = this.ended
    this.ended = null
    ended?.()
  }
}
