import type { Clock, Timer } from '../fleet/clock.js'
import { VirtualClock, type VirtualProcess } from './clock.js'

/** A clock that a test turns by hand: time stands still until `advance` lets it pass. */
export class ManualClock implements Clock {
  readonly #world: VirtualClock
  readonly #process: VirtualProcess

  /** @param start what the wall clock shows, epoch milliseconds; 2026-01-01T00:00Z by default */
  constructor(start = Date.UTC(2026, 0, 1)) {
    this.#world = new VirtualClock(start)
    this.#process = this.#world.process('manual')
  }

  wall(): number {
    return this.#process.wall()
  }

  monotonic(): number {
    return this.#process.monotonic()
  }

  after(delayMs: number, fn: () => void): Timer {
    return this.#process.after(delayMs, fn)
  }

  random(): number {
    return this.#process.random()
  }

  id(): string {
    return this.#process.id()
  }

  suspended(): number {
    return this.#process.suspended?.() ?? 0
  }

  /** Lets time pass. Timers fire in their order, and between two of them every promise that can go on has gone on. */
  advance(byMs: number): Promise<void> {
    return this.#world.run(this.#world.now + byMs)
  }

  /** Sets the wall clock forward or back; the monotonic clock and the timers do not notice. */
  step(byMs: number): void {
    this.#process.stepWall(byMs)
  }

  /** The machine sleeps: the wall clock goes on, the monotonic clock and the timers do not. */
  async suspend(forMs: number): Promise<void> {
    this.#process.suspend()
    await this.#world.run(this.#world.now + forMs)
    this.#process.resume()
  }
}
