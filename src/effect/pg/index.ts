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
import { failureOfState, POSTGRES } from '../dialects/postgres.js'
import { createEffects } from '../effects.js'
import { takeTransactionOptions } from '../options.js'
import type { AsyncAdapter, EffectOptions, Effects, Failure, Param, QueryResult } from '../port.js'

/** What is needed of a connection of `pg`: a `PoolClient` or a `Client` that the user holds. */
export interface PgClient {
  query(sql: string, params?: unknown[]): Promise<PgResult>
  /** From pg 8.17: `I` outside, `T` inside, `E` inside a failed transaction. */
  getTransactionStatus?(): string | null
  on?(event: 'error', listener: (error: Error) => void): unknown
  off?(event: 'error', listener: (error: Error) => void): unknown
}

export interface PgResult {
  readonly rows: unknown[]
  readonly rowCount: number | null
  readonly command?: string
}

export interface PgPoolClient extends PgClient {
  /** With an error, or true, the pool closes the connection instead of keeping it. */
  release(error?: Error | boolean): void
}

/** What is needed of `pg`'s `Pool`. */
export interface PgPool<Client extends PgPoolClient = PgPoolClient> {
  connect(): Promise<Client>
}

export type PgEffectOptions<Client = PgClient> = EffectOptions & TransactionOptions & AmbientOption<Client>

/**
 * Effects in Postgres through the user's own `Pool` of `pg`; `tx` is the `PoolClient` of the transaction.
 *
 * @example
 * const pool = new Pool({ connectionString: process.env.DATABASE_URL })
 * const fleet = createFleet({ fleet: 'billing', store: process.env.DATABASE_URL, effects: pg(pool) })
 */
export function pg<Pool extends PgPool>(
  pool: Pool,
  options: PgEffectOptions<ClientOf<Pool>> = {},
): Effects<ClientOf<Pool>> {
  const [transactions, rest] = takeTransactionOptions(options)
  return createEffects(pgAdapter(pool as unknown as PgPool<ClientOf<Pool>>, transactions), rest)
}

/** `connect` has a second form, with a callback, in the types of `pg`. */
type ClientOf<Pool> = Pool extends {
  connect(): Promise<infer Client extends PgPoolClient>
  connect(callback: never): unknown
}
  ? Client
  : PgPoolClient

export function pgAdapter<Client extends PgPoolClient>(
  pool: PgPool<Client>,
  options: TransactionOptions & AmbientOption<Client> = {},
): AsyncAdapter<Client> {
  if (typeof pool?.connect !== 'function') {
    throw notAPool()
  }
  const begin = beginOf(options)
  const { ambient } = options
  const patience = new Patience(parseDuration(options.connectTimeout ?? '10s', 'effects: connectTimeout'))
  return {
    dialect: 'postgres',
    sync: false,
    statements: POSTGRES,
    transaction: (fn, leaseMs) => transaction(pool, patience, begin(leaseMs), fn),
    query,
    classify,
    inTransaction,
    ...(ambient && { ambient: () => ambient() ?? null }),
  }
}

function notAPool(): FleetcronError {
  return new FleetcronError(
    'OPTION_INVALID',
    "effects: pg() needs pg's Pool, `new Pool({ connectionString })`: each transaction has a connection of its own.",
  )
}

/** One message to the server, also where a pooler hands each transaction another connection. */
function beginOf(options: TransactionOptions): (leaseMs?: number) => string {
  const { isolationLevel } = options
  const silenceMs = silenceMsOf(options)
  const isolation = isolationLevel ? ` ISOLATION LEVEL ${isolationLevel.toUpperCase()}` : ''
  return (leaseMs) => `BEGIN${isolation}; SET LOCAL idle_in_transaction_session_timeout = ${silenceMs(leaseMs)}`
}

async function transaction<Client extends PgPoolClient, R>(
  pool: PgPool<Client>,
  patience: Patience,
  begin: string,
  fn: (tx: Client) => Promise<R>,
): Promise<R> {
  let lost: Error | undefined
  // Without a listener the end of a connection that is checked out would end the process.
  const listener = (error: Error) => {
    lost = error
  }
  const client = await patience.wait(checkOut(pool, listener), (late) => {
    late.off?.('error', listener)
    late.release()
  })
  if (typeof client?.release !== 'function') throw notAPool()
  let isDone = false
  try {
    await statement(client, begin)
    const value = await fn(client)
    const { command } = await statement(client, 'COMMIT')
    isDone = true
    if (command === 'ROLLBACK') throw rolledBack()
    return value
  } catch (error) {
    if (!isDone) isDone = await rollBack(client)
    throw lost ? asBroken(error) : error
  } finally {
    client.off?.('error', listener)
    client.release(lost ?? !isDone)
    patience.moved()
  }
}

/**
 * A client that is listened to from the moment the pool stops: the pool takes its own listener off and calls back at once,
 * while a promise goes on a turn later, and the end of a connection may be in the very message that brought its beginning.
 * A pool that was wrapped, and knows no callback, answers with the promise.
 */
function checkOut<Client extends PgPoolClient>(
  pool: PgPool<Client>,
  listener: (error: Error) => void,
): Promise<Client> {
  const connect = pool.connect as (done: (error: unknown, client?: Client) => void) => Promise<Client> | undefined
  return new Promise((resolve, reject) => {
    let isOut = false
    const take = (client: Client) => {
      if (isOut) return
      isOut = true
      client?.on?.('error', listener)
      resolve(client)
    }
    const done = (error: unknown, client?: Client) => (error ? reject(error) : take(client as Client))
    connect.call(pool, done)?.then?.((client) => client && take(client), reject)
  })
}

/** Whether the connection is good for another transaction. */
async function rollBack(client: PgClient): Promise<boolean> {
  return client.query('ROLLBACK').then(
    () => true,
    () => false,
  )
}

/** COMMIT answers ROLLBACK when a statement had failed and the error was swallowed. */
function rolledBack(): FleetcronError {
  return new FleetcronError(
    'EFFECT_INVALID',
    'effects: the transaction was rolled back at its commit: a statement in it had failed, and its error was swallowed. ' +
      'Let the error of a failed statement end the effect.',
  )
}

async function query(tx: PgClient, sql: string, params: readonly Param[]): Promise<QueryResult> {
  const { rows, rowCount } = await statement(tx, sql, params)
  return { rows: rows as QueryResult['rows'], affected: rowCount }
}

async function statement(client: PgClient, sql: string, params: readonly Param[] = []): Promise<PgResult> {
  try {
    const result = await client.query(sql, params.length > 0 ? [...params] : undefined)
    return Array.isArray(result) ? (result.at(-1) as PgResult) : result
  } catch (error) {
    // What has no SQLSTATE did not come from the server.
    throw isStateOf(error) ? error : asBroken(error)
  }
}

function isStateOf(error: unknown): boolean {
  return /^[0-9A-Z]{5}$/.test(String((error as { code?: unknown } | null)?.code)) && !isSystemError(error)
}

/** `EPIPE` has five letters too. */
function isSystemError(error: unknown): boolean {
  return typeof (error as { errno?: unknown } | null)?.errno === 'number'
}

function classify(error: unknown): Failure {
  if (isBroken(error)) return 'unavailable'
  return isStateOf(error) ? failureOfState(error) : 'other'
}

function inTransaction(tx: PgClient): boolean | null {
  const status = tx.getTransactionStatus?.() ?? null
  return status === null ? null : status !== 'I'
}
