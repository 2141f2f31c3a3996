import { FleetcronError } from './errors.js'

/** What a ledger and effects need of a connection: better-sqlite3's `Database` and node:sqlite's `DatabaseSync` have it. */
export interface SqliteConnection {
  prepare(sql: string): SqliteConnectionStatement
  exec(sql: string): unknown
  close(): unknown
}

interface SqliteConnectionStatement {
  // biome-ignore lint/suspicious/noExplicitAny: the two drivers type their parameters differently.
  run(...parameters: any[]): { readonly changes: number | bigint }
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  get(...parameters: any[]): unknown
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  all(...parameters: any[]): unknown[]
}

export const NO_FILE = 'it names no file'

/**
 * The file of a URL: `sqlite:` and a path, or `sqlite://` and an absolute one, in which `%20` stands for a space as in any
 * URL.
 *
 * @param refused makes the error of a URL that is not understood
 */
export function sqlitePath(url: string, refused: (why: string) => Error): string {
  const rest = url.slice('sqlite:'.length)
  const isUrl = rest.startsWith('//')
  const path = isUrl ? decoded(rest.slice(2), refused) : rest
  if (path === '' || path === ':memory:') throw refused(NO_FILE)
  if (path.includes('?') || path.includes('\0')) throw refused('a path with ? or NUL in it is not understood')
  if (isUrl && !/^(\/|[a-z]:[\\/])/i.test(path)) {
    throw refused('after sqlite:// an absolute path follows, as in sqlite:///var/lib/app/ledger.db')
  }
  return isUrl ? path.replace(/^\/([a-z]:[\\/])/i, '$1') : path
}

function decoded(text: string, refused: (why: string) => Error): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw refused('it holds a % that no two digits follow')
  }
}

/**
 * better-sqlite3 where it is installed and works, otherwise the SQLite that newer versions of Node bring along. Opens a
 * connection to the file, creating it where it is missing.
 *
 * @param what names the database in the error
 * @throws `DRIVER_MISSING` where neither works
 */
export async function loadSqliteDriver(what: string): Promise<(path: string) => SqliteConnection> {
  const tried: unknown[] = []
  for (const load of [betterSqlite3, nodeSqlite]) {
    try {
      const driver = await load()
      driver(':memory:').close()
      return driver
    } catch (error) {
      tried.push(error)
    }
  }
  throw new FleetcronError(
    'DRIVER_MISSING',
    `${what} needs a SQLite driver, and none works here: npm install better-sqlite3 ` +
      '(Node 22.13 and later bring one of their own).',
    { cause: new AggregateError(tried) },
  )
}

async function betterSqlite3(): Promise<(path: string) => SqliteConnection> {
  // A bundler lets a driver be missing only where its absence is dealt with on the spot.
  const Database = await import('better-sqlite3').then(({ default: found }) => found, notInstalled)
  return (path) => new Database(path)
}

async function nodeSqlite(): Promise<(path: string) => SqliteConnection> {
  // Named by a variable: the types of the oldest supported Node do not have it, and bundlers need not look for it.
  const name = 'node:sqlite'
  const { DatabaseSync } = (await import(name)) as { DatabaseSync: new (path: string) => SqliteConnection }
  return (path) => new DatabaseSync(path)
}

function notInstalled(cause: unknown): never {
  throw new FleetcronError('DRIVER_MISSING', 'better-sqlite3 cannot be loaded here.', { cause })
}
