import { FleetcronError } from '../../errors.js'
import type { AmbientOption, TransactionOptions } from '../connections.js'
import { createEffects } from '../effects.js'
import { libraryAdapter } from '../library.js'
import { takeTransactionOptions } from '../options.js'
import type { AsyncAdapter, EffectOptions, Effects, QueryResult } from '../port.js'

/** What is needed of Knex's `Transaction`. */
export interface KnexTransaction {
  // biome-ignore lint/suspicious/noExplicitAny: Knex's own bindings, and the driver's own result.
  raw(sql: string, bindings: any): PromiseLike<any>
  isCompleted(): boolean
}

/** What is needed of Knex. */
export interface KnexDatabase<Tx extends KnexTransaction = KnexTransaction> {
  // biome-ignore lint/suspicious/noExplicitAny: Knex's own options and results.
  transaction(fn: (tx: Tx) => any, options?: any): Promise<any>
  // biome-ignore lint/suspicious/noExplicitAny: Knex's own client.
  readonly client: any
}

export type KnexEffectOptions<Tx = unknown> = EffectOptions & TransactionOptions & AmbientOption<Tx>

/** Effects through Knex on Postgres, MySQL or MariaDB; `tx` is Knex's `Transaction`. */
export function knex<Tx extends KnexTransaction>(
  database: KnexDatabase<Tx>,
  options: KnexEffectOptions<Tx> = {},
): Effects<Tx> {
  const [transactions, rest] = takeTransactionOptions(options)
  return createEffects(knexAdapter(database, transactions), rest)
}

export function knexAdapter<Tx extends KnexTransaction>(
  database: KnexDatabase<Tx>,
  options?: TransactionOptions & AmbientOption<Tx>,
): AsyncAdapter<Tx> {
  const dialect = dialectOf(database)
  return libraryAdapter<Tx>(
    {
      dialect,
      transaction: (fn, isolationLevel) => database.transaction(fn, isolationLevel && { isolationLevel }),
      // Knex's own placeholder is `?`, whatever the database's is.
      query: async (tx, sql, params) => resultOf(await tx.raw(sql.replaceAll(/\$\d+/g, '?'), [...params])),
      inTransaction: (tx) => (typeof tx.isCompleted === 'function' ? !tx.isCompleted() : false),
    },
    options,
  )
}

function resultOf(result: unknown): QueryResult {
  const { rows, rowCount } = result as { rows?: unknown; rowCount?: unknown }
  if (Array.isArray(rows)) return { rows, affected: typeof rowCount === 'number' ? rowCount : null }
  const [head] = result as readonly [unknown]
  if (Array.isArray(head)) return { rows: head, affected: null }
  return { rows: [], affected: Number((head as { affectedRows?: unknown }).affectedRows) }
}

function dialectOf(database: KnexDatabase): 'postgres' | 'mysql' {
  const name = database?.client?.config?.client
  if (name === 'pg' || name === 'postgres' || name === 'postgresql') return 'postgres'
  if (name === 'mysql2') return 'mysql'
  throw new FleetcronError(
    'OPTION_INVALID',
    `effects: knex() needs Knex with the client pg or mysql2, not ${String(name)}.`,
  )
}
