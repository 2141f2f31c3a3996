import { FleetcronError } from '../../errors.js'
import type { AmbientOption, TransactionOptions } from '../connections.js'
import { createEffects } from '../effects.js'
import { libraryAdapter } from '../library.js'
import { takeTransactionOptions } from '../options.js'
import type { AsyncAdapter, EffectOptions, Effects, Param, QueryResult } from '../port.js'

/** What is needed of TypeORM's `EntityManager`. */
export interface TypeormManager {
  // biome-ignore lint/suspicious/noExplicitAny: as TypeORM types it.
  query(sql: string, params?: any[]): Promise<any>
  // biome-ignore lint/suspicious/noExplicitAny: its `query` has overloads, of which one gives the structured result.
  readonly queryRunner?: any
}

/** What is needed of TypeORM's `DataSource`. */
export interface TypeormDataSource<Manager extends TypeormManager = TypeormManager> {
  readonly options: { readonly type: string }
  transaction<R>(fn: (manager: Manager) => Promise<R>): Promise<R>
  // biome-ignore lint/suspicious/noExplicitAny: TypeORM's own names of the levels.
  transaction<R>(isolation: any, fn: (manager: Manager) => Promise<R>): Promise<R>
}

export type TypeormEffectOptions<Manager> = EffectOptions & TransactionOptions & AmbientOption<Manager>

/**
 * Effects through a TypeORM `DataSource` of Postgres, MySQL or MariaDB; `tx` is the transaction's `EntityManager`.
 *
 * @example
 * FleetModule.forRootAsync({ inject: [DataSource], useFactory: (db: DataSource) => ({ fleet: 'billing', effects: typeorm(db) }) })
 */
export function typeorm<Manager extends TypeormManager>(
  dataSource: TypeormDataSource<Manager>,
  options: TypeormEffectOptions<Manager> = {},
): Effects<Manager> {
  const [transactions, rest] = takeTransactionOptions(options)
  return createEffects(typeormAdapter(dataSource, transactions), rest)
}

export function typeormAdapter<Manager extends TypeormManager>(
  dataSource: TypeormDataSource<Manager>,
  options?: TransactionOptions & AmbientOption<Manager>,
): AsyncAdapter<Manager> {
  const library = {
    dialect: dialectOf(dataSource),
    transaction: <R>(fn: (tx: Manager) => Promise<R>, isolation?: string) =>
      isolation ? dataSource.transaction(isolation.toUpperCase(), fn) : dataSource.transaction(fn),
    query,
    inTransaction: ({ queryRunner }: Manager) => queryRunner?.isTransactionActive ?? false,
  }
  return libraryAdapter<Manager>(library, options)
}

async function query(tx: TypeormManager, sql: string, params: readonly Param[]): Promise<QueryResult> {
  const { raw, records, affected } = await tx.queryRunner.query(sql, [...params], true)
  return {
    rows: Array.isArray(records) ? records : Array.isArray(raw) ? raw : [],
    affected: affected ?? raw?.affectedRows ?? null,
  }
}

function dialectOf(dataSource: TypeormDataSource): 'postgres' | 'mysql' {
  const type = dataSource?.options?.type
  if (type === 'postgres' || type === 'aurora-postgres') return 'postgres'
  if (type === 'mysql' || type === 'mariadb') return 'mysql'
  throw new FleetcronError(
    'OPTION_INVALID',
    `effects: typeorm() needs a DataSource of type postgres, mysql or mariadb, not ${type === undefined ? 'a value without options.type' : `'${type}'`}. For SQLite hand the connection to sqlite().`,
  )
}
