import { FleetcronError } from '../../errors.js'
import { TooLate } from '../deadline.js'
import { Pooled } from '../pooled.js'
import { unanswered, unusable } from '../unavailable.js'
import {
  isPassing,
  isStatementsOwn,
  type MysqlConnection,
  type MysqlPool,
  type MysqlQuery,
  whyUnavailable,
} from './driver.js'
import { type Parameters, statement } from './names.js'

export interface ServerOptions {
  readonly pool: MysqlPool
  /** What the names of the tables begin with. */
  readonly prefix: string
  /** For people: where the pool leads. */
  readonly place: string
  /** How long a call waits for its answer. */
  readonly statementMs: number
}

/** What a statement gave: its rows, each a list of bytes; none for one that only writes. */
export type Rows = readonly (readonly (Buffer | null)[])[]

/** What each statement of a message gave, and how many rows the last one of each that writes has met. */
export interface Answer {
  readonly rows: readonly Rows[]
  readonly affected: readonly number[]
}

/**
 * Messages to the server. Each holds all the statements of a call, or of a step of it, and is one round trip; a transaction
 * never lasts from one message to the next, so a process that is stopped in between holds up nobody.
 */
export class Server {
  readonly #options: ServerOptions
  readonly #pooled: Pooled<MysqlConnection>

  constructor(options: ServerOptions) {
    this.#options = options
    this.#pooled = new Pooled({
      connect: () => options.pool.getConnection(),
      // mysql2 wraps a connection anew each time it is given out.
      identityOf: (connection) => connection.connection ?? connection,
      taken: (connection) => void connection.on?.('error', ignored),
      given: (connection, destroy) => {
        connection.removeListener?.('error', ignored)
        if (destroy) connection.destroy()
        else connection.release()
      },
      isStatementsOwn,
      isPassing,
      explained: (error) => this.#explained(error),
    })
  }

  get place(): string {
    return this.#options.place
  }

  get prefix(): string {
    return this.#options.prefix
  }

  get statementMs(): number {
    return this.#options.statementMs
  }

  /** A statement of the ledger with its values. */
  sql(text: string, parameters: Parameters): string {
    return statement(text, this.#options.prefix, parameters)
  }

  /** Sends statements that only read, as one message, on any connection of the pool. */
  read(statements: readonly string[]): Promise<Answer> {
    return this.retried(() => this.use((connection) => send(connection, statements)))
  }

  /** Sends statements as one message that is one transaction; undone as a whole where one of them fails. */
  write(statements: readonly string[]): Promise<Answer> {
    return this.retried(() => this.use((connection) => transact(connection, statements)))
  }

  /** The same, and what is read after it, in one message. Gives what was read. */
  async writeThenRead(statements: readonly string[], read: string): Promise<Rows> {
    const { rows } = await this.retried(() => this.use((connection) => transact(connection, statements, [read])))
    return rows.at(-1) ?? []
  }

  /** A transaction sent once: whatever fails is the caller's to look at. */
  tryWrite(statements: readonly string[]): Promise<Answer> {
    return this.use((connection) => transact(connection, statements))
  }

  /** Does something with a connection of the pool. One that did not answer in time is not given back. */
  use<T>(act: (connection: MysqlConnection) => Promise<T>, ms = this.#options.statementMs): Promise<T> {
    return this.#pooled.use(ms, act)
  }

  /** Waits so long and no longer; tells `failed` before it says what went wrong. */
  within<T>(ms: number, act: () => Promise<T>, failed: (error: unknown) => void): Promise<T> {
    return this.#pooled.within(ms, act, failed)
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
    if (isPassing(error)) {
      const what = `The ledger ${place} was busy: a transaction was undone for the sake of others, or waited for a row too long.`
      return new FleetcronError('STORE_UNAVAILABLE', what, { cause: withoutSql(error) })
    }
    const why = whyUnavailable(error)
    return why === null ? withoutSql(error) : unusable(place, why, withoutSql(error))
  }
}

/**
 * What a message needs of its session, whatever the pool's or the server's settings are: short waits for locks, and a mode in
 * which nothing is cut to fit and a backslash escapes. The session is left as it was.
 */
const BEGIN = [
  'SET @fleetcron_wait = @@SESSION.innodb_lock_wait_timeout, @fleetcron_mode = @@SESSION.sql_mode, ' +
    "SESSION innodb_lock_wait_timeout = 1, SESSION sql_mode = 'STRICT_ALL_TABLES'",
  'SET TRANSACTION ISOLATION LEVEL READ COMMITTED',
  'START TRANSACTION',
]
const RESTORE = 'SET SESSION innodb_lock_wait_timeout = @fleetcron_wait, SESSION sql_mode = @fleetcron_mode'

/** Said in full: by its `completion_type` a server begins another transaction, or ends the session. */
const COMMIT = 'COMMIT AND NO CHAIN NO RELEASE'
const ROLLBACK = 'ROLLBACK AND NO CHAIN NO RELEASE'

/** Gives what the statements, and those after them, have given. */
async function transact(
  connection: MysqlConnection,
  statements: readonly string[],
  after: readonly string[] = [],
): Promise<Answer> {
  try {
    const { rows, affected } = await send(connection, [...BEGIN, ...statements, COMMIT, RESTORE, ...after])
    const isAsked = (_: unknown, at: number) =>
      at >= BEGIN.length && (at - BEGIN.length < statements.length || at >= rows.length - after.length)
    return { rows: rows.filter(isAsked), affected: affected.filter(isAsked) }
  } catch (error) {
    if (isStatementsOwn(error)) await send(connection, [ROLLBACK, RESTORE])
    throw error
  }
}

export async function send(connection: MysqlConnection, statements: readonly string[]): Promise<Answer> {
  const [result] = await connection.query({ ...OPTIONS, sql: statements.join('; ') })
  const results = statements.length === 1 ? [result] : (result as readonly unknown[])
  return {
    rows: results.map((each) => (Array.isArray(each) ? (each as Rows) : [])),
    affected: results.map((each) => (each as { affectedRows?: number } | null)?.affectedRows ?? 0),
  }
}

const OPTIONS = {
  rowsAsArray: true,
  typeCast: false,
  nestTables: false,
  namedPlaceholders: false,
} satisfies Omit<MysqlQuery, 'sql'>

/** mysql2's errors carry the text of the message, with all that was to be written. */
function withoutSql(error: unknown): unknown {
  if (error instanceof Error && 'sql' in error) Object.assign(error, { sql: undefined })
  return error
}

/** A connection that is cut while it is in use says so twice: by the query that fails, and by this event. */
function ignored(): void {}
