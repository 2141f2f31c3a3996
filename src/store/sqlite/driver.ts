/**
 * What the ledger needs of a SQLite driver. `new Database(path)` of better-sqlite3 and `new DatabaseSync(path)` of
 * node:sqlite both have this shape, so neither is named here.
 */
export interface SqliteDatabase {
  exec(sql: string): unknown
  prepare(sql: string): SqliteStatement
  close(): unknown
}

export interface SqliteStatement {
  run(...parameters: SqliteParameters[]): { readonly changes: number | bigint }
  get(...parameters: SqliteParameters[]): unknown
  all(...parameters: SqliteParameters[]): unknown[]
}

export type SqliteValue = string | number | null
// biome-ignore lint/suspicious/noExplicitAny: the two drivers type their parameters differently; the values above are what is passed.
export type SqliteParameters = any

/** Opens a connection to the file, creating it where it is missing. */
export type SqliteDriver = (path: string) => SqliteDatabase

/** Primary result codes by number, as node:sqlite gives them; better-sqlite3 gives the names, extended ones too. */
const CODES: Readonly<Record<number, string>> = {
  5: 'SQLITE_BUSY',
  6: 'SQLITE_LOCKED',
  7: 'SQLITE_NOMEM',
  8: 'SQLITE_READONLY',
  10: 'SQLITE_IOERR',
  11: 'SQLITE_CORRUPT',
  13: 'SQLITE_FULL',
  14: 'SQLITE_CANTOPEN',
  15: 'SQLITE_PROTOCOL',
  18: 'SQLITE_TOOBIG',
  19: 'SQLITE_CONSTRAINT',
  20: 'SQLITE_MISMATCH',
  23: 'SQLITE_AUTH',
  25: 'SQLITE_RANGE',
  26: 'SQLITE_NOTADB',
}

/** The primary result code of what a driver threw; null where SQLite did not speak. */
export function sqliteCode(error: unknown): string | null {
  if (!(error instanceof Error)) return null
  const { code, errcode } = error as { code?: unknown; errcode?: unknown }
  if (typeof errcode === 'number') return CODES[errcode & 0xff] ?? 'SQLITE_ERROR'
  if (typeof code !== 'string' || !code.startsWith('SQLITE_')) return null
  return Object.values(CODES).find((name) => code === name || code.startsWith(`${name}_`)) ?? 'SQLITE_ERROR'
}

/** Somebody else holds the lock just now. */
export function isBusy(error: unknown): boolean {
  const code = sqliteCode(error)
  return code === 'SQLITE_BUSY' || code === 'SQLITE_LOCKED' || code === 'SQLITE_PROTOCOL'
}

const SENTENCES: Readonly<Record<string, string>> = {
  SQLITE_FULL: 'the disk is full: free some space, the fleet goes on by itself',
  SQLITE_READONLY: 'it is read-only: let this process write the file and its folder',
  SQLITE_CANTOPEN: 'it cannot be opened: its folder must exist and be writable',
  SQLITE_IOERR: 'reading or writing the disk failed: look at the disk; a network file system will not do',
  SQLITE_CORRUPT: 'the file is damaged: put a backup in its place',
  SQLITE_NOTADB: 'the file is not a SQLite database: look at its path',
  SQLITE_NOMEM: 'SQLite ran out of memory',
  SQLITE_AUTH: 'access was denied',
}

/** Why the ledger cannot be used, as the end of a sentence; null where SQLite did not speak. */
export function whyUnavailable(error: unknown): string | null {
  const code = sqliteCode(error)
  return code === null ? null : (SENTENCES[code] ?? `SQLite says: ${(error as Error).message}`)
}

const ABOUT_DATA = new Set(['SQLITE_CONSTRAINT', 'SQLITE_TOOBIG', 'SQLITE_MISMATCH', 'SQLITE_RANGE'])

/** Whether a statement failed by the values it was given, so that other values may fare better. */
export function isAboutData(error: unknown): boolean {
  const code = sqliteCode(error)
  return code === null ? error instanceof TypeError || error instanceof RangeError : ABOUT_DATA.has(code)
}
