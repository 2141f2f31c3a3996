import { FleetcronError } from '../../errors.js'
import type { AmbientOption, TransactionOptions } from '../connections.js'
import { createEffects } from '../effects.js'
import { libraryAdapter } from '../library.js'
import { takeTransactionOptions } from '../options.js'
import type { AsyncAdapter, EffectOptions, Effects, Param, QueryResult } from '../port.js'

/** What is needed of MikroORM's `EntityManager` of an SQL driver. */
export interface MikroOrmManager {
  isInTransaction(): boolean
  // biome-ignore lint/suspicious/noExplicitAny: MikroORM's own context.
  getTransactionContext(): any
  // biome-ignore lint/suspicious/noExplicitAny: MikroORM's own connection.
  getConnection(): any
  // biome-ignore lint/suspicious/noExplicitAny: MikroORM's own fork.
  fork(): any
  flush(): Promise<void>
}

export type MikroOrmEffectOptions<Manager = unknown> = EffectOptions &
  TransactionOptions &
  AmbientOption<Manager> & {
    readonly dialect: 'postgres' | 'mysql'
  }

/**
 * Effects through MikroORM on Postgres, MySQL or MariaDB; `tx` is the transaction's `EntityManager`. What `fn` has changed in
 * entities is flushed before the effect ends.
 */
export function mikroOrm<Manager extends MikroOrmManager>(
  manager: Manager,
  { dialect, ...options }: MikroOrmEffectOptions<Manager>,
): Effects<Manager> {
  const [transactions, rest] = takeTransactionOptions(options)
  return createEffects(mikroOrmAdapter(manager, dialect, transactions), rest)
}

export function mikroOrmAdapter<Manager extends MikroOrmManager>(
  manager: Manager,
  dialect: 'postgres' | 'mysql',
  options?: TransactionOptions & AmbientOption<Manager>,
): AsyncAdapter<Manager> {
  if (typeof manager?.fork !== 'function') {
    throw new FleetcronError(
      'OPTION_INVALID',
      'effects: mikroOrm(em, { dialect }) needs an EntityManager of MikroORM, `orm.em`.',
    )
  }
  return libraryAdapter<Manager>(
    {
      dialect,
      // A fork of its own for each: identity maps are not shared by transactions, nor is one that surrounds the caller.
      transaction: (fn, isolationLevel) => transaction(manager.fork(), fn, isolationLevel),
      query,
      flush: (tx) => tx.flush(),
      inTransaction: (tx) => tx.isInTransaction() && !isOver(tx.getTransactionContext()),
    },
    options,
  )
}

async function query(tx: MikroOrmManager, sql: string, params: readonly Param[]): Promise<QueryResult> {
  const returnsRows = /^SELECT|\bRETURNING\b/.test(sql)
  const connection = tx.getConnection()
  const text = sql.replaceAll(/\$\d+/g, '?')
  const result = await connection.execute(text, [...params], returnsRows ? 'all' : 'run', tx.getTransactionContext())
  if (returnsRows) return { rows: result, affected: null }
  return { rows: [], affected: Number((result as { affectedRows?: unknown }).affectedRows ?? 0) }
}

async function transaction<Manager extends MikroOrmManager, R>(
  fork: { transactional(fn: (tx: Manager) => Promise<R>, options: object): Promise<R> },
  fn: (tx: Manager) => Promise<R>,
  isolationLevel?: string,
): Promise<R> {
  let context: Context | undefined
  const body = (tx: Manager) => {
    context = tx.getTransactionContext()
    return fn(tx)
  }
  try {
    return await fork.transactional(body, isolationLevel ? { isolationLevel } : {})
  } catch (error) {
    if (!isOver(context)) await giveBack(context).catch(() => undefined)
    throw error
  }
}

/** An `EntityManager` keeps its transaction when that has ended; Kysely's, of MikroORM 7, and Knex's, of 6, tell it. */
function isOver(context: Context | undefined): boolean {
  if (context === undefined) return true
  return context.isCommitted === true || context.isRolledBack === true || context.isCompleted?.() === true
}

/**
 * Over a connection that broke no rollback succeeds, and Kysely then keeps the connection for ever. It is made to believe
 * in one: the server has rolled back, and the pool drops what has broken.
 */
async function giveBack(context: Context | undefined): Promise<void> {
  await context?.getExecutor?.().provideConnection(async (connection) => {
    connection.executeQuery = async () => ({ rows: [] })
  })
  await context?.rollback?.().execute()
}

/** What is used of a transaction of Kysely, or of Knex. */
interface Context {
  readonly isCommitted?: boolean
  readonly isRolledBack?: boolean
  isCompleted?(): boolean
  getExecutor?(): { provideConnection(fn: (connection: { executeQuery: unknown }) => Promise<void>): Promise<void> }
  rollback?(): { execute(): Promise<void> }
}
