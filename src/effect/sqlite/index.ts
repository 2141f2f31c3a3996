import { FleetcronError } from '../../errors.js'
import { createEffects } from '../effects.js'
import type { EffectOptions, Effects, Failure, Param, QueryResult, SyncAdapter } from '../port.js'
import { inTransaction, isOpen, resultCodeOf, type SqliteDatabase, type SqliteStatement } from './database.js'
import { SQLITE } from './statements.js'

/**
 * Effects in a SQLite file, through the user's own connection: better-sqlite3's `Database` or node:sqlite's
 * `DatabaseSync`. A transaction belongs to its connection, so the function of an effect is synchronous; `tx` is the
 * connection itself. A process stopped inside a transaction stops the file until it goes on.
 *
 * Keep the ledger in another file, and this one at `PRAGMA synchronous = FULL`.
 *
 * @example
 * const database = new Database('billing.db')
 * const fleet = createFleet({ fleet: 'billing', store: 'sqlite:ledger.db', effects: sqlite(database) })
 */
export function sqlite<Db extends SqliteDatabase>(database: Db, options?: EffectOptions): Effects<Db> {
  return createEffects(sqliteAdapter(database), options)
}

export function sqliteAdapter<Db extends SqliteDatabase>(database: Db): SyncAdapter<Db> {
  if (typeof database?.prepare !== 'function' || typeof database.exec !== 'function') {
    throw new FleetcronError(
      'OPTION_INVALID',
      "effects: sqlite() needs an open connection, better-sqlite3's Database or node:sqlite's DatabaseSync.",
    )
  }
  return {
    dialect: 'sqlite',
    sync: true,
    statements: SQLITE,
    connection: database,
    transaction: (fn) => transaction(database, fn),
    query,
    classify,
    inTransaction,
  }
}

/** Waits this long for the file at most, because a wait blocks the event loop; the pauses between two tries do not. */
const BUSY_TIMEOUT_MS = 10

function transaction<Db extends SqliteDatabase, R>(database: Db, fn: (tx: Db) => R): R {
  return withShortWaits(database, () => {
    database.exec('BEGIN IMMEDIATE')
    try {
      const value = fn(database)
      database.exec('COMMIT')
      return value
    } catch (error) {
      rollBack(database)
      throw error
    }
  })
}

/** A full disk and its like have ended the transaction already; the error that was first is the one to tell. */
function rollBack(database: SqliteDatabase): void {
  if (inTransaction(database) === false) return
  try {
    database.exec('ROLLBACK')
  } catch {
    // Only a connection that was closed, or cannot say whether a transaction is open, comes here without one.
  }
}

/** The user's own `busy_timeout` (better-sqlite3: five seconds by default) is put back afterwards. */
function withShortWaits<R>(database: SqliteDatabase, act: () => R): R {
  const usersMs = busyTimeoutOf(database)
  if (usersMs <= BUSY_TIMEOUT_MS) return act()
  database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`)
  try {
    return act()
  } finally {
    if (isOpen(database)) database.exec(`PRAGMA busy_timeout = ${usersMs}`)
  }
}

function busyTimeoutOf(database: SqliteDatabase): number {
  const [row] = query(database, 'PRAGMA busy_timeout', []).rows
  return Number(row?.timeout ?? 0)
}

/** Statements of each connection, prepared once. */
const prepared = new WeakMap<SqliteDatabase, Map<string, SqliteStatement>>()

function query(database: SqliteDatabase, sql: string, params: readonly Param[]): QueryResult {
  const statement = statementOf(database, sql)
  if (!/^(SELECT|PRAGMA)/.test(sql)) return { rows: [], affected: Number(statement.run(...params).changes) }
  return { rows: statement.all(...params) as QueryResult['rows'], affected: null }
}

function statementOf(database: SqliteDatabase, sql: string): SqliteStatement {
  const statements = prepared.get(database) ?? new Map<string, SqliteStatement>()
  prepared.set(database, statements)
  const statement = statements.get(sql) ?? database.prepare(sql)
  statements.set(sql, statement)
  return statement
}

function classify(error: unknown): Failure {
  const code = resultCodeOf(error)
  if (code === 'BUSY' || code === 'LOCKED') return 'retry'
  return code === 'IOERR' || code === 'CANTOPEN' ? 'unavailable' : 'other'
}
