import { FleetcronError } from '../errors.js'
import type { Store } from '../store/port.js'
import { type Clock, suspendedMs } from './clock.js'
import type { Events } from './events.js'

/**
 * The node's way to the store. Every call has a deadline, since a half-open connection answers never; every answer
 * teaches how far the store's clock is from this node's monotonic one; failures are counted as one stretch of being away.
 */
export class StoreLink {
  private offset: number | null = null
  private away: { readonly since: number; readonly error: unknown } | null = null
  private trouble: { readonly from: number; to: number } | null = null
  private inTrouble = false
  private lastProbe: number | null = null

  constructor(
    readonly store: Store,
    private readonly clock: Clock,
    private readonly events: () => Events,
  ) {}

  /**
   * Calls the store. `sent` was read before the request: belief counts from there (S8). Where the machine was suspended
   * meanwhile, while the monotonic clock stood still and the store's lease ran, it is earlier by as much.
   * @throws what the store throws, or `STORE_UNAVAILABLE` when it does not answer in time: the outcome is unknown
   */
  async call<T>(
    operation: keyof Store,
    deadlineMs: number,
    act: (store: Store) => Promise<T>,
  ): Promise<{ readonly reply: T; readonly sent: number }> {
    const begun = this.clock.monotonic()
    const suspendedBefore = suspendedMs(this.clock)
    try {
      const reply = await this.withDeadline(operation, deadlineMs, act)
      const received = this.clock.monotonic()
      const sent = begun - Math.max(0, suspendedMs(this.clock) - suspendedBefore)
      if (hasNow(reply)) this.measure(reply.now, sent, received)
      this.answered(operation, received)
      return { reply, sent }
    } catch (error) {
      this.failed(operation, begun, error)
      throw error
    }
  }

  /** The store's clock, as well as this node knows it. */
  storeNow(): number {
    return this.toStore(this.clock.monotonic())
  }

  /** An instant of the monotonic clock in the store's time; the wall clock stands in until the store has answered once. */
  toStore(monotonic: number): number {
    return Math.floor(monotonic + (this.offset ?? this.clock.wall() - this.clock.monotonic()))
  }

  /** Milliseconds until an instant of the store's clock, not negative. One is added: early would be in vain. */
  untilMs(instant: number): number {
    return Math.max(0, Math.ceil(instant - (this.clock.monotonic() + (this.offset ?? 0))) + 1)
  }

  /** The last stretch in which attend or beat failed, from the answer before it to the one after it, in the store's time. */
  ownTrouble(): { readonly from: number; readonly to: number } | null {
    if (this.trouble === null) return null
    return { from: this.toStore(this.trouble.from), to: this.toStore(this.trouble.to) }
  }

  /** Since when calls have failed (monotonic), and how. */
  awaySince(): { readonly since: number; readonly error: unknown } | null {
    return this.away
  }

  /** This host's wall clock minus the store's, milliseconds; null before the first answer. */
  wallAheadMs(): number | null {
    return this.offset === null ? null : Math.round(this.clock.wall() - this.clock.monotonic() - this.offset)
  }

  private withDeadline<T>(operation: string, deadlineMs: number, act: (store: Store) => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const timer = this.clock.after(deadlineMs, () => {
        const message = `The store did not answer ${operation} within ${deadlineMs} ms; whether it took effect is not known.`
        reject(new FleetcronError('STORE_UNAVAILABLE', message))
      })
      const done = (settle: () => void) => {
        timer.cancel()
        settle()
      }
      Promise.resolve()
        .then(() => act(this.store))
        .then(
          (reply) => done(() => resolve(reply)),
          (error) => done(() => reject(error)),
        )
    })
  }

  /** The store read its clock between `sent` and `received`: what is known moves only as far as that demands. */
  private measure(now: number, sent: number, received: number): void {
    const low = now - received
    const high = now - sent
    if (this.offset === null) {
      this.offset = (low + high) / 2
      return
    }
    const before = this.offset
    this.offset = Math.min(Math.max(before, low), high)
    const byMs = Math.round(this.offset - before)
    if (Math.abs(byMs) >= STEP_MS) this.events().emit('store-clock-stepped', { byMs })
  }

  private answered(operation: string, received: number): void {
    if (isProbe(operation)) {
      if (this.inTrouble && this.trouble !== null) this.trouble.to = received
      this.inTrouble = false
      this.lastProbe = received
    }
    const away = this.away
    // What was never open closes without the store.
    if (away === null || operation === 'close') return
    this.away = null
    this.events().emit('store-back', { awayMs: Math.round(received - away.since) })
  }

  private failed(operation: string, sent: number, error: unknown): void {
    const now = this.clock.monotonic()
    if (isProbe(operation)) {
      // It may have begun right after the last answer.
      if (this.trouble === null || !this.inTrouble) this.trouble = { from: this.lastProbe ?? sent, to: now }
      else this.trouble.to = now
      this.inTrouble = true
    }
    if (this.away !== null) return
    this.away = { since: sent, error }
    this.events().emit('store-away', { operation, error })
  }
}

/** The store's clock may drift; a jump by this much is somebody's doing, and is told. */
const STEP_MS = 1_000

/** The store is away or did not answer: expected now and then, told once per stretch as `store-away`. */
export function isUnavailable(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === 'STORE_UNAVAILABLE'
}

function hasNow(reply: unknown): reply is { readonly now: number } {
  return typeof reply === 'object' && reply !== null && typeof (reply as { now?: unknown }).now === 'number'
}

function isProbe(operation: string): boolean {
  return operation === 'attend' || operation === 'beat'
}
