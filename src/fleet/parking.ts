import type { Parts } from './parts.js'

const FIRST_MS = 5_000
const MOST_MS = 300_000

export interface Parked {
  readonly job: string
  readonly error: string
  /** Monotonic instant. */
  readonly until: number
}

/** Jobs that cannot be decided are left alone for a while, longer each time, so that one bad job never stops the others. */
export class Parking {
  private readonly parked = new Map<string, Parked & { readonly times: number }>()

  constructor(private readonly parts: Parts) {}

  park(job: string, error: string): void {
    const { facts, events, log, link, looker } = this.parts
    const times = (this.parked.get(job)?.times ?? 0) + 1
    const forMs = Math.min(MOST_MS, FIRST_MS * 2 ** Math.min(times - 1, 10))
    this.parked.set(job, { job, error, times, until: facts.clock.monotonic() + forMs })
    events.emit('job-parked', { job, error, untilMs: forMs })
    log.error(`job '${job}' cannot be looked after and is left alone for ${forMs / 1000} s; the others go on`, {
      error,
    })
    looker.wakeBy(job, link.storeNow() + forMs)
  }

  isParked(job: string): boolean {
    const parked = this.parked.get(job)
    return parked !== undefined && parked.until > this.parts.facts.clock.monotonic()
  }

  /** The job was looked after: what was wrong is over. */
  release(job: string): void {
    this.parked.delete(job)
  }

  list(): readonly Parked[] {
    return [...this.parked.values()].filter(({ job }) => this.isParked(job))
  }
}
