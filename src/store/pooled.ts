import { Deadline, TooLate } from './deadline.js'

/** What a store says of its driver. */
export interface PooledOptions<Connection extends object> {
  readonly connect: () => Promise<Connection>
  /** What stays the same however often a connection is given out. */
  readonly identityOf: (connection: Connection) => object
  readonly taken: (connection: Connection) => void
  /** It goes back to the pool, or is destroyed. */
  readonly given: (connection: Connection, destroy: boolean) => void
  /** Whether an error is about the statement, and leaves its connection as good as before. */
  readonly isStatementsOwn: (error: unknown) => boolean
  /** Whether a statement was undone for the sake of others, so that it may be sent again. */
  readonly isPassing: (error: unknown) => boolean
  /** An error in the words of the ledger. */
  readonly explained: (error: unknown) => unknown
}

/** How often a statement that was undone for another's sake is sent again. */
const TRIES = 5

/** The connections of a pool, each wait with an end. One that did not answer in time is not given back. */
export class Pooled<Connection extends object> {
  readonly #options: PooledOptions<Connection>
  /** Connections that were made before one was found dead are suspected too: after a failover they all are. */
  #suspectBefore = 0
  readonly #madeAt = new WeakMap<object, number>()

  constructor(options: PooledOptions<Connection>) {
    this.#options = options
  }

  /** Does something with a connection of the pool, for so long and no longer. */
  async use<T>(ms: number, act: (connection: Connection) => Promise<T>): Promise<T> {
    const { taken, given, isStatementsOwn } = this.#options
    const connecting = this.#connect()
    let isUsed = false
    const giveBack = (destroy: boolean) => {
      connecting.then((connection) => given(connection, destroy)).catch(() => undefined)
    }
    const withConnection = async () => {
      const connection = await connecting
      isUsed = true
      taken(connection)
      return act(connection)
    }
    const result = await this.within(ms, withConnection, (error) => giveBack(isUsed && !isStatementsOwn(error)))
    giveBack(false)
    return result
  }

  /** Waits so long and no longer; tells `failed` before it says what went wrong. */
  async within<T>(ms: number, act: () => Promise<T>, failed: (error: unknown) => void): Promise<T> {
    const sent = performance.now()
    const deadline = new Deadline(ms)
    try {
      return await deadline.race(act())
    } catch (error) {
      if (error instanceof TooLate) this.#suspectBefore = sent
      failed(error)
      throw this.#options.explained(error)
    } finally {
      deadline.end()
    }
  }

  /** Sends it again while it is undone for another's sake. */
  async retried<T>(act: () => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries++) {
      try {
        return await act()
      } catch (error) {
        if (tries === TRIES || !this.#options.isPassing((error as { cause?: unknown }).cause ?? error)) throw error
      }
      await shortPause(10 * tries)
    }
  }

  async #connect(): Promise<Connection> {
    const { connect, identityOf, given } = this.#options
    for (;;) {
      const connection = await connect()
      const identity = identityOf(connection)
      const madeAt = this.#madeAt.get(identity) ?? performance.now()
      this.#madeAt.set(identity, madeAt)
      if (madeAt >= this.#suspectBefore) return connection
      given(connection, true)
    }
  }
}

/** A random pause of so many milliseconds at most. */
export function shortPause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.random() * ms))
}
