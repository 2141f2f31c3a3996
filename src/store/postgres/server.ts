import { FleetcronError } from '../../errors.js'
import { TooLate } from '../deadline.js'
import { Pooled } from '../pooled.js'
import { unanswered, unusable } from '../unavailable.js'
import { literal, type Value } from './columns.js'
import { isPassing, isStatementsOwn, type PostgresClient, type PostgresPool, whyUnavailable } from './driver.js'

export interface ServerOptions {
  readonly pool: PostgresPool
  /** Quoted. */
  readonly schema: string
  /** For people: where the pool leads. */
  readonly place: string
  readonly statementMs: number
}

/** In the order of the function's parameters, and by their names: looking up names would cost the server time at every call. */
export type Arguments = Readonly<Record<string, Value>>

/** The server ends a statement by itself; the client waits so much longer, then the connection is taken for dead. */
const GRACE_MS = 1_000

/**
 * Calls of the ledger's functions. Each is one message to the server and one transaction of its own: nothing is left
 * behind in a session, so a pooler may give every call another connection.
 */
export class Server {
  readonly #options: ServerOptions
  readonly #pooled: Pooled<PostgresClient>

  constructor(options: ServerOptions) {
    this.#options = options
    this.#pooled = new Pooled({
      connect: () => options.pool.connect(),
      identityOf: (client) => client,
      taken: (client) => void client.on('error', ignored),
      given: (client, destroy) => {
        client.removeListener('error', ignored)
        client.release(destroy)
      },
      isStatementsOwn,
      isPassing,
      explained: (error) => this.#explained(error),
    })
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
  use<T>(act: (client: PostgresClient) => Promise<T>, statementMs = this.#options.statementMs): Promise<T> {
    return this.#pooled.use(statementMs + GRACE_MS, act)
  }

  /** Waits as long as the server may take and a little longer; tells `failed` before it says what went wrong. */
  within<T>(statementMs: number, act: () => Promise<T>, failed: (error: unknown) => void): Promise<T> {
    return this.#pooled.within(statementMs + GRACE_MS, act, failed)
  }

  /** Sends it again while it is undone for another's sake. */
  retried<T>(act: () => Promise<T>): Promise<T> {
    return this.#pooled.retried(act)
  }

  /** An error in the words of the ledger; none of them is the connection's URL or what it holds. */
  #explained(error: unknown): unknown {
    if (error instanceof FleetcronError) return error
    const { place } = this.#options
    if (error instanceof TooLate) return unanswered(place, error.ms)
    const why = whyUnavailable(error)
    if (why !== null) return unusable(place, why, error)
    if (!isPassing(error)) return error
    const what = `The ledger ${place} was busy: a statement was undone for the sake of others, or waited for a row too long.`
    return new FleetcronError('STORE_UNAVAILABLE', what, { cause: error })
  }
}

/** A connection that is cut while it is in use says so twice: by the query that fails, and by this event. */
function ignored(): void {}
