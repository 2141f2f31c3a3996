import { randomUUID } from 'node:crypto'
import type { Clock, Timer } from '../fleet/clock.js'
import { Heap } from './heap.js'

interface Alarm {
  readonly at: number
  readonly order: number
  readonly fn: () => void
  cancelled: boolean
}

/**
 * The clock of a fleet under test: time stands still until somebody turns it. It uses none of the process's timers, so a
 * test framework's fake ones do not disturb it, nor it them.
 */
export class TestClock implements Clock {
  #elapsed = 0
  #unseen = 0
  #order = 0
  readonly #start: number
  readonly #alarms = new Heap<Alarm>((a, b) => a.at < b.at || (a.at === b.at && a.order < b.order))

  /** @param start what the wall clock shows, epoch milliseconds */
  constructor(start: number) {
    this.#start = start
  }

  wall(): number {
    return this.#start + this.#elapsed - this.#unseen
  }

  monotonic(): number {
    return this.#elapsed
  }

  suspended(): number {
    return 0
  }

  random(): number {
    return 0.5
  }

  id(): string {
    return randomUUID()
  }

  after(delayMs: number, fn: () => void): Timer {
    this.#order += 1
    // Whole milliseconds, as the process's timers count them.
    const alarm = { at: this.#elapsed + Math.max(0, Math.ceil(delayMs)), order: this.#order, fn, cancelled: false }
    this.#alarms.push(alarm)
    return {
      cancel: () => {
        alarm.cancelled = true
      },
    }
  }

  /** Goes on to the next timer, unless it is later than so many milliseconds from now, and fires it. False: there is none. */
  fireNext(withinMs: number): boolean {
    let next = this.#alarms.peek()
    while (next?.cancelled === true) {
      this.#alarms.pop()
      next = this.#alarms.peek()
    }
    if (next === undefined || next.at > this.#elapsed + withinMs) return false
    this.#alarms.pop()
    this.#elapsed = Math.max(this.#elapsed, next.at)
    next.fn()
    return true
  }

  /**
   * Lets a millisecond pass that the wall clock does not show. A node waits for a moment a millisecond too long, since real
   * timers may be early; so what is due at the very moment at which the wall clock stops would be left out.
   */
  passUnseen(): void {
    this.#elapsed += 1
    this.#unseen += 1
  }

  /** Lets time pass in which no timer is due. */
  pass(ms: number): void {
    this.#elapsed += ms
  }
}
