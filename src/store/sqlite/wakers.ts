import { earliest, isEarlier } from '../guards.js'
import { isBusy } from './driver.js'
import type { Ledger } from './ledger.js'
import { DATA_VERSION, SUBSCRIBE_NEXT } from './statements.js'

/** How often a subscribed process looks whether another process has written. */
const POLL_MS = 50

type Wake = (bucket: number) => void

/**
 * Tells subscribers that a job became due earlier. What this connection writes it knows by bucket. Other processes are
 * noticed by `PRAGMA data_version`, which changes with their commits and costs microseconds; only then the next wake-up is
 * read, and only if it is earlier than the one known, so that fifty nodes that settle do not keep waking each other.
 */
export class Wakers {
  readonly #ledger: Ledger
  readonly #wakes = new Set<Wake>()
  #timer: NodeJS.Timeout | null = null
  #version: number | null = null
  /** When a node of this process looked last: jobs due before then are known to it, and may be left alone for long. */
  #since = Number.MIN_SAFE_INTEGER
  #known: number | null = null
  #hasNews = false

  constructor(ledger: Ledger) {
    this.#ledger = ledger
  }

  add(wake: Wake): () => void {
    const own: Wake = (bucket) => wake(bucket)
    if (this.#wakes.size === 0) this.#known = this.#next()
    this.#wakes.add(own)
    this.#timer ??= setInterval(() => this.#poll(), POLL_MS).unref()
    return () => {
      this.#wakes.delete(own)
      if (this.#wakes.size === 0) this.stop()
    }
  }

  stop(): void {
    this.#wakes.clear()
    if (this.#timer) clearInterval(this.#timer)
    this.#timer = null
  }

  /** As a transaction of this connection begins: what others wrote since the last look must not pass for its own. */
  notice(): void {
    if (this.#wakes.size === 0) return
    const next = this.#next()
    this.#hasNews ||= isEarlier(next, this.#known)
    this.#known = next
  }

  /** As it ends: remembers what is next, and what a node that attended has just seen. */
  look(attendedAt: number | null): void {
    if (this.#wakes.size === 0) return
    if (attendedAt !== null) this.#since = attendedAt
    this.#known = this.#next()
  }

  /** After a transaction of this connection. */
  tell(): void {
    const buckets = [...this.#ledger.woken]
    this.#ledger.woken.clear()
    for (const bucket of buckets) this.#wake(bucket)
    if (this.#hasNews) this.#wake(-1)
    this.#hasNews = false
  }

  #poll(): void {
    try {
      const { connection } = this.#ledger
      const version = connection.get<{ data_version: number }>(DATA_VERSION, {})?.data_version ?? null
      if (version === this.#version) return
      this.#version = version
      this.notice()
      this.tell()
    } catch (error) {
      // A hint that cannot be had is none: beats say what is next, and report a store that is away.
      if (!isBusy(error)) this.#version = null
    }
  }

  #next(): number | null {
    const { connection, fleet, services } = this.#ledger
    const since = this.#since
    return [...services]
      .map((service) => connection.get<{ wake_at: number | null }>(SUBSCRIBE_NEXT, { fleet, service, since }))
      .reduce<number | null>((next, row) => earliest(next, row?.wake_at ?? null), null)
  }

  #wake(bucket: number): void {
    for (const wake of this.#wakes) {
      queueMicrotask(() => {
        if (this.#wakes.has(wake)) wake(bucket)
      })
    }
  }
}
