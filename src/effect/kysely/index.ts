import { FleetcronError } from '../../errors.js'
import type { AmbientOption, TransactionOptions } from '../connections.js'
import { createEffects } from '../effects.js'
import { libraryAdapter } from '../library.js'
import { takeTransactionOptions } from '../options.js'
import type { AsyncAdapter, EffectOptions, Effects } from '../port.js'

/** What is needed of Kysely's `Transaction`. */
export interface KyselyTransaction {
  readonly isTransaction: boolean
  // biome-ignore lint/suspicious/noExplicitAny: Kysely's own query.
  executeQuery(query: any): Promise<{ readonly rows: any[]; readonly numAffectedRows?: bigint }>
}

interface KyselyTransactionBuilder<Tx> {
  // biome-ignore lint/suspicious/noExplicitAny: Kysely's own names of the levels.
  setIsolationLevel(level: any): KyselyTransactionBuilder<Tx>
  execute<R>(fn: (tx: Tx) => Promise<R>): Promise<R>
}

/** What is needed of `Kysely`. */
export interface KyselyDatabase<Tx extends KyselyTransaction = KyselyTransaction> {
  transaction(): KyselyTransactionBuilder<Tx>
}

export type KyselyEffectOptions<Tx = unknown> = EffectOptions &
  TransactionOptions &
  AmbientOption<Tx> & {
    /** `CompiledQuery` of `kysely`: a statement as text can be made only through it. */
    readonly CompiledQuery: { raw(sql: string, params?: unknown[]): unknown }
    readonly dialect: 'postgres' | 'mysql'
  }

/**
 * Effects through Kysely on Postgres, MySQL or MariaDB; `tx` is Kysely's `Transaction`. On Postgres listen to your clients:
 * one that the server ends while it is taken out of its pool ends the process otherwise.
 *
 * @example
 * pool.on('connect', (client) => client.on('error', (error) => console.error(error)))
 * import { CompiledQuery } from 'kysely'
 * const effects = kysely(db, { CompiledQuery, dialect: 'postgres' })
 */
export function kysely<Tx extends KyselyTransaction>(
  database: KyselyDatabase<Tx>,
  { CompiledQuery, dialect, ...options }: KyselyEffectOptions<Tx>,
): Effects<Tx> {
  const [transactions, rest] = takeTransactionOptions(options)
  return createEffects(kyselyAdapter(database, CompiledQuery, dialect, transactions), rest)
}

export function kyselyAdapter<Tx extends KyselyTransaction>(
  database: KyselyDatabase<Tx>,
  CompiledQuery: KyselyEffectOptions['CompiledQuery'],
  dialect: 'postgres' | 'mysql',
  options?: TransactionOptions & AmbientOption<Tx>,
): AsyncAdapter<Tx> {
  if (typeof CompiledQuery?.raw !== 'function' || typeof database?.transaction !== 'function') {
    throw new FleetcronError(
      'OPTION_INVALID',
      'effects: kysely(db, { CompiledQuery, dialect }) needs the database and `CompiledQuery` of kysely.',
    )
  }
  return libraryAdapter<Tx>(
    {
      dialect,
      transaction: (fn, isolationLevel) => {
        const builder = database.transaction()
        return (isolationLevel ? builder.setIsolationLevel(isolationLevel) : builder).execute(fn)
      },
      async query(tx, sql, params) {
        const { rows, numAffectedRows } = await tx.executeQuery(CompiledQuery.raw(sql, [...params]))
        return { rows, affected: numAffectedRows === undefined ? null : Number(numAffectedRows) }
      },
      // A transaction that is over does not say so.
      inTransaction: (tx) => (tx.isTransaction === true ? null : false),
    },
    options,
  )
}
