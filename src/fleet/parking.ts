import type { Unreadable } from '../store/port.js'
import type { Parts } from './parts.js'

const FIRST_MS = 5_000
const MOST_MS = 300_000

export interface Parked {
  readonly job: string
  readonly error: string
}

/**
 * Jobs that cannot be decided are left alone for a while, longer each time, so that one bad job never stops the others. Those
 * whose rows cannot be read are left alone until they can be: each look shows whether they still cannot.
 */
export class Parking {
  private readonly parked = new Map<string, Parked & { readonly times: number; readonly until: number }>()
  /** Why, by job. */
  private readonly unreadable = new Map<string, string>()

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

  /** What a look or a load said: each job and reason is reported once, and forgotten when the job is seen again. */
  sawRows(readable: Iterable<string>, unreadable: readonly Unreadable[]): void {
    const { events, log } = this.parts
    if (this.unreadable.size > 0) {
      for (const job of readable) {
        if (this.unreadable.delete(job)) log.info(`job '${job}' can be read again`)
      }
    }
    for (const { job, why } of unreadable) {
      if (this.unreadable.get(job) === why) continue
      this.unreadable.set(job, why)
      events.emit('job-unreadable', { job, why })
      log.error(`job '${job}' cannot be read and is left alone: ${why}; mend its rows in the store, the others go on`)
    }
  }

  list(): readonly Parked[] {
    const parked = [...this.parked.values()].filter(({ job }) => this.isParked(job))
    return [...parked, ...[...this.unreadable].map(([job, error]) => ({ job, error }))]
  }
}
