import { earliest } from '../guards.js'
import { SortedList } from './sorted.js'

/** A job by the instant at which it needs attention. */
export interface Wake {
  readonly at: number
  readonly job: string
}

function compareWakes(a: Wake, b: Wake): number {
  return a.at - b.at || compareText(a.job, b.job)
}

export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** Every job that wakes by itself, by service and bucket. */
export class Wakes {
  readonly #services = new Map<string, Map<number, SortedList<Wake>>>()

  move(job: string, service: string, bucket: number, from: number | null, to: number | null): void {
    if (from === to) return
    const list = this.#list(service, bucket)
    if (from !== null) list.remove({ at: from, job })
    if (to !== null) list.add({ at: to, job })
  }

  /** Jobs that are due, in order, after the one given; at most `limit`. */
  due(services: readonly string[], until: (bucket: number) => number, after: Wake | null, limit: number): Wake[] {
    const found: Wake[] = []
    this.#each(services, (bucket, list) => {
      const end = until(bucket)
      found.push(...list.after(after, limit, (wake) => wake.at <= end))
    })
    return found.sort(compareWakes).slice(0, limit)
  }

  /** The earliest wake-up in the buckets that `after` gives an instant for, strictly after that instant. */
  next(services: readonly string[], after: (bucket: number) => number | null): number | null {
    let next: number | null = null
    this.#each(services, (bucket, list) => {
      const from = after(bucket)
      if (from === null) return
      const [wake] = list.after({ at: from + BETWEEN, job: '' }, 1, () => true)
      next = earliest(next, wake?.at ?? null)
    })
    return next
  }

  #each(services: readonly string[], visit: (bucket: number, list: SortedList<Wake>) => void): void {
    for (const service of new Set(services)) {
      for (const [bucket, list] of this.#services.get(service) ?? []) visit(bucket, list)
    }
  }

  #list(service: string, bucket: number): SortedList<Wake> {
    const buckets = this.#services.get(service) ?? new Map<number, SortedList<Wake>>()
    const list = buckets.get(bucket) ?? new SortedList(compareWakes)
    this.#services.set(service, buckets.set(bucket, list))
    return list
  }
}

/** Instants are whole milliseconds: half a millisecond later is after every job of one instant, before all of the next. */
const BETWEEN = 0.5
