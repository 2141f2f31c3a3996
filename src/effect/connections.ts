import { parseDuration } from '../duration.js'
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
   * locks. At least a second. Default: the fleet's `lease`; outside runs `'10s'`.
   */
  readonly idleTimeout?: string | number
  /** How long an effect waits while no connection of the pool becomes free. Default: `'10s'`. */
  readonly connectTimeout?: string | number
}

/** How an adapter finds the transaction that surrounds the caller. */
export interface AmbientOption<Tx> {
  /**
   * The transaction that surrounds the caller, null or undefined where there is none: effects without `tx` join it. For
   * nestjs-cls it is `() => (txHost.isTransactionActive() ? txHost.tx : null)`. Default: none, each effect has a transaction
   * of its own.
   */
  readonly ambient?: () => Tx | null | undefined
}

export type IsolationLevel = 'read committed' | 'repeatable read' | 'serializable'

/** How long a holder may be silent in its transaction, by its attempt's lease where the user does not say. */
export function silenceMsOf({ idleTimeout }: TransactionOptions): (leaseMs?: number) => number {
  const givenMs = idleTimeout === undefined ? null : parseDuration(idleTimeout, 'effects: idleTimeout')
  return (leaseMs = LEASE_MS) => givenMs ?? leaseMs
}

const LEASE_MS = 10_000

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
 * Bounds each wait for a connection by the time in which none was taken or given back: a long queue that moves is no
 * fault, a pool whose connections are all held by the callers of effects is.
 */
export class Patience {
  readonly #timeoutMs: number
  #movedAtMs = 0

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs
  }

  /** A connection was taken or given back: who waits has reason to go on. */
  moved(): void {
    this.#movedAtMs = performance.now()
  }

  /** Waits for `taking`. What comes too late is handed to `giveBack`. */
  async wait<C>(taking: Promise<C>, giveBack: (connection: C) => void): Promise<C> {
    this.#movedAtMs = Math.max(this.#movedAtMs, performance.now())
    const taken = taking.then(
      (connection) => {
        this.moved()
        if (isLate) giveBack(connection)
        return connection
      },
      (error) => {
        throw asBroken(error)
      },
    )
    let isLate = false
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      const look = () => {
        const leftMs = this.#movedAtMs + this.#timeoutMs - performance.now()
        if (leftMs > 0) {
          timer = setTimeout(look, leftMs)
          return
        }
        isLate = true
        taken.catch(() => undefined)
        reject(asBroken(new Error(noConnection(this.#timeoutMs))))
      }
      timer = setTimeout(look, this.#timeoutMs)
    })
    try {
      return await Promise.race([taken, late])
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
