import { existsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { FleetcronError } from '../../errors.js'
import {
  isBusy,
  type SqliteDatabase,
  type SqliteDriver,
  type SqliteStatement,
  type SqliteValue,
  whyUnavailable,
} from './driver.js'

/**
 * One connection to one file. Every transaction begins and ends inside one call without awaiting, so that nobody's
 * writes are swallowed by another's transaction. SQLite's own busy wait would stop the event loop, and with it every handler
 * and every beat of the process: it is switched off, and a lock held by somebody else is tried again from outside.
 */
export interface ConnectionOptions {
  readonly path: string
  readonly driver: SqliteDriver
  readonly now: () => number
  /** How long a call tries to get the file's lock. */
  readonly busyMs: number
}

/** Milliseconds of calls in a row after which the event loop gets a turn. */
const BREATH_MS = 10

type Parameters = Readonly<Record<string, SqliteValue>>

export class Connection {
  readonly path: string
  readonly #options: ConnectionOptions
  #database: SqliteDatabase | null = null
  #statements = new Map<string, SqliteStatement>()
  #inode: number | null = null
  /** When other work of the process last had a turn. */
  #breathedAt = performance.now()

  constructor(options: ConnectionOptions) {
    this.#options = options
    this.path = options.path
  }

  /** Opens the file and sets what every connection has to set for itself. */
  async open(): Promise<void> {
    await this.#patiently(() => {
      this.close()
      const database = this.#connected()
      this.#database = database
      try {
        database.exec('PRAGMA busy_timeout = 0')
        database.prepare('PRAGMA journal_mode = WAL').get()
        database.exec('PRAGMA synchronous = FULL')
        database.exec('PRAGMA foreign_keys = OFF')
      } catch (error) {
        this.close()
        throw error
      }
      this.#inode = inodeOf(this.path)
    })
  }

  close(): void {
    this.#statements = new Map()
    this.#database?.close()
    this.#database = null
  }

  /** Whether the file that is open is no longer the one at the path: it was deleted, or another was put in its place. */
  get isReplaced(): boolean {
    return this.#inode !== null && inodeOf(this.path) !== this.#inode
  }

  /** Runs one transaction that may write; `act` gets the clock as it is once the lock is held. */
  async write<T>(act: (now: number) => T): Promise<T> {
    const result = await this.#patiently(() => this.#transaction('BEGIN IMMEDIATE', act))
    await this.#breathe()
    return result
  }

  /** Runs one transaction that only reads: everything it sees is of one moment. */
  async read<T>(act: (now: number) => T): Promise<T> {
    const result = await this.#patiently(() => this.#transaction('BEGIN', act))
    await this.#breathe()
    return result
  }

  /**
   * A call never waits for the disk or for a peer, so a loop of calls would keep the event loop to itself: timers, signals and
   * the host's own requests get a turn after every few milliseconds of it.
   */
  async #breathe(): Promise<void> {
    if (performance.now() - this.#breathedAt < BREATH_MS) return
    await new Promise((resolve) => setImmediate(resolve))
    this.#breathedAt = performance.now()
  }

  exec(sql: string): void {
    this.#open().exec(sql)
  }

  run(sql: string, parameters: Parameters): number {
    return Number(this.#statement(sql).run(parameters).changes)
  }

  get<T>(sql: string, parameters: Parameters): T | undefined {
    return this.#statement(sql).get(parameters) as T | undefined
  }

  all<T>(sql: string, parameters: Parameters): T[] {
    return this.#statement(sql).all(parameters) as T[]
  }

  #transaction<T>(begin: string, act: (now: number) => T): T {
    const database = this.#open()
    database.exec(begin)
    try {
      const result = act(this.#options.now())
      database.exec('COMMIT')
      return result
    } catch (error) {
      rollBack(database)
      throw error
    }
  }

  async #patiently<T>(act: () => T): Promise<T> {
    const started = performance.now()
    for (;;) {
      try {
        return act()
      } catch (error) {
        if (!isBusy(error)) throw this.#explained(error)
        if (performance.now() - started > this.#options.busyMs) throw this.#locked(error)
      }
      await aMoment()
    }
  }

  #open(): SqliteDatabase {
    if (this.#database) return this.#database
    throw new FleetcronError('STORE_UNAVAILABLE', `The ledger ${this.path} is not open.`)
  }

  #statement(sql: string): SqliteStatement {
    const known = this.#statements.get(sql)
    if (known) return known
    const statement = this.#open().prepare(sql)
    this.#statements.set(sql, statement)
    return statement
  }

  /** Drivers have errors of their own for what they see before SQLite does, such as a missing folder. */
  #connected(): SqliteDatabase {
    try {
      return this.#options.driver(this.path)
    } catch (error) {
      if (isBusy(error) || whyUnavailable(error) !== null) throw error
      const folder = dirname(this.path)
      const why = existsSync(folder) ? `${error}` : 'its folder must exist and be writable'
      throw new FleetcronError('STORE_UNAVAILABLE', `The ledger ${this.path} cannot be opened: ${why}.`, {
        cause: error,
      })
    }
  }

  #explained(error: unknown): unknown {
    const why = whyUnavailable(error)
    if (why === null) return error
    return new FleetcronError('STORE_UNAVAILABLE', `The ledger ${this.path} cannot be used: ${why}.`, { cause: error })
  }

  #locked(cause: unknown): FleetcronError {
    return new FleetcronError(
      'STORE_UNAVAILABLE',
      `The ledger ${this.path} stayed locked by another process for ${this.#options.busyMs} ms: ` +
        'is one stopped inside a transaction, or does somebody else write to this file?',
      { cause },
    )
  }
}

/** After a failure SQLite may have rolled back by itself; what matters is the first error. */
function rollBack(database: SqliteDatabase): void {
  try {
    database.exec('ROLLBACK')
  } catch {
    // There was no transaction left to roll back.
  }
}

/** Between two tries at the lock: from a turn of the event loop to about a millisecond, so that waiting nodes spread out. */
function aMoment(): Promise<void> {
  return new Promise((resolve) => {
    if (Math.random() < 0.25) setImmediate(resolve)
    else setTimeout(resolve, 1)
  })
}

function inodeOf(path: string): number | null {
  return statSync(path, { throwIfNoEntry: false })?.ino ?? null
}
