import type { EffectClock } from '../../src/effect/port.js'

/** A clock that stands still until the test turns it to the next timer. Its chance goes through the interval evenly. */
export class TurnedClock implements EffectClock {
  readonly pausesMs: number[] = []
  readonly #timers: { readonly at: number; readonly fn: () => void }[] = []
  #now = 0
  #chance = 0

  monotonic(): number {
    return this.#now
  }

  after(delayMs: number, fn: () => void): { cancel(): void } {
    const timer = { at: this.#now + delayMs, fn }
    this.pausesMs.push(delayMs)
    this.#timers.push(timer)
    return { cancel: () => void this.#timers.splice(this.#timers.indexOf(timer), 1) }
  }

  random(): number {
    this.#chance = (this.#chance + 0.618) % 1
    return this.#chance
  }

  /** Goes to the next timer, and lets what waits for it run. */
  async turn(): Promise<void> {
    await settle()
    this.#timers.sort((a, b) => a.at - b.at)
    const timer = this.#timers.shift()
    if (!timer) throw new Error('nothing waits for this clock')
    this.#now = timer.at
    timer.fn()
    await settle()
  }

  /** Turns until `outcome` has settled. */
  async turnUntil(outcome: Promise<unknown>): Promise<void> {
    let settled = false
    const settle = () => {
      settled = true
    }
    outcome.then(settle, settle)
    while (!settled) await this.turn()
  }
}

/** Everything that is ready runs. */
async function settle(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve))
}
