import { FleetcronError } from '../../errors.js'
import type { AmbientOption, TransactionOptions } from '../connections.js'
import { createEffects } from '../effects.js'
import { libraryAdapter } from '../library.js'
import { takeTransactionOptions } from '../options.js'
import type { AsyncAdapter, EffectOptions, Effects, Failure, Param, QueryResult } from '../port.js'

/** What is needed of Prisma's `TransactionClient`. */
export interface PrismaTransaction {
  // biome-ignore lint/suspicious/noExplicitAny: as Prisma types it.
  $queryRawUnsafe(sql: string, ...values: any[]): PromiseLike<any>
  // biome-ignore lint/suspicious/noExplicitAny: as Prisma types it.
  $executeRawUnsafe(sql: string, ...values: any[]): PromiseLike<number>
}

/** What is needed of `PrismaClient`. */
export interface PrismaDatabase<Tx extends PrismaTransaction = PrismaTransaction> {
  // biome-ignore lint/suspicious/noExplicitAny: Prisma's own options.
  $transaction<R>(fn: (tx: Tx) => Promise<R>, options?: any): Promise<R>
}

export type PrismaEffectOptions<Tx = unknown> = EffectOptions &
  TransactionOptions &
  AmbientOption<Tx> & {
    readonly dialect: 'postgres' | 'mysql'
    /** Milliseconds that Prisma waits for a connection: its own option. Default: Prisma's, 2,000. */
    readonly maxWait?: number
    /** Milliseconds after which Prisma ends a transaction: its own option. Default: Prisma's, 5,000. */
    readonly timeout?: number
  }

/**
 * Effects through Prisma on Postgres, MySQL or MariaDB; `tx` is Prisma's `TransactionClient`.
 *
 * @example
 * const effects = prisma(new PrismaClient(), { dialect: 'postgres', timeout: 10_000 })
 */
export function prisma<Tx extends PrismaTransaction>(
  client: PrismaDatabase<Tx>,
  { dialect, maxWait, timeout, ...options }: PrismaEffectOptions<Tx>,
): Effects<Tx> {
  const [transactions, rest] = takeTransactionOptions(options)
  return createEffects(prismaAdapter(client, dialect, transactions, { maxWait, timeout }), rest)
}

export function prismaAdapter<Tx extends PrismaTransaction>(
  client: PrismaDatabase<Tx>,
  dialect: 'postgres' | 'mysql',
  options?: TransactionOptions & AmbientOption<Tx>,
  own: { readonly maxWait?: number | undefined; readonly timeout?: number | undefined } = {},
): AsyncAdapter<Tx> {
  if (typeof client?.$transaction !== 'function') {
    throw new FleetcronError('OPTION_INVALID', 'effects: prisma(client, { dialect }) needs a PrismaClient.')
  }
  const given = Object.fromEntries(Object.entries(own).filter(([, value]) => value !== undefined))
  return libraryAdapter<Tx>(
    {
      dialect,
      transaction: (fn, level) =>
        client.$transaction(fn, { ...given, ...(level && { isolationLevel: LEVELS[level] }) }),
      query,
      classify,
      serverError: (error) => serverErrorOf(dialect, error),
      // A transaction that is over does not say so; only the client itself can connect.
      inTransaction: (tx) => ('$connect' in tx ? false : null),
    },
    options,
  )
}

const LEVELS = {
  'read committed': 'ReadCommitted',
  'repeatable read': 'RepeatableRead',
  serializable: 'Serializable',
} as const

async function query(tx: PrismaTransaction, sql: string, params: readonly Param[]): Promise<QueryResult> {
  // Prisma takes a number for a 32-bit integer.
  const values = params.map((param) => (typeof param === 'number' ? BigInt(param) : param))
  if (/^SELECT|\bRETURNING\b/.test(sql)) return { rows: await tx.$queryRawUnsafe(sql, ...values), affected: null }
  return { rows: [], affected: await tx.$executeRawUnsafe(sql, ...values) }
}

/** P2034: a conflict or a deadlock; the others: not begun in time, over, or no connection. */
function classify(error: unknown): Failure {
  const { code } = (error ?? {}) as { code?: unknown }
  if (code === 'P2034') return 'retry'
  return typeof code === 'string' && AWAY.has(code) ? 'unavailable' : 'other'
}

const AWAY: ReadonlySet<string> = new Set(['P1001', 'P1002', 'P1008', 'P1017', 'P2024', 'P2028'])

/** Prisma 7 keeps the server's code in the cause of the driver adapter's error, Prisma 6 without one in `meta.code`. */
interface Told {
  readonly originalCode?: unknown
  readonly constraint?: { readonly index?: unknown }
}

function serverErrorOf(dialect: 'postgres' | 'mysql', error: unknown): unknown {
  const { meta, cause } = error as { meta?: { code?: unknown; driverAdapterError?: { cause?: Told } }; cause?: Told }
  const told = meta?.driverAdapterError?.cause ?? cause
  const code = told?.originalCode ?? meta?.code
  if (typeof code !== 'string') return undefined
  if (dialect === 'postgres') return { severity: 'ERROR', code, constraint: told?.constraint?.index }
  const errno = Number(code)
  // The client's own numbers begin there: a connection that broke.
  return errno < 45_000 ? { errno, sqlState: '' } : undefined
}
