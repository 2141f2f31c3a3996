import type { RedisClient, RedisConnection } from './driver.js'

/** What a URL says, without who goes there and how. */
export interface RedisUrl {
  readonly client: RedisClient
  readonly prefix?: string
}

// biome-ignore lint/suspicious/noExplicitAny: the driver's options are its own.
type Options = any

/** What is used of the package ioredis. */
export interface RedisDriver {
  readonly Redis: new (options: Options) => RedisConnection
  readonly Cluster: new (nodes: Options[], options: Options) => RedisConnection
}

const CONNECT_MS = 5_000

/**
 * A client for `redis://user:password@host:port/number`; with `rediss:` or `valkeys:` by TLS. Whether it leads to a Cluster is
 * found out when it is opened. Gives a sentence's end where the URL is not understood; none of it is shown.
 */
export function clientOf(text: string, { Redis, Cluster }: RedisDriver): RedisUrl | string {
  if (!URL.canParse(text) || !/^[a-z]+:\/\/[^/]/i.test(text)) {
    return 'after redis:// follow user:password@host:port/number, odd characters of a password as %40 and the like'
  }
  const url = new URL(text)
  if ([...url.searchParams.keys()].some((name) => name !== 'prefix'))
    return 'of what may follow after the ? it knows prefix= only; for more give a client of ioredis'
  const db = url.pathname.replace(/^\//, '')
  if (!/^\d*$/.test(db)) return 'after the host and its port a database follows by its number, or nothing'
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const port = Number(url.port || 6379)
  const access = accessOf(url)
  if (access === null) return 'it holds a % that no two digits follow'
  const how = { ...access, connectTimeout: CONNECT_MS, enableReadyCheck: false }
  const options = { host, port, db: Number(db) }
  const prefix = url.searchParams.get('prefix')
  return {
    client: {
      options,
      duplicate: (more: object) => new Redis({ ...how, ...options, ...more }),
      asCluster: () => ({
        isCluster: true,
        options,
        duplicate: (_: unknown, more: { redisOptions?: object }) =>
          new Cluster([{ host, port }], { ...more, redisOptions: { ...how, ...more.redisOptions } }),
      }),
    },
    ...(prefix && { prefix }),
  }
}

function accessOf({ protocol, username, password }: URL): object | null {
  try {
    return {
      ...(username && { username: decodeURIComponent(username) }),
      ...(password && { password: decodeURIComponent(password) }),
      ...(/^(rediss|valkeys):$/.test(protocol) && { tls: {} }),
    }
  } catch {
    return null
  }
}
