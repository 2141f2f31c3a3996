import { FleetcronError } from '../errors.js'

/**
 * What adapters over a pool of connections share: the wait for a connection, and how it is told that a connection broke.
 */

/** How own transactions are begun, and how long one may be silent or wait. */
export interface TransactionOptions {
  /** Default: the connection's own. */
  readonly isolationLevel?: IsolationLevel
  /**
   * The server ends a transaction whose holder is silent in it for this long, so that a stopped process does not keep its
   * locks. At least a second; at most the fleet's `lease` is sensible. Default: `'10s'`.
   */
  readonly idleTimeout?: string | number
  /** How long an effect waits while no connection of the pool becomes free. Default: `'10s'`. */
  readonly connectTimeout?: string | number
}

export type IsolationLevel = 'read committed' | 'repeatable read' | 'serializable'

/** Errors of a connection that broke: they have no code of the database, and a user's own `fetch` throws the same. */
const broken = new WeakSet<object>()

/** Marks an error as the connection's, and hands it back; our own refusals stay what they are. */
export function asBroken(error: unknown): unknown {
  if (error instanceof FleetcronError) return error
  const marked = typeof error === 'object' && error !== null ? error : new Error(String(error))
  broken.add(marked)
  return marked
}

export function isBroken(error: unknown): boolean {
  return typeof error === 'object' && error !== null && broken.has(error)
}

/**
 * Takes connections of a pool, each wait bounded by the time in which no connection was taken or given back: a long queue
 * that moves is no fault, a pool whose connections are all held by the callers of effects is.
 */
export class Connections<C> {
  readonly #take: () => Promise<C>
  readonly #giveBack: (connection: C) => void
  readonly #timeoutMs: number
  #movedAtMs = 0

  constructor(take: () => Promise<C>, giveBack: (connection: C) => void, timeoutMs: number) {
    this.#take = take
    this.#giveBack = giveBack
    this.#timeoutMs = timeoutMs
  }

  /** Something was taken or given back: who waits has reason to go on. */
  moved(): void {
    this.#movedAtMs = performance.now()
  }

  async take(): Promise<C> {
    this.#movedAtMs = Math.max(this.#movedAtMs, performance.now())
    let timer: NodeJS.Timeout | undefined
    let isLate = false
    const taking = this.#take().then(
      (connection) => {
        this.moved()
        if (isLate) this.#giveBack(connection)
        return connection
      },
      (error) => {
        throw asBroken(error)
      },
    )
    const late = new Promise<never>((_, reject) => {
      const look = () => {
        const leftMs = this.#movedAtMs + this.#timeoutMs - performance.now()
        if (leftMs > 0) {
          timer = setTimeout(look, leftMs)
          return
        }
        isLate = true
        taking.catch(() => undefined)
        reject(asBroken(new Error(noConnection(this.#timeoutMs))))
      }
      timer = setTimeout(look, this.#timeoutMs)
    })
    try {
      return await Promise.race([taking, late])
    } finally {
      clearTimeout(timer)
    }
  }
}

function noConnection(timeoutMs: number): string {
  return (
    `no connection of the pool became free within ${timeoutMs} ms. Whoever holds a connection while he awaits an effect ` +
    'needs a second one, unless he passes his transaction as { tx }; give the pool more connections, or the effect the tx'
  )
}
