import { randomUUID } from 'node:crypto'
import pg from 'pg'
import type { TransactionOptions } from '../../src/effect/connections.js'
import type { AsyncAdapter } from '../../src/effect/port.js'
import type { EffectDatabase } from '../../src/testing/effect/index.js'

/** An empty schema of a shared server, as one test's business database. */
export class PostgresBusiness {
  readonly #url: string
  readonly #schema = `business_${randomUUID().slice(0, 8)}`
  readonly #pools: pg.Pool[] = []
  readonly #admin: pg.Pool

  private constructor(url: string) {
    this.#url = url
    this.#admin = new pg.Pool({ connectionString: url, max: 1 })
  }

  static async make(url: string): Promise<PostgresBusiness> {
    const business = new PostgresBusiness(url)
    await business.#admin.query(`CREATE SCHEMA "${business.#schema}"`)
    return business
  }

  /** Where a client of its own finds this database. */
  get url(): string {
    const url = new URL(this.#url)
    url.searchParams.set('options', `-c search_path=${this.#schema}`)
    return url.href
  }

  pool(max = 4): pg.Pool {
    const pool = new pg.Pool({ connectionString: this.url, max })
    pool.on('error', () => {})
    this.#pools.push(pool)
    return pool
  }

  async rows<Row = Record<string, unknown>>(sql: string): Promise<Row[]> {
    await this.#admin.query(`SET search_path = "${this.#schema}"`)
    return (await this.#admin.query(sql)).rows
  }

  async close(): Promise<void> {
    await Promise.all(this.#pools.map((pool) => pool.end()))
    await this.#admin.query(`SET client_min_messages = error; DROP SCHEMA "${this.#schema}" CASCADE`)
    await this.#admin.end()
  }
}

/** For the suite: a database whose clients are adapters that `adapt` makes of a pool. */
export async function effectsOnPostgres<Tx>(
  url: string,
  adapt: (pool: pg.Pool, options?: TransactionOptions) => AsyncAdapter<Tx>,
): Promise<EffectDatabase<Tx>> {
  const business = await PostgresBusiness.make(url)
  return {
    connect: () => adapt(business.pool()),
    connectWith: ({ connections, ...options }) => adapt(business.pool(connections), options),
    close: () => business.close(),
  }
}
