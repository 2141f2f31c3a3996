import { FleetcronError } from '../errors.js'
import { type Mysql2Pool, mysql2 } from './mysql2/index.js'
import { type PgPool, pg } from './pg/index.js'
import type { Effects } from './port.js'
import type { SqliteDatabase } from './sqlite/database.js'
import { sqlite } from './sqlite/index.js'

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
  const [, scheme = ''] = /^([a-z][a-z0-9+.-]*):/i.exec(url) ?? []
  switch (scheme.toLowerCase()) {
    case 'sqlite':
      return sqliteEffects(url.slice('sqlite:'.length).replace(/^\/\/(?=\/)/, ''))
    case 'postgres':
    case 'postgresql':
      return postgresEffects(url)
    case 'mysql':
    case 'mariadb':
      return mysqlEffects(url)
    default: {
      // Names no more of the URL than this: it may hold a password.
      const message = 'The option effects is not understood: use sqlite:./business.db, postgres://… or mysql://….'
      throw new FleetcronError('OPTION_INVALID', message)
    }
  }
}

async function sqliteEffects(path: string): Promise<ResolvedEffects> {
  const Database = await loaded(() => import('better-sqlite3'), 'better-sqlite3')
  const open = Database.default as unknown as new (
    path: string,
    options: object,
  ) => SqliteDatabase & { close(): unknown }
  let database: InstanceType<typeof open>
  try {
    database = new open(path, { fileMustExist: true })
  } catch (cause) {
    throw new FleetcronError('OPTION_INVALID', `The business database ${path} cannot be opened.`, { cause })
  }
  return { effects: sqlite(database) as unknown as Effects, close: async () => void database.close() }
}

interface Ending {
  on(event: 'error', listener: () => void): unknown
  end(): Promise<void>
}

async function postgresEffects(connectionString: string): Promise<ResolvedEffects> {
  const driver = await loaded(() => import('pg'), 'pg')
  const Pool = driver.default.Pool as unknown as new (options: object) => PgPool & Ending
  const pool = new Pool({ connectionString, max: 2, connectionTimeoutMillis: 5_000 })
  pool.on('error', () => {})
  return { effects: pg(pool) as unknown as Effects, close: () => pool.end() }
}

async function mysqlEffects(url: string): Promise<ResolvedEffects> {
  const driver = await loaded(() => import('mysql2/promise'), 'mysql2')
  const createPool = driver.createPool as unknown as (options: object) => Mysql2Pool & Ending
  const uri = url.replace(/^mariadb:/i, 'mysql:')
  const pool = createPool({ uri, connectionLimit: 2, connectTimeout: 5_000 })
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
