import { randomUUID } from 'node:crypto'
import pg from 'pg'
import type { Store } from '../../src/store/port.js'
import { createPostgresStore, type PostgresPool, type PostgresStoreOptions } from '../../src/store/postgres/index.js'
import type { StorePlace } from '../../src/testing/store/index.js'
import { scans } from './plans.js'

/** A schema of its own in a server that many share. */
export class PostgresPlace {
  readonly url: string
  readonly schema = `fleet_${randomUUID().slice(0, 8)}`
  readonly #admin: pg.Pool

  constructor(url: string) {
    this.url = url
    this.#admin = poolOf(url, 1)
  }

  /** A store with a pool of its own, which ends with it. */
  store(fleet: string, options: Partial<Omit<PostgresStoreOptions, 'pool'>> = {}, max = 4): Store {
    const pool = poolOf(this.url, max)
    return this.storeOn(pool, fleet, { closed: () => pool.end(), ...options })
  }

  storeOn(pool: PostgresPool, fleet: string, options: Partial<Omit<PostgresStoreOptions, 'pool'>> = {}): Store {
    return createPostgresStore({ pool, fleet, schema: this.schema, ...options })
  }

  /** Runs statements in which SCHEMA stands for the place's own; gives the rows of the last one. */
  async sql<Row = Record<string, unknown>>(text: string, values?: readonly string[]): Promise<Row[]> {
    const result = await this.#admin.query(text.replaceAll('SCHEMA.', `"${this.schema}".`), values && [...values])
    return (Array.isArray(result) ? result.at(-1) : result).rows
  }

  async remove(): Promise<void> {
    await this.sql(`SET client_min_messages = error; DROP SCHEMA IF EXISTS "${this.schema}" CASCADE`)
    await this.#admin.end()
  }
}

export function poolOf(url: string, max: number): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, max })
  // What becomes of an idle connection is the store's to find out.
  pool.on('error', () => {})
  return pool
}

const SPOILS = {
  definition: 'DELETE FROM SCHEMA.definition WHERE fleet = $1 AND job = $2',
  header: "UPDATE SCHEMA.job SET header = '{' WHERE fleet = $1 AND job = $2",
  run: "UPDATE SCHEMA.run SET body = '{' WHERE fleet = $1 AND job = $2 AND key = 'k'",
} as const

const TABLES = ['job', 'run', 'definition', 'node', 'event'].map((table) => `SCHEMA.${table}`).join(', ')

/**
 * Places for the suite: one schema, emptied for each test, in which the one function that tells the time is replaced by
 * one that tells what a table says. Connections are kept from test to test, as an application keeps them.
 */
export class TurnedPlaces {
  readonly #place: PostgresPlace
  readonly #pools: pg.Pool[] = []
  readonly #direct: string
  #told: number | null = null

  private constructor(place: PostgresPlace, direct: string) {
    this.#place = place
    this.#direct = direct
  }

  /** `direct`: the same server without a pooler in between, for what needs a session. */
  static async make(url: string, direct = url): Promise<TurnedPlaces> {
    const place = new PostgresPlace(url)
    const store = place.store('unused')
    await store.open()
    await store.close()
    await place.sql(`
      CREATE TABLE SCHEMA.turned (at bigint NOT NULL);
      INSERT INTO SCHEMA.turned VALUES (0);
      CREATE OR REPLACE FUNCTION SCHEMA.clock() RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
        BEGIN RETURN (SELECT t.at FROM SCHEMA.turned t); END $$`)
    return new TurnedPlaces(place, direct)
  }

  async open(now: () => number): Promise<StorePlace> {
    await this.#place.sql(`TRUNCATE ${TABLES} RESTART IDENTITY`)
    let connected = 0
    const turn = () => this.#turn(now())
    return {
      connect: (fleet) => turned(this.#place.storeOn(this.#pool(connected++), fleet), turn),
      close: () => {},
      fullScans: () => scans(this.#place, this.#direct),
      spoil: async (fleet, job, row) => void (await this.#place.sql(SPOILS[row], [fleet, job])),
    }
  }

  sql(text: string): Promise<Record<string, unknown>[]> {
    return this.#place.sql(text)
  }

  async remove(): Promise<void> {
    for (const pool of this.#pools) await pool.end()
    await this.#place.remove()
  }

  #pool(index: number): pg.Pool {
    const pool = this.#pools[index] ?? poolOf(this.#place.url, 4)
    this.#pools[index] = pool
    return pool
  }

  async #turn(now: number): Promise<void> {
    if (now === this.#told) return
    this.#told = now
    await this.#place.sql(`UPDATE SCHEMA.turned SET at = ${now}`)
  }
}

/** A store whose server is told the time before every call. */
function turned(store: Store, turn: () => Promise<void>): Store {
  const after = <Args extends unknown[], T>(act: (...args: Args) => Promise<T>) => {
    return async (...args: Args) => {
      await turn()
      return act(...args)
    }
  }
  const { open, close, subscribe } = store
  return {
    open,
    close,
    ...(subscribe && { subscribe }),
    attend: after(store.attend),
    load: after(store.load),
    commit: after(store.commit),
    settle: after(store.settle),
    beat: after(store.beat),
    jobs: after(store.jobs),
    runs: after(store.runs),
    events: after(store.events),
    prune: after(store.prune),
  }
}
