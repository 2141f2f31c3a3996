import { accessSync } from 'node:fs'
import { FleetcronError } from '../errors.js'
import { loadSqliteDriver, type SqliteConnection, sqlitePath } from '../sqlite-driver.js'
import { MYSQL } from './dialects/mysql.js'
import { POSTGRES } from './dialects/postgres.js'
import { type Mysql2Pool, mysql2 } from './mysql2/index.js'
import { type PgPool, pg } from './pg/index.js'
import type { Dialect, Effects, Statements } from './port.js'
import { sqlite } from './sqlite/index.js'
import { SQLITE } from './sqlite/statements.js'
import { tablesText } from './tables.js'

/** Effects in the database that a URL names, and how its connections end. */
export interface ResolvedEffects {
  readonly effects: Effects
  close(): Promise<void>
}

/**
 * For the command line, which has no connection of the user's: `sqlite:./billing.db`, `postgres://…`, `mysql://…` or
 * `mariadb://…`. Rejects with `OPTION_INVALID` for any other URL and with `DRIVER_MISSING` where the driver is not installed.
 */
export async function resolveEffects(url: string): Promise<ResolvedEffects> {
  switch (dialectOf(url)) {
    case 'sqlite':
      return sqliteEffects(sqlitePath(url, invalid))
    case 'postgres':
      return postgresEffects(url)
    case 'mysql':
      return mysqlEffects(url)
  }
}

/** The SQL that makes the tables of effects in such a database; nothing is connected. @throws `OPTION_INVALID` */
export function effectTables(url: string): string {
  return tablesText(STATEMENTS[dialectOf(url)])
}

const STATEMENTS: Readonly<Record<Dialect, Statements>> = { sqlite: SQLITE, postgres: POSTGRES, mysql: MYSQL }

function dialectOf(url: string): Dialect {
  const [, scheme = ''] = /^([a-z][a-z0-9+.-]*):/i.exec(url) ?? []
  switch (scheme.toLowerCase()) {
    case 'sqlite':
      return 'sqlite'
    case 'postgres':
    case 'postgresql':
      return 'postgres'
    case 'mysql':
    case 'mariadb':
      return 'mysql'
    default:
      throw invalid(scheme === '' ? 'it has no scheme' : `no business database is known by ${scheme}:`)
  }
}

/** Names no more of the URL than its form: it may hold a password. */
function invalid(why: string): FleetcronError {
  const message = `The option effects is not understood: ${why}. Use sqlite:./business.db, postgres://… or mysql://….`
  return new FleetcronError('OPTION_INVALID', message)
}

async function sqliteEffects(path: string): Promise<ResolvedEffects> {
  const open = await loadSqliteDriver(`The business database ${path}`)
  const database = existing(path, open)
  return { effects: sqlite(database) as unknown as Effects, close: async () => void database.close() }
}

/** A path that is written wrong makes no new file. */
function existing(path: string, open: (path: string) => SqliteConnection): SqliteConnection {
  try {
    accessSync(path)
    return open(path)
  } catch (cause) {
    throw new FleetcronError('OPTION_INVALID', `The business database ${path} cannot be opened.`, { cause })
  }
}

interface Ending {
  on(event: 'error', listener: () => void): unknown
  end(): Promise<void>
}

/** What a driver says of a URL may show parts of it: only its form is told. */
function understood<R>(url: string, kind: string, make: () => R): R {
  if (!URL.canParse(url)) {
    throw invalid(
      `after ${kind}:// follow user:password@host:port/database, odd characters of a password as %40 and the like`,
    )
  }
  try {
    return make()
  } catch (error) {
    const code = (error as { code?: unknown } | null)?.code
    if (error instanceof URIError) throw invalid('it holds a % that no two digits follow')
    if (code === 'ENOENT' || code === 'EACCES') throw invalid(`a file that it names cannot be read (${code})`)
    throw invalid('the driver refuses it, or one of the settings after its ?')
  }
}

async function postgresEffects(connectionString: string): Promise<ResolvedEffects> {
  const driver = await loaded(() => import('pg'), 'pg')
  // A client that is made connects to nothing, but reads the URL as the pool's will.
  understood(connectionString, 'postgres', () => new driver.default.Client({ connectionString }))
  const Pool = driver.default.Pool as unknown as new (options: object) => PgPool & Ending
  const pool = new Pool({ connectionString, max: 2, connectionTimeoutMillis: 5_000 })
  pool.on('error', () => {})
  return { effects: pg(pool) as unknown as Effects, close: () => pool.end() }
}

async function mysqlEffects(url: string): Promise<ResolvedEffects> {
  const driver = await loaded(() => import('mysql2/promise'), 'mysql2')
  const createPool = driver.createPool as unknown as (options: object) => Mysql2Pool & Ending
  const uri = url.replace(/^mariadb:/i, 'mysql:')
  const pool = understood(url, 'mysql', () => createPool({ uri, connectionLimit: 2, connectTimeout: 5_000 }))
  return { effects: mysql2(pool) as unknown as Effects, close: () => pool.end() }
}

async function loaded<M>(load: () => Promise<M>, name: string): Promise<M> {
  try {
    return await load()
  } catch (cause) {
    const message = `This business database needs the driver ${name}, which is not installed: npm install ${name}.`
    throw new FleetcronError('DRIVER_MISSING', message, { cause })
  }
}
