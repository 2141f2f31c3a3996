import type { SessionRef } from '../store/port.js'
import { type Clock, suspendedMs, type Timer } from './clock.js'

/** Why a node stopped believing in a session. */
export type LostWhy = 'lease' | 'suspend' | 'refused'

/** Part of the lease that is never used: what clocks may drift, and what a signal needs to reach a handler. */
const MARGIN = 0.1

/** The shortest sleep that counts: half the margin is left for what is not noticed. */
function sleepFrom(leaseMs: number): number {
  return (leaseMs * MARGIN) / 2
}

/**
 * One lease term as its node sees it. Belief is inside the truth: the store's lease runs from the moment it handles a
 * request, which is after it was sent; the node counts from before it was sent, and stops a tenth of the lease earlier.
 */
export class Session {
  readonly ref: SessionRef
  /** The store has answered to this session's hello. */
  introduced = false
  lost: LostWhy | null = null
  /** Monotonic instant at which belief ends. */
  until = Number.NEGATIVE_INFINITY
  /** What the clock said of suspends when belief was last reckoned. */
  private suspendedMs: number

  constructor(
    id: string,
    node: string,
    leaseMs: number,
    private readonly clock: Clock,
  ) {
    this.ref = { id, node, leaseMs }
    this.suspendedMs = suspendedMs(clock)
  }

  /**
   * The store said that the session was alive when it handled a request sent at `sent`. False: the answer came after the
   * belief it would have given; it is a loss although it says OK.
   */
  accept(sent: number): boolean {
    if (this.lost !== null) return false
    const until = sent + this.ref.leaseMs * (1 - MARGIN)
    if (this.clock.monotonic() >= until) return false
    this.countSleep()
    this.suspendedMs = suspendedMs(this.clock)
    this.until = Math.max(this.until, until)
    return true
  }

  believed(): boolean {
    this.countSleep()
    return this.lost === null && this.clock.monotonic() < this.until
  }

  /** The store's lease ran while the machine was suspended and the monotonic clock stood still. */
  private countSleep(): void {
    const reading = suspendedMs(this.clock)
    const asleep = reading - this.suspendedMs
    // A wall clock set back must not hide a suspend that follows; and what readings differ by anyhow is no sleep.
    this.suspendedMs = Math.min(this.suspendedMs, reading)
    if (asleep < sleepFrom(this.ref.leaseMs)) return
    this.suspendedMs = reading
    this.until -= asleep
  }
}

export interface SessionLoss {
  readonly session: Session
  readonly why: LostWhy
  /** How long the event loop had been blocked, or the process stopped; 0 when it was not. */
  readonly blockedMs: number
}

export interface SessionsOptions {
  readonly clock: Clock
  readonly node: string
  readonly leaseMs: number
  /** Whether anything runs, or may run, under this session: only then does belief end by itself. */
  readonly holds: (session: Session) => boolean
  readonly lost: (loss: SessionLoss) => void
}

/**
 * Holds the node's present session and ends belief on time. While the session holds runs a pulse looks at the clocks: it
 * ends belief at its instant, after a suspend at once, and measures how long the event loop was blocked. Handlers look
 * too (`check`), since a handler that blocked the loop goes on before any timer.
 */
export class Sessions {
  current: Session
  private timer: Timer | null = null
  private expected = 0
  private suspendedMs: number
  /** The longest that a pulse was late since the store was last heard. */
  private blockedMs = 0

  constructor(private readonly options: SessionsOptions) {
    this.current = this.fresh()
    this.suspendedMs = suspendedMs(this.options.clock)
  }

  /** Records an answer; false when it came too late to count. */
  accept(session: Session, sent: number): boolean {
    if (session !== this.current) return false
    this.check()
    const accepted = session.accept(sent)
    if (accepted) {
      this.blockedMs = 0
      this.suspendedMs = suspendedMs(this.options.clock)
    }
    this.watch()
    return accepted
  }

  /** Ends belief in a session, tells it, and puts another one in its place. A second word about it changes nothing. */
  lose(session: Session, why: LostWhy): void {
    if (session.lost !== null) return
    session.lost = why
    const late = this.timer === null ? 0 : this.options.clock.monotonic() - this.expected
    const blockedMs = Math.round(Math.max(this.blockedMs, late))
    this.stopWatching()
    this.blockedMs = 0
    if (session === this.current) this.current = this.fresh()
    this.options.lost({ session, why, blockedMs: blockedMs >= this.blockedAtMs() ? blockedMs : 0 })
  }

  /** Ends belief if its time has come. Cheap: handlers call it whenever they ask for their signal. */
  check(): void {
    const session = this.current
    if (session.lost !== null || !this.options.holds(session)) return
    const reading = suspendedMs(this.options.clock)
    const asleep = reading - this.suspendedMs
    // A wall clock set back must not hide a suspend that follows.
    this.suspendedMs = Math.min(this.suspendedMs, reading)
    if (asleep >= sleepFrom(session.ref.leaseMs)) this.lose(session, 'suspend')
    else if (!session.believed()) this.lose(session, 'lease')
  }

  /** Starts the pulse if there is something to watch over; called whenever a session takes on something. */
  watch(): void {
    if (this.timer !== null || !this.options.holds(this.current)) return
    this.suspendedMs = suspendedMs(this.options.clock)
    this.arm()
  }

  stopWatching(): void {
    this.timer?.cancel()
    this.timer = null
  }

  private arm(): void {
    const { clock } = this.options
    const now = clock.monotonic()
    const delay = Math.max(1, Math.min(this.current.until - now, this.current.ref.leaseMs / 20))
    this.expected = now + delay
    this.timer = clock.after(delay, () => this.pulse())
  }

  private pulse(): void {
    this.blockedMs = Math.max(this.blockedMs, this.options.clock.monotonic() - this.expected)
    this.timer = null
    this.check()
    if (this.timer === null && this.options.holds(this.current)) this.arm()
  }

  /** Lateness from which on the event loop counts as blocked. */
  private blockedAtMs(): number {
    return this.options.leaseMs * MARGIN
  }

  private fresh(): Session {
    const { clock, node, leaseMs } = this.options
    return new Session(clock.id(), node, leaseMs, clock)
  }
}
