import type { VirtualClock } from '../clock.js'
import { BusinessError } from './business.js'

type Mode = 'shared' | 'exclusive'

interface Row<Owner> {
  readonly holders: Map<Owner, Mode>
  readonly waiting: { readonly owner: Owner; readonly mode: Mode; readonly go: () => void }[]
}

/** Row locks, first come first served; who waits too long is told to repeat its transaction, which also ends deadlocks. */
export class Locks<Owner> {
  readonly #rows = new Map<string, Row<Owner>>()
  readonly #taken = new Map<Owner, Set<string>>()
  readonly #clock: VirtualClock
  readonly #timeoutMs: number

  constructor(clock: VirtualClock, timeoutMs: number) {
    this.#clock = clock
    this.#timeoutMs = timeoutMs
  }

  take(owner: Owner, name: string, mode: Mode): Promise<void> {
    const row: Row<Owner> = this.#rows.get(name) ?? { holders: new Map(), waiting: [] }
    this.#rows.set(name, row)
    this.#taken.set(owner, (this.#taken.get(owner) ?? new Set()).add(name))
    if (row.waiting.length === 0 && admits(row, owner, mode)) {
      hold(row, owner, mode)
      return Promise.resolve()
    }
    return new Promise((resolve, reject) => {
      const timer = this.#clock.after(this.#timeoutMs, () => {
        row.waiting.splice(row.waiting.indexOf(waiter), 1)
        reject(new BusinessError('retry', `waited ${this.#timeoutMs} ms for a lock`))
        this.#grant(row)
      })
      const waiter = {
        owner,
        mode,
        go: () => {
          timer.cancel()
          resolve()
        },
      }
      row.waiting.push(waiter)
    })
  }

  /** Lets go of everything an owner holds. */
  release(owner: Owner): void {
    for (const name of this.#taken.get(owner) ?? []) {
      const row = this.#rows.get(name)
      row?.holders.delete(owner)
      if (row) this.#grant(row)
    }
    this.#taken.delete(owner)
  }

  #grant(row: Row<Owner>): void {
    for (let next = row.waiting[0]; next && admits(row, next.owner, next.mode); next = row.waiting[0]) {
      row.waiting.shift()
      hold(row, next.owner, next.mode)
      next.go()
    }
  }
}

function admits<Owner>(row: Row<Owner>, owner: Owner, mode: Mode): boolean {
  for (const [holder, held] of row.holders) {
    if (holder !== owner && (mode === 'exclusive' || held === 'exclusive')) return false
  }
  return true
}

function hold<Owner>(row: Row<Owner>, owner: Owner, mode: Mode): void {
  if (row.holders.get(owner) !== 'exclusive') row.holders.set(owner, mode)
}
