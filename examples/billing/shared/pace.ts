import { setImmediate, setTimeout } from 'node:timers/promises'
import { PERIOD_MS } from './periods.js'

/** Billing everybody takes about this long, so that a period can be watched and struck in its middle. */
const PERIOD_WORK_MS = 800
/** A shorter wait is not worth a timer. */
const SHORTEST_MS = 2

let hurried = false

/** From now on nobody takes his time: the demonstration wants to end. */
export function hurry(): void {
  hurried = true
}

/**
 * Stands for what takes time in a real application: rendering a document, asking a tax service. One per attempt. A period
 * that is two behind is hurried, so that a busy machine catches up.
 */
export class Pace {
  private readonly startedAt = performance.now()
  private readonly workMs: number

  constructor(
    private readonly customers: number,
    periodStart: Date,
  ) {
    this.workMs = Date.now() - periodStart.getTime() > 2 * PERIOD_MS ? 0 : PERIOD_WORK_MS
  }

  /** Waits after the `done`th customer; one who is late only lets others have a turn. */
  async after(done: number): Promise<void> {
    const dueAt = hurried ? 0 : this.startedAt + (this.workMs * done) / this.customers
    const earlyMs = dueAt - performance.now()
    if (earlyMs >= SHORTEST_MS) await setTimeout(earlyMs)
    else await setImmediate()
  }
}
