import { FleetcronError } from '../../errors.js'
import { Deadline, TooLate } from '../deadline.js'
import { literal, type Value } from './columns.js'
import { isPassing, isStatementsOwn, type PostgresClient, type PostgresPool, whyUnavailable } from './driver.js'

export interface CallsOptions {
  readonly pool: PostgresPool
  /** Quoted. */
  readonly schema: string
  /** For people: where the pool leads. */
  readonly place: string
  readonly statementMs: number
}

/** In the order of the function's parameters, and by their names: looking up names would cost the server time at every call. */
export type Arguments = Readonly<Record<string, Value>>

/** How often a statement that was undone for another's sake is sent again. */
const TRIES = 5

/** The server ends a statement by itself; the client waits so much longer, then the connection is taken for dead. */
const GRACE_MS = 1_000

/**
 * Calls of the ledger's functions. Each is one message to the server and one transaction of its own: nothing is left
 * behind in a session, so a pooler may give every call another connection.
 */
export class Calls {
  readonly #options: CallsOptions
  /** Connections that were made before one was found dead are suspected too: after a failover they all are. */
  #suspectBefore = 0
  readonly #madeAt = new WeakMap<PostgresClient, number>()

  constructor(options: CallsOptions) {
    this.#options = options
  }

  get place(): string {
    return this.#options.place
  }

  get statementMs(): number {
    return this.#options.statementMs
  }

  /** Calls a function on any connection of the pool; what it returns is JSON. */
  call<T>(name: string, args: Arguments, statementMs = this.#options.statementMs): Promise<T> {
    return this.retried(() => this.use((client) => this.callOn<T>(client, name, args, statementMs), statementMs))
  }

  /** The same on one connection. */
  async callOn<T>(client: PostgresClient, name: string, args: Arguments, statementMs: number): Promise<T> {
    const list = Object.values(args).map(literal)
    const results = await client.query(
      `SET TRANSACTION ISOLATION LEVEL READ COMMITTED; SET LOCAL statement_timeout = ${Math.ceil(statementMs)}; ` +
        `SELECT ${this.#options.schema}.${name}(${list.join(', ')}) AS answer`,
    )
    const [{ answer }] = (results as { rows: [{ answer: string }] }[])[2]?.rows ?? [{ answer: '' }]
    return JSON.parse(answer) as T
  }

  /** Does something with a connection of the pool. One that did not answer in time is not given back. */
  async use<T>(act: (client: PostgresClient) => Promise<T>, statementMs = this.#options.statementMs): Promise<T> {
    const connecting = this.#connect()
    const give = (destroy: boolean) => (client: PostgresClient) => {
      client.removeListener('error', ignored)
      client.release(destroy)
    }
    const withClient = async () => {
      const client = await connecting
      client.on('error', ignored)
      return act(client)
    }
    const result = await this.within(statementMs, withClient, (error) => {
      connecting.then(give(!isStatementsOwn(error))).catch(() => undefined)
    })
    connecting.then(give(false)).catch(() => undefined)
    return result
  }

  /** Waits as long as the server may take and a little longer; tells `failed` before it says what went wrong. */
  async within<T>(statementMs: number, act: () => Promise<T>, failed: (error: unknown) => void): Promise<T> {
    const sent = performance.now()
    const deadline = new Deadline(statementMs + GRACE_MS)
    try {
      return await deadline.race(act())
    } catch (error) {
      if (error instanceof TooLate) this.#suspectBefore = sent
      failed(error)
      throw this.explained(error)
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
        if (tries === TRIES || !isPassing((error as { cause?: unknown }).cause ?? error)) throw error
      }
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 10 * tries))
    }
  }

  /** An error in the words of the ledger; none of them is the connection's URL or what it holds. */
  explained(error: unknown): unknown {
    if (error instanceof FleetcronError) return error
    const { place } = this.#options
    if (error instanceof TooLate) {
      const what = `The ledger ${place} did not answer in ${error.ms} ms; whether the call took effect is not known.`
      return new FleetcronError('STORE_UNAVAILABLE', what)
    }
    const why = whyUnavailable(error)
    if (why !== null) return unusable(place, why, error)
    if (!isPassing(error)) return error
    const what = `The ledger ${place} was busy: a statement was undone for the sake of others, or waited for a row too long.`
    return new FleetcronError('STORE_UNAVAILABLE', what, { cause: error })
  }

  async #connect(): Promise<PostgresClient> {
    for (;;) {
      const client = await this.#options.pool.connect()
      const madeAt = this.#madeAt.get(client) ?? performance.now()
      this.#madeAt.set(client, madeAt)
      if (madeAt >= this.#suspectBefore) return client
      client.release(true)
    }
  }
}

/** That a ledger cannot be used, in one sentence; `why` is its end. */
export function unusable(place: string, why: string, cause?: unknown): FleetcronError {
  const end = why.endsWith('?') ? '' : '.'
  return new FleetcronError('STORE_UNAVAILABLE', `The ledger ${place} cannot be used: ${why}${end}`, { cause })
}

/** A connection that is cut while it is in use says so twice: by the query that fails, and by this event. */
function ignored(): void {}
