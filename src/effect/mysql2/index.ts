import { parseDuration } from '../../duration.js'
import { FleetcronError } from '../../errors.js'
import {
  type AmbientOption,
  asBroken,
  isBroken,
  Patience,
  silenceMsOf,
  type TransactionOptions,
} from '../connections.js'
import { failureOfNumber, MYSQL } from '../dialects/mysql.js'
import { createEffects } from '../effects.js'
import { takeTransactionOptions } from '../options.js'
import type { AsyncAdapter, EffectOptions, Effects, Failure, Param, QueryResult } from '../port.js'

/** What is needed of a connection of `mysql2/promise` that the user holds. */
export interface Mysql2Connection {
  query(sql: string, params?: unknown[]): Promise<readonly [unknown, ...unknown[]]>
}

export interface Mysql2PoolConnection extends Mysql2Connection {
  release(): void
  destroy(): void
}

/** What is needed of the pool of `mysql2/promise`. */
export interface Mysql2Pool<Connection extends Mysql2PoolConnection = Mysql2PoolConnection> {
  getConnection(): Promise<Connection>
}

export type Mysql2EffectOptions<Connection = Mysql2PoolConnection> = EffectOptions &
  TransactionOptions &
  AmbientOption<Connection>

/**
 * Effects in MySQL 8 or MariaDB 10.6+ through the user's own pool of `mysql2/promise`; `tx` is the `PoolConnection` of the
 * transaction.
 *
 * @example
 * const pool = createPool(process.env.DATABASE_URL)   // from 'mysql2/promise'
 * const fleet = createFleet({ fleet: 'billing', store: process.env.DATABASE_URL, effects: mysql2(pool) })
 */
export function mysql2<Connection extends Mysql2PoolConnection>(
  pool: Mysql2Pool<Connection>,
  options: Mysql2EffectOptions<Connection> = {},
): Effects<Connection> {
  const [transactions, rest] = takeTransactionOptions(options)
  return createEffects(mysql2Adapter(pool, transactions), rest)
}

export function mysql2Adapter<Connection extends Mysql2PoolConnection>(
  pool: Mysql2Pool<Connection>,
  options: TransactionOptions & AmbientOption<Connection> = {},
): AsyncAdapter<Connection> {
  if (typeof pool?.getConnection !== 'function') throw notAPool()
  const settings = settingsOf(options)
  const { ambient } = options
  const patience = new Patience(parseDuration(options.connectTimeout ?? '10s', 'effects: connectTimeout'))
  return {
    dialect: 'mysql',
    sync: false,
    statements: MYSQL,
    transaction: (fn, leaseMs) => transaction(pool, patience, settings(leaseMs), fn),
    query,
    classify,
    inTransaction: () => null,
    ...(ambient && { ambient: () => ambient() ?? null }),
  }
}

/** How the session is set for a transaction and set back after it: `wait_timeout` is the only limit that both databases have. */
function settingsOf(options: TransactionOptions): (leaseMs?: number) => readonly [string[], string] {
  const { isolationLevel } = options
  const silenceMs = silenceMsOf(options)
  return (leaseMs) => {
    const idleS = Math.max(1, Math.floor(silenceMs(leaseMs) / 1000))
    const begin = [`SET @fleetcron_wait = @@SESSION.wait_timeout, SESSION wait_timeout = ${idleS}`]
    if (isolationLevel) begin.push(`SET TRANSACTION ISOLATION LEVEL ${isolationLevel.toUpperCase()}`)
    return [[...begin, 'START TRANSACTION'], 'SET SESSION wait_timeout = @fleetcron_wait']
  }
}

/** Said in full: by its `completion_type` a server begins another transaction, or ends the session. */
const COMMIT = 'COMMIT AND NO CHAIN NO RELEASE'
const ROLLBACK = 'ROLLBACK AND NO CHAIN NO RELEASE'

async function transaction<Connection extends Mysql2PoolConnection, R>(
  pool: Mysql2Pool<Connection>,
  patience: Patience,
  [begin, after]: readonly [string[], string],
  fn: (tx: Connection) => Promise<R>,
): Promise<R> {
  const connection = await patience.wait(pool.getConnection(), (late) => late.release())
  if (typeof connection?.release !== 'function') throw notAPool()
  let isGood = false
  try {
    for (const sql of begin) await statement(connection, sql)
    const value = await fn(connection)
    await statement(connection, COMMIT)
    isGood = await isDone(connection, after)
    return value
  } catch (error) {
    const isRolledBack = await isDone(connection, ROLLBACK)
    isGood = isRolledBack && (await isDone(connection, after))
    // A connection that cannot even roll back has broken; the server rolls back what it finds unfinished.
    throw isRolledBack ? error : asBroken(error)
  } finally {
    if (isGood) connection.release()
    else connection.destroy()
    patience.moved()
  }
}

async function isDone(connection: Mysql2Connection, sql: string): Promise<boolean> {
  return connection.query(sql).then(
    () => true,
    () => false,
  )
}

async function query(tx: Mysql2Connection, sql: string, params: readonly Param[]): Promise<QueryResult> {
  const result = await statement(tx, sql, params)
  if (Array.isArray(result)) return { rows: result as QueryResult['rows'], affected: null }
  return { rows: [], affected: Number((result as { affectedRows?: unknown } | null)?.affectedRows ?? 0) }
}

async function statement(connection: Mysql2Connection, sql: string, params: readonly Param[] = []): Promise<unknown> {
  try {
    const [result] = await connection.query(sql, [...params])
    return result
  } catch (error) {
    throw isServers(error) ? error : asBroken(error)
  }
}

/** Errors of the server bear its number and an SQLSTATE; those of the connection do not. */
function isServers(error: unknown): boolean {
  return typeof (error as { sqlState?: unknown } | null)?.sqlState === 'string'
}

function classify(error: unknown): Failure {
  if (isBroken(error)) return 'unavailable'
  return isServers(error) ? failureOfNumber(error) : 'other'
}

function notAPool(): FleetcronError {
  return new FleetcronError(
    'OPTION_INVALID',
    'effects: mysql2() needs the pool of mysql2/promise, `createPool(…)`: each transaction has a connection of its own.',
  )
}
