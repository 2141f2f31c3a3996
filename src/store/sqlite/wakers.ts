import type { Ledger } from './ledger.js'
import { DATA_VERSION, WAKE_LAST, WAKE_PUT, WAKE_SINCE } from './statements.js'

/** How often a subscribed process looks whether another process has written. */
const POLL_MS = 50

/** Any bucket: where it cannot be said which. */
const ANY = -1

type Wake = (bucket: number) => void

/**
 * Tells subscribers that a job became due earlier. Whoever makes one so leaves its bucket's mark in the file, with a number
 * greater than any before; others know up to which number they have read. That other processes have written at all is
 * noticed by `PRAGMA data_version`, which costs microseconds, so fifty nodes that settle do not keep waking each other. No
 * clock and no look at what is due comes in: a mark says what the writer knew, whenever others looked last.
 */
export class Wakers {
  readonly #ledger: Ledger
  readonly #wakes = new Set<Wake>()
  #timer: NodeJS.Timeout | null = null
  #version: number | null = null
  /** The greatest mark that was read, and the greatest that the transaction under way has left. */
  #seen = 0
  #left: number | null = null
  /** Buckets marked by other processes, not told yet. */
  readonly #news = new Set<number>()

  constructor(ledger: Ledger) {
    this.#ledger = ledger
  }

  add(wake: Wake): () => void {
    const own: Wake = (bucket) => wake(bucket)
    if (this.#wakes.size === 0) this.#seen = this.#last()
    this.#wakes.add(own)
    this.#timer ??= setInterval(() => this.#poll(), POLL_MS).unref()
    return () => {
      this.#wakes.delete(own)
      if (this.#wakes.size === 0) this.stop()
    }
  }

  stop(): void {
    this.#wakes.clear()
    this.#news.clear()
    if (this.#timer) clearInterval(this.#timer)
    this.#timer = null
  }

  /** As a transaction begins: what others wrote since the last look must not pass for its own. */
  notice(): void {
    this.#ledger.woken.clear()
    this.#left = null
    if (this.#wakes.size > 0) this.#read()
  }

  /** As it ends: leaves a mark for each bucket in which a job became due earlier. */
  mark(): void {
    const { connection, fleet, woken } = this.#ledger
    for (const bucket of woken) connection.run(WAKE_PUT, { fleet, bucket })
    if (woken.size > 0) this.#left = this.#last()
  }

  /** After a transaction that was committed: its own marks, and what it noticed of others. */
  tell(): void {
    this.#seen = this.#left ?? this.#seen
    const buckets = [...this.#ledger.woken]
    this.#ledger.woken.clear()
    for (const bucket of buckets) this.#wake(bucket)
    this.tellNews()
  }

  /** Also after one that failed: what others wrote is none the less true. */
  tellNews(): void {
    const news = [...this.#news]
    this.#news.clear()
    for (const bucket of news) this.#wake(bucket)
  }

  #poll(): void {
    try {
      const version = this.#ledger.connection.get<{ data_version: number }>(DATA_VERSION, {})?.data_version ?? null
      if (version === this.#version) return
      this.#read()
      this.#version = version
      this.tellNews()
    } catch {
      // A hint that cannot be had now is had at the next turn; beats say what is next, and report a store that is away.
    }
  }

  #read(): void {
    const { connection, fleet } = this.#ledger
    const last = this.#last()
    // Another file, or an earlier state of this one: nobody knows what became due.
    if (last < this.#seen) this.#news.add(ANY)
    else if (last > this.#seen) {
      const rows = connection.all<{ bucket: number }>(WAKE_SINCE, { fleet, seen: this.#seen })
      for (const { bucket } of rows) this.#news.add(bucket)
    }
    this.#seen = last
  }

  #last(): number {
    const { connection, fleet } = this.#ledger
    return connection.get<{ seq: number | null }>(WAKE_LAST, { fleet })?.seq ?? 0
  }

  #wake(bucket: number): void {
    for (const wake of this.#wakes) {
      queueMicrotask(() => {
        if (this.#wakes.has(wake)) wake(bucket)
      })
    }
  }
}
