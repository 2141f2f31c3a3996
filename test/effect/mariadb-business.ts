import { randomUUID } from 'node:crypto'
import { createPool, type Pool, type RowDataPacket } from 'mysql2/promise'
import type { TransactionOptions } from '../../src/effect/connections.js'
import type { AsyncAdapter } from '../../src/effect/port.js'
import type { EffectDatabase } from '../../src/testing/effect/index.js'

/** An empty database of a shared server, as one test's business database. */
export class MariadbBusiness {
  readonly #url: string
  readonly #database = `business_${randomUUID().slice(0, 8)}`
  readonly #pools: Pool[] = []
  readonly #admin: Pool
  readonly #session: readonly string[]

  /** `session`: statements that every connection of a pool begins with. */
  private constructor(url: string, session: readonly string[]) {
    this.#url = url
    this.#session = session
    this.#admin = createPool({ uri: url, connectionLimit: 1 })
  }

  static async make(url: string, session: readonly string[] = []): Promise<MariadbBusiness> {
    const business = new MariadbBusiness(url, session)
    await business.#admin.query(`CREATE DATABASE ${business.#database} CHARACTER SET utf8mb4`)
    return business
  }

  /** Where a client of its own finds this database. */
  get url(): string {
    const url = new URL(this.#url)
    url.pathname = `/${this.#database}`
    url.protocol = 'mysql:'
    return url.href
  }

  pool(connectionLimit = 4): Pool {
    const pool = createPool({ uri: this.url, connectionLimit })
    pool.on('connection', (connection) => {
      for (const sql of this.#session) (connection as unknown as { query(sql: string): void }).query(sql)
    })
    this.#pools.push(pool)
    return pool
  }

  async rows<Row = Record<string, unknown>>(sql: string): Promise<Row[]> {
    await this.#admin.query(`USE ${this.#database}`)
    const [rows] = await this.#admin.query<RowDataPacket[]>(sql)
    return rows as Row[]
  }

  async close(): Promise<void> {
    await Promise.all(this.#pools.map((pool) => pool.end()))
    await this.#admin.query(`DROP DATABASE ${this.#database}`)
    await this.#admin.end()
  }
}

/** For the suite: a database whose clients are adapters that `adapt` makes of a pool. */
export async function effectsOnMariadb<Tx>(
  url: string,
  adapt: (pool: Pool, options?: TransactionOptions) => AsyncAdapter<Tx>,
  session?: readonly string[],
): Promise<EffectDatabase<Tx>> {
  const business = await MariadbBusiness.make(url, session)
  return {
    connect: () => adapt(business.pool()),
    connectWith: ({ connections, ...options }) => adapt(business.pool(connections), options),
    close: () => business.close(),
  }
}
