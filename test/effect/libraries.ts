import { sql } from 'drizzle-orm'
import { drizzle as drizzleMysql } from 'drizzle-orm/mysql2'
import { drizzle as drizzlePostgres } from 'drizzle-orm/node-postgres'
import createKnex from 'knex'
import { CompiledQuery, Kysely, MysqlDialect, PostgresDialect } from 'kysely'
import { createPool as createCallbackPool } from 'mysql2'
import { Sequelize } from 'sequelize'
import { DataSource } from 'typeorm'
import { type custom, libraryAdapter } from '../../src/effect/custom/index.js'
import { drizzleAdapter } from '../../src/effect/drizzle/index.js'
import { knexAdapter } from '../../src/effect/knex/index.js'
import { kyselyAdapter } from '../../src/effect/kysely/index.js'
import type { AsyncAdapter } from '../../src/effect/port.js'
import { sequelizeAdapter } from '../../src/effect/sequelize/index.js'
import { typeormAdapter } from '../../src/effect/typeorm/index.js'
import type { MariadbBusiness } from './mariadb-business.js'
import type { PostgresBusiness } from './postgres-business.js'

/** An adapter over a library's own client, and how that client ends. */
interface Client {
  // biome-ignore lint/suspicious/noExplicitAny: each library has a transaction of its own.
  readonly adapter: AsyncAdapter<any>
  end(): unknown
}

/** The libraries that effects are made through, on a business database. */
export const ON_POSTGRES: Readonly<Record<string, (business: PostgresBusiness) => Client | Promise<Client>>> = {
  async typeorm({ url }) {
    const source = await new DataSource({ type: 'postgres', url, extra: { max: 4 } }).initialize()
    return { adapter: typeormAdapter(source), end: () => source.destroy() }
  },
  drizzle(business) {
    return { adapter: drizzleAdapter(drizzlePostgres(business.pool()), sql, 'postgres'), end: () => {} }
  },
  knex({ url }) {
    const db = createKnex({ client: 'pg', connection: url, pool: { min: 0, max: 4 } })
    return { adapter: knexAdapter(db), end: () => db.destroy() }
  },
  kysely(business) {
    const db = new Kysely({ dialect: new PostgresDialect({ pool: business.pool() }) })
    return { adapter: kyselyAdapter(db, CompiledQuery, 'postgres'), end: () => {} }
  },
  sequelize({ url }) {
    const db = new Sequelize(url, { logging: false, pool: { max: 4 } })
    return { adapter: sequelizeAdapter(db), end: () => db.close() }
  },
}

export const ON_MARIADB: Readonly<Record<string, (business: MariadbBusiness) => Client | Promise<Client>>> = {
  async typeorm({ url }) {
    const source = await new DataSource({ type: 'mariadb', url, extra: { connectionLimit: 4 } }).initialize()
    return { adapter: typeormAdapter(source), end: () => source.destroy() }
  },
  drizzle(business) {
    return { adapter: drizzleAdapter(drizzleMysql(business.pool()), sql, 'mysql'), end: () => {} }
  },
  knex({ url }) {
    const db = createKnex({ client: 'mysql2', connection: url, pool: { min: 0, max: 4 } })
    return { adapter: knexAdapter(db), end: () => db.destroy() }
  },
  kysely({ url }) {
    const pool = createCallbackPool({ uri: url, connectionLimit: 4 })
    const db = new Kysely({ dialect: new MysqlDialect({ pool }) })
    return { adapter: kyselyAdapter(db, CompiledQuery, 'mysql'), end: () => db.destroy() }
  },
  sequelize({ url }) {
    const db = new Sequelize(url, { logging: false, pool: { max: 4 } })
    return { adapter: sequelizeAdapter(db), end: () => db.close() }
  },
}

/** What a user writes for a library that nobody has thought of: here `pg`, by hand. */
export function byHand(business: PostgresBusiness): Client {
  const pool = business.pool()
  const library: Parameters<typeof custom>[0] = {
    dialect: 'postgres',
    async transaction(fn) {
      const client = await pool.connect()
      try {
        await client.query('BEGIN')
        const value = await fn(client)
        await client.query('COMMIT')
        return value
      } catch (error) {
        await client.query('ROLLBACK')
        throw error
      } finally {
        client.release()
      }
    },
    async query(tx, text, params) {
      const { rows, rowCount } = await (tx as { query: typeof pool.query }).query(text, [...params])
      return { rows, affected: rowCount }
    },
  }
  return { adapter: libraryAdapter(library), end: () => {} }
}

/** For the suite: an empty database whose clients are the library's own. */
export async function effectsThrough<B extends { close(): Promise<void> }>(
  business: B,
  connect: (business: B) => Client | Promise<Client>,
) {
  const clients: Client[] = []
  return {
    async connect() {
      const client = await connect(business)
      clients.push(client)
      return client.adapter
    },
    async close() {
      for (const client of clients) await client.end()
      await business.close()
    },
  }
}
