import { isStatementsOwn, type MysqlConnection, type MysqlPool } from './driver.js'
import { type Answer, type Server, send } from './server.js'

/**
 * The connection that beats have to themselves, so that handlers which use up the pool never keep a session from being
 * renewed. It is kept while the ledger is open and closed with it, so its session may have settings of its own.
 */
export class Line {
  readonly #server: Server
  readonly #pool: MysqlPool
  #connection: Promise<MysqlConnection> | null = null

  constructor(server: Server, pool: MysqlPool) {
    this.#server = server
    this.#pool = pool
  }

  /** Sends statements as one message; each is a transaction of its own. */
  send(statements: readonly string[], ms: number): Promise<Answer> {
    return this.#server.retried(() => {
      this.#connection ??= this.#connect()
      const connecting = this.#connection
      return this.#server.within(
        ms,
        async () => send(await connecting, statements),
        (error) => {
          if (!isStatementsOwn(error)) this.#drop(connecting)
        },
      )
    })
  }

  async close(): Promise<void> {
    const connection = this.#connection
    this.#connection = null
    // Closed and not given back: its session is not as the pool's others.
    await connection?.then((made) => made.destroy()).catch(() => undefined)
  }

  async #connect(): Promise<MysqlConnection> {
    const connection = await this.#pool.getConnection()
    const connecting = this.#connection
    connection.on?.('error', () => this.#drop(connecting))
    await send(connection, SETTINGS)
    return connection
  }

  #drop(connecting: Promise<MysqlConnection> | null): void {
    if (connecting === null || this.#connection !== connecting) return
    this.#connection = null
    connecting.then((connection) => connection.destroy()).catch(() => undefined)
  }
}

const SETTINGS = [
  'SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED',
  'SET SESSION innodb_lock_wait_timeout = 1, SESSION autocommit = 1',
]
