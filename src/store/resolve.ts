import { FleetcronError } from '../errors.js'
import { loadSqliteDriver, NO_FILE, sqlitePath } from '../sqlite-driver.js'
import { createMemoryStore } from './memory/index.js'
import { createMysqlStore } from './mysql/index.js'
import { type MysqlDriver, poolOf as mysqlPoolOf } from './mysql/url.js'
import type { Store } from './port.js'
import { createPostgresStore, type PostgresPool } from './postgres/index.js'
import { createRedisStore } from './redis/index.js'
import { clientOf, type RedisDriver } from './redis/url.js'
import { createRemoteStore } from './remote/client.js'
import { createSqliteStore } from './sqlite/index.js'

export interface ResolveOptions {
  /** The clock of a store without a server, epoch milliseconds. Default: `Date.now`. */
  readonly now?: () => number
  /** Whether `open` makes and upgrades the schema; false: it verifies, and says what is missing. Default: true. */
  readonly autoMigrate?: boolean
}

/**
 * Makes the store that a URL names: `sqlite:./ledger.db`, `sqlite:///var/lib/app/ledger.db`, `postgres://user:password@host/database`
 * (with `?schema=` for another schema than `fleetcron`), `mysql://user:password@host/database` or `mariadb://…` (with
 * `?prefix=` for other names of tables than `fleetcron_…`), `redis://user:password@host` (`rediss:` by TLS, `valkey:`,
 * `valkeys:`; with `?prefix=`), `https://host:port` of a `fleetcron serve` (its token in FLEETCRON_STORE_TOKEN), or
 * `memory:`. It is not opened.
 * Rejects with `OPTION_INVALID` for any other URL and with `DRIVER_MISSING` where the driver is not installed.
 *
 * @example
 * const store = await resolveStore('sqlite:./ledger.db', 'billing')
 */
export async function resolveStore(url: string, fleet: string, options: ResolveOptions = {}): Promise<Store> {
  const [, scheme = ''] = /^([a-z][a-z0-9+.-]*):/i.exec(url) ?? []
  const { now, autoMigrate = true } = options
  switch (scheme.toLowerCase()) {
    case 'memory':
      return createMemoryStore({ fleet, ...(now && { now }) })
    case 'sqlite': {
      const path = sqlitePath(url, (why) => invalid(why === NO_FILE ? `${why}; a ledger without one is memory:` : why))
      return createSqliteStore({ path, fleet, driver: await loadSqliteDriver(`The ledger ${path}`), ...options })
    }
    case 'postgres':
    case 'postgresql':
      return postgresStore(url, fleet, autoMigrate)
    case 'mysql':
    case 'mariadb':
      return mysqlStore(url, fleet, autoMigrate)
    case 'redis':
    case 'rediss':
    case 'valkey':
    case 'valkeys':
      return redisStore(url, fleet)
    case 'http':
    case 'https':
      return createRemoteStore({ url, fleet })
    default:
      throw invalid(
        scheme === ''
          ? 'it has no scheme'
          : `this version of fleetcron knows no ${scheme}: stores; the store may also be an object of your own`,
      )
  }
}

/** Names no more of the URL than its form: another store's URL may hold a password. */
function invalid(why: string): FleetcronError {
  return new FleetcronError(
    'OPTION_INVALID',
    `The option store is not understood: ${why}. ` +
      'Use sqlite:./ledger.db, sqlite:///absolute/ledger.db, ' +
      'postgres://user:password@host/database, mysql://user:password@host/database, redis://user:password@host, ' +
      'https://host:port or memory:.',
  )
}

/** Connections for the loop, beside the one that beats keep. */
const POOL_SIZE = 5

async function postgresStore(text: string, fleet: string, autoMigrate: boolean): Promise<Store> {
  const url = postgresUrl(text)
  const schema = url.searchParams.get('schema')
  url.searchParams.delete('schema')
  const Pool = await postgresPool()
  const options = {
    connectionString: url.href,
    max: POOL_SIZE,
    connectionTimeoutMillis: 5_000,
    keepAlive: true,
    application_name: url.searchParams.get('application_name') ?? 'fleetcron',
  }
  let pool: OwnPool | null = null
  const connect = () => {
    pool ??= new Pool(options)
    // A connection that is cut while nobody uses it is replaced when somebody does.
    if (pool.listenerCount('error') === 0) pool.on('error', () => {})
    return pool.connect()
  }
  const closed = async () => {
    const ended = pool
    pool = null
    await ended?.end()
  }
  return createPostgresStore({ pool: { connect, options }, fleet, ...(schema && { schema }), autoMigrate, closed })
}

/** The error of `new URL` shows what it was given, the password too: it is not handed on. */
function postgresUrl(text: string): URL {
  if (!URL.canParse(text)) {
    throw invalid(
      'after postgres:// follow user:password@host:port/database, odd characters of a password as %40 and the like',
    )
  }
  return new URL(text)
}

interface PoolOptions {
  readonly connectionString: string
  readonly max: number
  readonly connectionTimeoutMillis: number
  readonly keepAlive: boolean
  readonly application_name: string
}

interface OwnPool extends PostgresPool {
  on(event: 'error', listener: () => void): unknown
  listenerCount(event: 'error'): number
  end(): Promise<void>
}

async function postgresPool(): Promise<new (options: PoolOptions) => OwnPool> {
  try {
    const { default: pg } = await import('pg')
    return pg.Pool
  } catch (cause) {
    const message = 'A ledger in Postgres needs the driver pg, which is not installed: npm install pg.'
    throw new FleetcronError('DRIVER_MISSING', message, { cause })
  }
}

async function mysqlStore(url: string, fleet: string, autoMigrate: boolean): Promise<Store> {
  const found = mysqlPoolOf(url, await mysqlDriver(), POOL_SIZE)
  if (typeof found === 'string') throw invalid(found)
  return createMysqlStore({ ...found, fleet, autoMigrate })
}

async function mysqlDriver(): Promise<MysqlDriver> {
  try {
    const { createPool } = await import('mysql2/promise')
    return { createPool }
  } catch (cause) {
    const message = 'A ledger in MySQL or MariaDB needs the driver mysql2, which is not installed: npm install mysql2.'
    throw new FleetcronError('DRIVER_MISSING', message, { cause })
  }
}

async function redisStore(url: string, fleet: string): Promise<Store> {
  const found = clientOf(url, await redisDriver())
  if (typeof found === 'string') throw invalid(found)
  return createRedisStore({ ...found, fleet })
}

async function redisDriver(): Promise<RedisDriver> {
  try {
    const { Redis, Cluster } = await import('ioredis')
    return { Redis, Cluster }
  } catch (cause) {
    const message = 'A ledger in Redis or Valkey needs the driver ioredis, which is not installed: npm install ioredis.'
    throw new FleetcronError('DRIVER_MISSING', message, { cause })
  }
}
