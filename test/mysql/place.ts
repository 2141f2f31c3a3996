import { randomUUID } from 'node:crypto'
import { createPool, type Pool, type PoolOptions } from 'mysql2/promise'
import {
  createMysqlStore,
  type MysqlConnection,
  type MysqlPool,
  type MysqlQuery,
  type MysqlStoreOptions,
} from '../../src/store/mysql/index.js'
import type { Store } from '../../src/store/port.js'
import type { SpoiltRow, StorePlace } from '../../src/testing/store/index.js'
import { scans } from './plans.js'

/** Tables of a prefix of their own in a database that many share. */
export class MysqlPlace {
  readonly url: string
  readonly prefix = `fleet_${randomUUID().slice(0, 8)}_`
  readonly #admin: Pool

  constructor(url: string) {
    this.url = url
    this.#admin = poolOf(url, 1)
  }

  /** A store with a pool of its own, which ends with it. */
  store(fleet: string, options: Partial<Omit<MysqlStoreOptions, 'pool'>> = {}, max = 4): Store {
    const pool = poolOf(this.url, max)
    return this.storeOn(pool, fleet, { closed: () => pool.end(), ...options })
  }

  storeOn(pool: MysqlPool, fleet: string, options: Partial<Omit<MysqlStoreOptions, 'pool'>> = {}): Store {
    return createMysqlStore({ pool, fleet, prefix: this.prefix, ...options })
  }

  /** Runs statements in which PREFIX_ stands for the place's own; gives the rows of the last one. */
  async sql<Row = Record<string, unknown>>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    const [result] = await this.#admin.query(text.replaceAll('PREFIX_', this.prefix), [...values])
    const last = Array.isArray(result) && Array.isArray(result.at(-1)) ? result.at(-1) : result
    return last as Row[]
  }

  async remove(): Promise<void> {
    const tables = await this.sql<{ name: string }>(
      `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = DATABASE()
       AND table_name LIKE 'PREFIX\\_%'`.replace('PREFIX', this.prefix.slice(0, -1)),
    )
    if (tables.length > 0) await this.sql(`DROP TABLE ${tables.map(({ name }) => `\`${name}\``).join(', ')}`)
    await this.#admin.end()
  }
}

export function poolOf(url: string, connectionLimit: number, options: PoolOptions = {}): Pool {
  return createPool({ uri: url, connectionLimit, multipleStatements: true, ...options })
}

const TABLES = ['job', 'run', 'definition', 'node', 'event'] as const

const SPOILS: Readonly<Record<SpoiltRow, string>> = {
  definition: 'DELETE FROM PREFIX_definition WHERE fleet = ? AND job = ?',
  header: `UPDATE PREFIX_job SET header = '{' WHERE fleet = ? AND job = ?`,
  run: `UPDATE PREFIX_run SET body = '{' WHERE fleet = ? AND job = ? AND run_key = 'k'`,
}

/**
 * Places for the suite: one set of tables, emptied for each test, and pools whose every message begins by setting the clock of
 * its session. Connections are kept from test to test, as an application keeps them.
 */
export class TurnedPlaces {
  readonly #place: MysqlPlace
  readonly #options: PoolOptions
  readonly #pools: Pool[] = []

  private constructor(place: MysqlPlace, options: PoolOptions) {
    this.#place = place
    this.#options = options
  }

  static async make(url: string, options: PoolOptions = {}): Promise<TurnedPlaces> {
    const place = new MysqlPlace(url)
    const store = place.store('unused')
    await store.open()
    await store.close()
    return new TurnedPlaces(place, options)
  }

  async open(now: () => number): Promise<StorePlace> {
    for (const table of TABLES) {
      const [row] = await this.#place.sql<{ many: number }>(`SELECT COUNT(*) > 5000 AS many FROM PREFIX_${table}`)
      await this.#place.sql(row?.many ? `TRUNCATE PREFIX_${table}` : `DELETE FROM PREFIX_${table}`)
    }
    let connected = 0
    return {
      // Ten thousand runs in one commit take a busy machine longer than a loop would wait.
      connect: (fleet) => this.#place.storeOn(turned(this.#pool(connected++), now), fleet, { statementMs: 60_000 }),
      close: () => {},
      fullScans: () => scans(this.#place),
      spoil: async (fleet, job, row) => void (await this.#place.sql(SPOILS[row], [fleet, job])),
    }
  }

  async remove(): Promise<void> {
    for (const pool of this.#pools) await pool.end()
    await this.#place.remove()
  }

  #pool(index: number): Pool {
    const pool = this.#pools[index] ?? poolOf(this.#place.url, 4, this.#options)
    this.#pools[index] = pool
    return pool
  }
}

/** A pool in whose sessions it is the time of a manual clock. */
function turned(pool: MysqlPool, now: () => number): MysqlPool {
  return {
    getConnection: async () => wrapped(await pool.getConnection(), () => `SET timestamp = ${(now() + 0.5) / 1_000}`),
  }
}

/** A connection whose every message has another statement before it. */
export function wrapped(connection: MysqlConnection, before: () => string): MysqlConnection {
  return {
    connection: connection.connection ?? connection,
    query: async (what: MysqlQuery) => {
      const [results] = await connection.query({ ...what, sql: `${before()}; ${what.sql}` })
      const rest = (results as readonly unknown[]).slice(1)
      return [rest.length === 1 ? rest[0] : rest]
    },
    release: () => connection.release(),
    destroy: () => connection.destroy(),
    on: (event, listener) => connection.on?.(event, listener),
    removeListener: (event, listener) => connection.removeListener?.(event, listener),
  }
}
