/**
 * Time, chance and identity as the loop sees them. The loop takes one of these as an argument and nothing else, so that
 * a simulation can run many nodes in one process on a virtual clock.
 */
export interface Clock {
  /** Wall clock, epoch milliseconds. Never used to judge a lease. */
  wall(): number
  /** Monotonic milliseconds; stands still only while the machine is suspended. */
  monotonic(): number
  /**
   * Milliseconds for which the machine has been suspended in all, where the clock can tell. Without it a wall clock that
   * runs ahead of the monotonic one is taken for a suspend, which costs a session when somebody merely set the clock.
   */
  suspended?(): number
  /** Calls `fn` once after at least `delayMs`. Timers never keep the process alive by themselves. */
  after(delayMs: number, fn: () => void): Timer
  /** Uniform in [0, 1). */
  random(): number
  /** A fresh random id. */
  id(): string
}

export interface Timer {
  cancel(): void
}

/**
 * For how long the machine has been suspended in all, milliseconds; only differences mean anything. Without a clock that can
 * tell, a wall clock that runs ahead of the monotonic one stands for a suspend.
 */
export function suspendedMs(clock: Clock): number {
  return clock.suspended?.() ?? clock.wall() - clock.monotonic()
}
