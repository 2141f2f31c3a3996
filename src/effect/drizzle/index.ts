import { FleetcronError } from '../../errors.js'
import type { AmbientOption, TransactionOptions } from '../connections.js'
import { createEffects } from '../effects.js'
import { libraryAdapter } from '../library.js'
import { takeTransactionOptions } from '../options.js'
import type { AsyncAdapter, EffectOptions, Effects, Param, QueryResult } from '../port.js'

/** What is needed of a transaction of Drizzle. */
export interface DrizzleTransaction {
  // biome-ignore lint/suspicious/noExplicitAny: Drizzle's own SQL, and the driver's own result.
  execute(query: any): PromiseLike<any>
}

/** What is needed of Drizzle's database, for node-postgres, postgres-js or mysql2. */
export interface DrizzleDatabase<Tx extends DrizzleTransaction = DrizzleTransaction> {
  // biome-ignore lint/suspicious/noExplicitAny: each driver's own transaction options.
  transaction<R>(fn: (tx: Tx) => Promise<R>, options?: any): Promise<R>
}

/** Drizzle's `sql`: statements can be built only through it. */
export interface DrizzleSql {
  raw(text: string): unknown
  param(value: unknown): unknown
  // biome-ignore lint/suspicious/noExplicitAny: Drizzle's chunks.
  join(chunks: any[]): unknown
}

export type DrizzleEffectOptions<Tx = unknown> = EffectOptions &
  TransactionOptions &
  AmbientOption<Tx> & {
    /** `sql` of `drizzle-orm`. */
    readonly sql: DrizzleSql
    readonly dialect: 'postgres' | 'mysql'
  }

/**
 * Effects through Drizzle on Postgres, MySQL or MariaDB; `tx` is Drizzle's transaction.
 *
 * @example
 * import { sql } from 'drizzle-orm'
 * const effects = drizzle(db, { sql, dialect: 'postgres' })
 */
export function drizzle<Tx extends DrizzleTransaction>(
  database: DrizzleDatabase<Tx>,
  { sql, dialect, ...options }: DrizzleEffectOptions<Tx>,
): Effects<Tx> {
  const [transactions, rest] = takeTransactionOptions(options)
  return createEffects(drizzleAdapter(database, sql, dialect, transactions), rest)
}

export function drizzleAdapter<Tx extends DrizzleTransaction>(
  database: DrizzleDatabase<Tx>,
  sql: DrizzleSql,
  dialect: 'postgres' | 'mysql',
  options?: TransactionOptions & AmbientOption<Tx>,
): AsyncAdapter<Tx> {
  if (typeof sql?.raw !== 'function' || typeof database?.transaction !== 'function') {
    throw new FleetcronError(
      'OPTION_INVALID',
      'effects: drizzle(db, { sql, dialect }) needs the database and `sql` of drizzle-orm.',
    )
  }
  return libraryAdapter<Tx>(
    {
      dialect,
      transaction: (fn, isolationLevel) =>
        database.transaction((tx) => surviving(tx, fn), isolationLevel && { isolationLevel }),
      query: async (tx, text, params) => resultOf(await tx.execute(built(sql, text, params))),
    },
    options,
  )
}

interface Emitter {
  on(event: 'error', listener: () => void): unknown
  off(event: 'error', listener: () => void): unknown
}

/**
 * The server may end a connection while nobody asks it anything. A client of `pg` that is taken out of its pool says so by
 * an event, which ends the process where nobody listens; the next statement fails in any case.
 */
async function surviving<Tx, R>(tx: Tx, fn: (tx: Tx) => Promise<R>): Promise<R> {
  const { client } = (tx as { session?: { client?: Partial<Emitter> } }).session ?? {}
  if (typeof client?.on !== 'function' || typeof client.off !== 'function') return fn(tx)
  const listener = () => {}
  client.on('error', listener)
  try {
    return await fn(tx)
  } finally {
    client.off('error', listener)
  }
}

/** The text between the placeholders, raw, and the parameters where they were. */
function built(sql: DrizzleSql, text: string, params: readonly Param[]): unknown {
  const [first = '', ...others] = text.split(/\$\d+|\?/)
  const chunks = others.flatMap((part, i) => [sql.param(params[i]), sql.raw(part)])
  return sql.join([sql.raw(first), ...chunks])
}

/** node-postgres gives rows and a count, postgres-js an array with a count, mysql2 rows or a header. */
function resultOf(result: unknown): QueryResult {
  const { rows, rowCount, count } = result as { rows?: unknown; rowCount?: unknown; count?: unknown }
  if (Array.isArray(rows)) return { rows, affected: typeof rowCount === 'number' ? rowCount : null }
  if (Array.isArray(result) && typeof count === 'number') return { rows: [...result], affected: count }
  const [head] = result as readonly [unknown]
  if (Array.isArray(head)) return { rows: head, affected: null }
  return { rows: [], affected: Number((head as { affectedRows?: unknown }).affectedRows) }
}
