import type { MysqlConnection, MysqlPool } from './driver.js'

/** What a URL says, as the store takes it. */
export interface MysqlUrl {
  readonly pool: MysqlPool
  readonly prefix?: string
  /** Ends the pool. */
  closed(): Promise<void>
}

/** What is used of the package mysql2. */
export interface MysqlDriver {
  createPool(options: MysqlPoolOptions): { getConnection(): Promise<MysqlConnection>; end(): Promise<void> }
}

interface MysqlPoolOptions {
  readonly uri: string
  readonly connectionLimit: number
  readonly connectTimeout: number
  readonly multipleStatements: boolean
  /** No server may ask for files of this machine. */
  readonly flags: string[]
}

const CONNECT_MS = 5_000

/**
 * A pool for `mysql://user:password@host:port/database`, or with `mariadb:`. After a `?` may stand what mysql2 understands, and
 * `prefix=`. Gives a sentence's end where the URL is not understood; none of it is shown.
 */
export function poolOf(text: string, { createPool }: MysqlDriver, connectionLimit: number): MysqlUrl | string {
  if (!URL.canParse(text) || !/^[a-z]+:\/\/[^/]/i.test(text)) {
    return 'after mysql:// follow user:password@host:port/database, odd characters of a password as %40 and the like'
  }
  const url = new URL(text.replace(/^[a-z]+:/i, 'mysql:'))
  if (!isDecodable(url)) return 'it holds a % that no two digits follow'
  const prefix = url.searchParams.get('prefix')
  url.searchParams.delete('prefix')
  const options = {
    uri: url.href,
    connectionLimit,
    connectTimeout: CONNECT_MS,
    multipleStatements: true,
    flags: ['-LOCAL_FILES'],
  }
  let made: ReturnType<MysqlDriver['createPool']> | null = null
  const connectionConfig = {
    host: url.hostname,
    port: Number(url.port || 3306),
    database: decodeURIComponent(url.pathname.slice(1)),
  }
  return {
    pool: {
      getConnection: () => {
        made ??= createPool(options)
        return made.getConnection()
      },
      pool: { config: { connectionLimit, connectionConfig } },
    },
    ...(prefix !== null && { prefix }),
    closed: async () => {
      const ended = made
      made = null
      await ended?.end()
    },
  }
}

function isDecodable({ username, password, pathname }: URL): boolean {
  try {
    for (const part of [username, password, pathname]) decodeURIComponent(part)
    return true
  } catch {
    return false
  }
}
