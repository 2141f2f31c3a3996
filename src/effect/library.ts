import { parseDuration } from '../duration.js'
import {
  type AmbientOption,
  asBroken,
  type IsolationLevel,
  isBroken,
  Patience,
  silenceMsOf,
  type TransactionOptions,
} from './connections.js'
import { failureOfNumber, MYSQL } from './dialects/mysql.js'
import { failureOfState, POSTGRES } from './dialects/postgres.js'
import type { AsyncAdapter, Failure, Param, QueryResult } from './port.js'

/** How a library passes transactions and statements: all that an adapter for one has to say. */
export interface Library<Tx> {
  readonly dialect: 'postgres' | 'mysql'
  /** Begins, awaits `fn`, commits; rolls back and rejects when `fn` rejects. `isolationLevel` as the user asked, or not at all. */
  transaction<R>(fn: (tx: Tx) => Promise<R>, isolationLevel?: IsolationLevel): Promise<R>
  /** Placeholders are the database's own, `$1` or `?`: each parameter once and in order. */
  query(tx: Tx, sql: string, params: readonly Param[]): Promise<QueryResult>
  /** Writes what the library has put off, before the transaction ends. */
  flush?(tx: Tx): Promise<void>
  /** Whether a transaction is open on what the user passed; null, or left out: the library does not tell. */
  inTransaction?(tx: Tx): boolean | null
  /** The transaction that surrounds the caller, if there is one. */
  ambient?(): Tx | null
  /** What the library's own errors mean; errors of `pg` and `mysql2` underneath are understood. */
  classify?(error: unknown): Failure
  /** The server's error, shaped as `pg` or `mysql2` shape it, where the library tells it in a shape of its own. */
  serverError?(error: unknown): unknown
}

/** An adapter over a library that begins and ends transactions itself. */
export function libraryAdapter<Tx>(
  library: Library<Tx>,
  options: TransactionOptions & AmbientOption<Tx> = {},
): AsyncAdapter<Tx> {
  const { dialect } = library
  const patience = new Patience(parseDuration(options.connectTimeout ?? '10s', 'effects: connectTimeout'))
  const silenceMs = silenceMsOf(options)
  const query = async (tx: Tx, sql: string, params: readonly Param[]): Promise<QueryResult> => {
    try {
      return await library.query(tx, sql, params)
    } catch (error) {
      throw isServers(library, error) ? error : asBroken(error)
    }
  }
  const classify = (error: unknown): Failure => {
    if (isBroken(error)) return 'unavailable'
    const own = library.classify?.(error) ?? 'other'
    if (own !== 'other') return own
    return failureOfServer(library, error)
  }
  const ambient = options.ambient ?? library.ambient?.bind(library)
  return {
    dialect,
    sync: false,
    statements: dialect === 'postgres' ? POSTGRES : MYSQL,
    classify,
    inTransaction: (tx) => library.inTransaction?.(tx) ?? null,
    query,
    ...(ambient && { ambient: () => ambient() ?? null }),
    transaction: (fn, leaseMs) => {
      const silence = SILENCE[dialect](silenceMs(leaseMs))
      return transaction(library, { query, silence, patience, options }, fn)
    },
  }
}

interface Means<Tx> {
  readonly query: (tx: Tx, sql: string, params: readonly Param[]) => Promise<QueryResult>
  readonly silence: Silence
  readonly patience: Patience
  readonly options: TransactionOptions
}

async function transaction<Tx, R>(library: Library<Tx>, means: Means<Tx>, fn: (tx: Tx) => Promise<R>): Promise<R> {
  const { query, silence, patience, options } = means
  let thrown: { readonly error: unknown } | null = null
  let isLate = false
  let begin: (value: 'begun') => void = () => {}
  const begun = new Promise<'begun'>((resolve) => {
    begin = resolve
  })
  const body = async (tx: Tx): Promise<R> => {
    begin('begun')
    try {
      if (isLate) throw new Error('the effect has given up waiting for a connection')
      await query(tx, silence.begin, [])
      const value = await fn(tx)
      await library.flush?.(tx)
      if (silence.end) await query(tx, silence.end, [])
      return value
    } catch (error) {
      thrown = { error }
      if (silence.end) await query(tx, silence.end, []).catch(() => undefined)
      throw error
    }
  }
  const work = library.transaction(body, options.isolationLevel).finally(() => patience.moved())
  try {
    await patience.wait(Promise.race([begun, work.then(() => 'begun' as const)]), () => {})
    return await work
  } catch (error) {
    isLate = true
    work.catch(() => undefined)
    // What `fn` threw comes out as it is; what failed around it is the connection's, unless the server said why.
    const isOurs = thrown !== null && (thrown as { readonly error: unknown }).error === error
    throw isOurs || isServers(library, error) ? error : asBroken(error)
  }
}

/** How the server is told to cut off a holder that falls silent in the transaction, and how that is undone. */
interface Silence {
  readonly begin: string
  readonly end: string | null
}

const SILENCE: Readonly<Record<Library<unknown>['dialect'], (ms: number) => Silence>> = {
  postgres: (ms) => ({ begin: `SET LOCAL idle_in_transaction_session_timeout = ${ms}`, end: null }),
  mysql: (ms) => ({
    begin: `SET @fleetcron_wait = @@SESSION.wait_timeout, SESSION wait_timeout = ${Math.max(1, Math.floor(ms / 1000))}`,
    end: 'SET SESSION wait_timeout = @fleetcron_wait',
  }),
}

/** Whether the server itself refused, as `pg` and `mysql2` tell it, however deep a library has wrapped it. */
function isServers<Tx>(library: Library<Tx>, error: unknown): boolean {
  for (const inner of chainOf(library, error)) if (isPostgres(inner) || isMysql(inner)) return true
  return false
}

function failureOfServer<Tx>(library: Library<Tx>, error: unknown): Failure {
  for (const inner of chainOf(library, error)) {
    const failure = isMysql(inner) ? failureOfNumber(inner) : isPostgres(inner) ? failureOfState(inner) : 'other'
    if (failure !== 'other') return failure
  }
  return 'other'
}

function* chainOf<Tx>(library: Library<Tx>, error: unknown): Generator<Readonly<Record<string, unknown>>> {
  const waiting = [error]
  for (let seen = 0; waiting.length > 0 && seen < 20; seen++) {
    const inner = waiting.shift()
    if (typeof inner !== 'object' || inner === null) continue
    const wrapped = inner as Readonly<Record<string, unknown>>
    yield wrapped
    waiting.push(wrapped.cause, wrapped.driverError, wrapped.original, wrapped.parent, wrapped.previous)
    waiting.push(library.serverError?.(wrapped))
  }
}

function isPostgres({ code, severity }: Readonly<Record<string, unknown>>): boolean {
  return typeof severity === 'string' && typeof code === 'string'
}

function isMysql({ errno, sqlState }: Readonly<Record<string, unknown>>): boolean {
  return typeof errno === 'number' && typeof sqlState === 'string'
}
