/**
 * What is needed of a connection: better-sqlite3's `Database` and node:sqlite's `DatabaseSync` both have this shape. The
 * user hands in his own; no driver is imported.
 */
export interface SqliteDatabase {
  prepare(sql: string): SqliteStatement
  exec(sql: string): unknown
  /** better-sqlite3. */
  readonly inTransaction?: boolean
  /** node:sqlite, from Node 22.16. */
  readonly isTransaction?: boolean
  /** better-sqlite3; a method in node:sqlite. */
  readonly open?: unknown
  /** node:sqlite. */
  readonly isOpen?: boolean
}

export interface SqliteStatement {
  all(...params: unknown[]): unknown
  run(...params: unknown[]): { readonly changes: number | bigint }
}

/** Whether a transaction is open on the connection; null where the driver does not say (node:sqlite before 22.16). */
export function inTransaction(database: SqliteDatabase): boolean | null {
  return database.inTransaction ?? database.isTransaction ?? null
}

export function isOpen(database: SqliteDatabase): boolean {
  // node:sqlite's `open` is a method; its `isOpen` is asked first.
  return database.isOpen ?? database.open !== false
}

/** SQLite's primary result code of an error of either driver, null for any other error. */
export function resultCodeOf(error: unknown): string | null {
  if (typeof error !== 'object' || error === null) return null
  const { code, errcode } = error as { code?: unknown; errcode?: unknown }
  if (code === 'ERR_SQLITE_ERROR' && typeof errcode === 'number') return NAMES[errcode & 0xff] ?? 'ERROR'
  if (typeof code !== 'string' || !code.startsWith('SQLITE_')) return null
  return code.split('_')[1] ?? null
}

/** Those that mean something here. */
const NAMES: Readonly<Record<number, string>> = { 5: 'BUSY', 6: 'LOCKED', 10: 'IOERR', 14: 'CANTOPEN' }
