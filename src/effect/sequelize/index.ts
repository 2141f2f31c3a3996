import { FleetcronError } from '../../errors.js'
import type { AmbientOption, TransactionOptions } from '../connections.js'
import { createEffects } from '../effects.js'
import { libraryAdapter } from '../library.js'
import { takeTransactionOptions } from '../options.js'
import type { AsyncAdapter, EffectOptions, Effects, QueryResult } from '../port.js'

/** What is needed of Sequelize's `Transaction`. */
export interface SequelizeTransaction {
  /** `commit` or `rollback` when it is over. */
  readonly finished?: unknown
}

/** What is needed of `Sequelize`. */
export interface SequelizeDatabase<Tx extends SequelizeTransaction = SequelizeTransaction> {
  getDialect(): string
  // biome-ignore lint/suspicious/noExplicitAny: Sequelize's own options.
  transaction<R>(options: any, fn: (tx: Tx) => PromiseLike<R>): Promise<R>
  // biome-ignore lint/suspicious/noExplicitAny: Sequelize's own options and results.
  query(sql: string, options: any): Promise<any>
}

export type SequelizeEffectOptions<Tx = unknown> = EffectOptions & TransactionOptions & AmbientOption<Tx>

/** Effects through Sequelize on Postgres, MySQL or MariaDB; `tx` is Sequelize's `Transaction`. */
export function sequelize<Tx extends SequelizeTransaction>(
  database: SequelizeDatabase<Tx>,
  options: SequelizeEffectOptions<Tx> = {},
): Effects<Tx> {
  const [transactions, rest] = takeTransactionOptions(options)
  return createEffects(sequelizeAdapter(database, transactions), rest)
}

export function sequelizeAdapter<Tx extends SequelizeTransaction>(
  database: SequelizeDatabase<Tx>,
  options?: TransactionOptions & AmbientOption<Tx>,
): AsyncAdapter<Tx> {
  const dialect = dialectOf(database)
  return libraryAdapter<Tx>(
    {
      dialect,
      transaction: (fn, isolationLevel) =>
        database.transaction({ ...(isolationLevel && { isolationLevel: isolationLevel.toUpperCase() }) }, fn),
      async query(tx, sql, params) {
        let place = 0
        // Sequelize binds by number on every database.
        const numbered = sql.replaceAll('?', () => `$${++place}`)
        const bind = params.length > 0 ? { bind: [...params] } : {}
        return resultOf(await database.query(numbered, { ...bind, transaction: tx, logging: false }))
      },
      inTransaction: (tx) => tx?.finished === undefined,
    },
    options,
  )
}

/** A pair of rows and what the driver says about them; both are the driver's header where there are no rows. */
function resultOf([rows, about]: readonly [unknown, unknown]): QueryResult {
  const { rowCount, affectedRows } = (about ?? {}) as { rowCount?: unknown; affectedRows?: unknown }
  const count = rowCount ?? affectedRows ?? (typeof about === 'number' ? about : null)
  return { rows: Array.isArray(rows) ? rows : [], affected: typeof count === 'number' ? count : null }
}

function dialectOf(database: SequelizeDatabase): 'postgres' | 'mysql' {
  const name = database?.getDialect?.()
  if (name === 'postgres') return 'postgres'
  if (name === 'mysql' || name === 'mariadb') return 'mysql'
  throw new FleetcronError(
    'OPTION_INVALID',
    `effects: sequelize() needs Sequelize on postgres, mysql or mariadb, not ${String(name)}.`,
  )
}
