import { sql } from 'drizzle-orm'
import { drizzle as drizzleMysql } from 'drizzle-orm/mysql2'
import { drizzle as drizzlePostgres } from 'drizzle-orm/node-postgres'
import createKnex from 'knex'
import { CompiledQuery, Kysely, MysqlDialect, PostgresDialect } from 'kysely'
import { createPool as createCallbackPool } from 'mysql2'
import { Sequelize } from 'sequelize'
import { DataSource } from 'typeorm'
import type { TransactionOptions } from '../../src/effect/connections.js'
import { type custom, libraryAdapter } from '../../src/effect/custom/index.js'
import { drizzleAdapter } from '../../src/effect/drizzle/index.js'
import { knexAdapter } from '../../src/effect/knex/index.js'
import { kyselyAdapter } from '../../src/effect/kysely/index.js'
import type { AsyncAdapter } from '../../src/effect/port.js'
import { sequelizeAdapter } from '../../src/effect/sequelize/index.js'
import { typeormAdapter } from '../../src/effect/typeorm/index.js'
import type { EffectDatabase } from '../../src/testing/effect/index.js'
import type { MariadbBusiness } from './mariadb-business.js'
import type { PostgresBusiness } from './postgres-business.js'

/** An adapter over a library's own client, and how that client ends. */
interface Client {
  // biome-ignore lint/suspicious/noExplicitAny: each library has a transaction of its own.
  readonly adapter: AsyncAdapter<any>
  end(): unknown
}

type Connect<B> = (business: B, connections: number, options?: TransactionOptions) => Client | Promise<Client>

/** The libraries that effects are made through, on a business database. */
export const ON_POSTGRES: Readonly<Record<string, Connect<PostgresBusiness>>> = {
  async typeorm({ url }, connections, options) {
    const source = await new DataSource({ type: 'postgres', url, extra: { max: connections } }).initialize()
    return { adapter: typeormAdapter(source, options), end: () => source.destroy() }
  },
  drizzle(business, connections, options) {
    return {
      adapter: drizzleAdapter(drizzlePostgres(business.pool(connections)), sql, 'postgres', options),
      end: () => {},
    }
  },
  knex({ url }, connections, options) {
    const db = createKnex({ client: 'pg', connection: url, pool: { min: 0, max: connections } })
    return { adapter: knexAdapter(db, options), end: () => db.destroy() }
  },
  kysely(business, connections, options) {
    const pool = business.pool(connections)
    pool.on('connect', (client) => client.on('error', () => {}))
    const db = new Kysely({ dialect: new PostgresDialect({ pool }) })
    return { adapter: kyselyAdapter(db, CompiledQuery, 'postgres', options), end: () => {} }
  },
  sequelize({ url }, connections, options) {
    const db = new Sequelize(url, { logging: false, pool: { max: connections } })
    return { adapter: sequelizeAdapter(db, options), end: () => db.close() }
  },
}

export const ON_MARIADB: Readonly<Record<string, Connect<MariadbBusiness>>> = {
  async typeorm({ url }, connections, options) {
    const source = await new DataSource({ type: 'mariadb', url, extra: { connectionLimit: connections } }).initialize()
    return { adapter: typeormAdapter(source, options), end: () => source.destroy() }
  },
  drizzle(business, connections, options) {
    return { adapter: drizzleAdapter(drizzleMysql(business.pool(connections)), sql, 'mysql', options), end: () => {} }
  },
  knex({ url }, connections, options) {
    const db = createKnex({ client: 'mysql2', connection: url, pool: { min: 0, max: connections } })
    return { adapter: knexAdapter(db, options), end: () => db.destroy() }
  },
  kysely({ url }, connections, options) {
    const pool = createCallbackPool({ uri: url, connectionLimit: connections })
    const db = new Kysely({ dialect: new MysqlDialect({ pool }) })
    return { adapter: kyselyAdapter(db, CompiledQuery, 'mysql', options), end: () => db.destroy() }
  },
  sequelize({ url }, connections, options) {
    const db = new Sequelize(url, { logging: false, pool: { max: connections } })
    return { adapter: sequelizeAdapter(db, options), end: () => db.close() }
  },
}

/** One statement in a transaction of each library, as its users write it; what it gives is the library's answer. */
// biome-ignore lint/suspicious/noExplicitAny: each library has a transaction of its own.
export const WRITES: Readonly<Record<string, (tx: any, text: string) => unknown>> = {
  typeorm: (tx, text) => tx.createQueryBuilder().insert().into('note').values({ text }).execute(),
  drizzle: (tx, text) => tx.execute(sql`INSERT INTO note (text) VALUES (${text})`),
  knex: (tx, text) => tx('note').insert({ text }),
  kysely: (tx, text) => tx.insertInto('note').values({ text }).execute(),
  sequelize: (tx, text) =>
    tx.sequelize.query('INSERT INTO note (text) VALUES (:text)', { replacements: { text }, transaction: tx }),
  custom: (tx, text) => tx.query('INSERT INTO note (text) VALUES ($1)', [text]),
}

/** What a user writes for a library that nobody has thought of: here `pg`, by hand. */
export function byHand(business: PostgresBusiness, connections: number, options?: TransactionOptions): Client {
  const pool = business.pool(connections)
  // The end of a connection that is checked out would end the process.
  pool.on('connect', (client) => client.on('error', () => {}))
  const library: Parameters<typeof custom>[0] = {
    dialect: 'postgres',
    async transaction(fn, isolationLevel = 'read committed') {
      const client = await pool.connect()
      let broken: Error | undefined
      try {
        await client.query(`BEGIN ISOLATION LEVEL ${isolationLevel}`)
        const value = await fn(client)
        await client.query('COMMIT')
        return value
      } catch (error) {
        await client.query('ROLLBACK').catch((cause) => {
          broken = cause
        })
        throw error
      } finally {
        client.release(broken)
      }
    },
    async query(tx, text, params) {
      const { rows, rowCount } = await (tx as { query: typeof pool.query }).query(text, [...params])
      return { rows, affected: rowCount }
    },
  }
  return { adapter: libraryAdapter(library, options), end: () => {} }
}

/** For the suite: an empty database whose clients are the library's own. */
export function effectsThrough<B extends { close(): Promise<void> }>(
  business: B,
  connect: Connect<B>,
  // biome-ignore lint/suspicious/noExplicitAny: each library has a transaction of its own.
): EffectDatabase<any> {
  const clients: Client[] = []
  const opened = async (connections: number, options?: TransactionOptions) => {
    const client = await connect(business, connections, options)
    clients.push(client)
    return client.adapter
  }
  return {
    connect: () => opened(4),
    connectWith: ({ connections, ...options }) => opened(connections, options),
    async close() {
      for (const client of clients) await client.end()
      await business.close()
    },
  }
}
