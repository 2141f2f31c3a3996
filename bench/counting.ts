import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

/**
 * Counts what goes to the server, at the drivers: one for each query, command or request that is sent; of a SQLite file each
 * transaction. To be called before a store is opened. Returns how many there were.
 */
export async function countStatements(): Promise<() => number> {
  let count = 0
  const counted = () => {
    count += 1
  }
  const prototypes = await Promise.all(METHODS.map(({ find }) => find().catch(() => null)))
  for (const [index, prototype] of prototypes.entries()) {
    const { name, counts } = METHODS[index] as Method
    const before = prototype?.[name]
    if (!prototype || !before) continue
    prototype[name] = function (this: unknown, ...args: unknown[]) {
      if (counts(args[0])) counted()
      return before.apply(this, args)
    }
  }
  return () => count
}

type Prototype = Record<string, ((...args: unknown[]) => unknown) | undefined>

interface Method {
  readonly name: string
  /** The prototype that has it; rejects where the driver is not installed. */
  find(): Promise<Prototype>
  counts(first: unknown): boolean
}

/** Named by a variable, so that drivers which a checkout lacks need no types. */
const load = async (name: string) => (await import(name)).default

const METHODS: readonly Method[] = [
  { name: 'query', find: async () => (await load('pg')).Client.prototype, counts: () => true },
  {
    name: 'exec',
    find: async () => (await load('better-sqlite3')).prototype,
    counts: (sql) => String(sql).startsWith('BEGIN'),
  },
  { name: 'query', find: mysqlConnection, counts: () => true },
  { name: 'execute', find: mysqlConnection, counts: () => true },
  { name: 'sendCommand', find: async () => (await load('ioredis')).Redis.prototype, counts: () => true },
  { name: 'end', find: async () => (await load('node:http')).ClientRequest.prototype, counts: () => true },
]

/** What every kind of its connections inherits from; the package shows none of them by name. */
async function mysqlConnection(): Promise<Prototype> {
  const require = createRequire(import.meta.url)
  return require(join(dirname(require.resolve('mysql2')), 'lib', 'base', 'connection.js')).prototype
}
