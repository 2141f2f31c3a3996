import { existsSync } from 'node:fs'
import { FleetcronError } from '../../errors.js'
import type { Migratable, Migration } from '../migration.js'
import { Openings } from '../openings.js'
import type { Store, StoreInfo } from '../port.js'
import { attend } from './attend.js'
import { beat } from './beat.js'
import { commit, Undone } from './commit.js'
import { Connection } from './connection.js'
import type { SqliteDriver } from './driver.js'
import type { Ledger } from './ledger.js'
import { load } from './load.js'
import { events, jobs, prune, runs } from './people.js'
import { migrate, migration } from './schema.js'
import { settle } from './settle.js'
import { Wakers } from './wakers.js'

export type { SqliteDatabase, SqliteDriver, SqliteStatement } from './driver.js'
export { sqliteMigration } from './schema.js'

export interface SqliteStoreOptions {
  /** The ledger's file; its folder must exist. Business data live in another file. */
  readonly path: string
  /** The fleet whose rows are seen: one file may hold several. */
  readonly fleet: string
  /** Opens a connection, e.g. `(path) => new Database(path)` of better-sqlite3. */
  readonly driver: SqliteDriver
  /** The store's clock, epoch milliseconds, read once the file's lock is held. Default: `Date.now`. */
  readonly now?: () => number
  /** How long a call tries to get the file's lock before it rejects with `STORE_UNAVAILABLE`, in ms. Default: 2000. */
  readonly busyMs?: number
  /** Whether `open` makes the file and its schema, or upgrades it. False: it verifies, and says what is missing. Default: true. */
  readonly autoMigrate?: boolean
}

/**
 * A ledger in a SQLite file, for any number of processes of one host. Each call is one `BEGIN IMMEDIATE` transaction (or one
 * that only reads), written through to the disk before it is answered.
 *
 * @example
 * const store = createSqliteStore({ path: 'ledger.db', fleet: 'billing', driver: (path) => new Database(path) })
 */
export function createSqliteStore(options: SqliteStoreOptions): Store & Migratable {
  const { path, fleet, driver, now = Date.now, busyMs = 2_000, autoMigrate = true } = options
  const connection = new Connection({ path, driver, now: () => Math.floor(now()), busyMs })
  const ledger: Ledger = { connection, fleet, incarnation: '', woken: new Set() }
  const wakers = new Wakers(ledger)

  /** Opens the file; also again, where it was deleted or another one was put in its place. */
  async function connect(): Promise<void> {
    if (!autoMigrate && !existsSync(path)) throw absent(path)
    await connection.open()
    ledger.incarnation = await migrate(connection, { autoMigrate })
  }
  const openings = new Openings()
  const ready = () => openings.inTurn(async () => (openings.isOpen && connection.isReplaced ? connect() : undefined))

  async function write<T>(act: (now: number) => T): Promise<T> {
    await ready()
    try {
      const result = await connection.write((now) => {
        wakers.notice()
        const outcome = act(now)
        wakers.mark()
        return outcome
      })
      wakers.tell()
      return result
    } catch (error) {
      wakers.tellNews()
      throw error
    }
  }
  const read = <T>(act: (now: number) => T) => ready().then(() => connection.read(act))

  return {
    open: () =>
      openings.open(async () => {
        if (!openings.isOpen) await connect()
        return infoOf(ledger)
      }),
    close: () =>
      openings.close(() => {
        wakers.stop()
        connection.close()
      }),
    attend: (session, query) => write((at) => attend(ledger, session, query, at)),
    load: (query) => read((at) => load(ledger, query, at)),
    commit: (session, seen, changes) => {
      const tried = (isCareful: boolean) => write((at) => commit(ledger, session, seen, changes, at, isCareful))
      return tried(false).catch((error) => {
        if (error instanceof Undone) return tried(true)
        throw error
      })
    },
    settle: (settlements) => write((at) => settlements.map((settlement) => settle(ledger, settlement, at))),
    beat: (session, sent) => write((at) => beat(ledger, session, sent, at)),
    subscribe: async (wake) => {
      const end = await read(() => wakers.add(wake))
      return async () => end()
    },
    jobs: (query) => read(() => jobs(ledger, query)),
    runs: (query) => read(() => runs(ledger, query)),
    events: (query) => read(() => events(ledger, query)),
    prune: (query) => write((at) => prune(ledger, query, at)),
    migration: () => openings.inTurn(() => (openings.isOpen ? migration(connection) : looked(options))),
  }
}

/** What a file holds that is not open. The look does not make it. */
async function looked({ path, driver, busyMs = 2_000 }: SqliteStoreOptions): Promise<Migration> {
  const connection = new Connection({ path: existsSync(path) ? path : ':memory:', driver, now: Date.now, busyMs })
  await connection.open()
  return migration(connection).finally(() => connection.close())
}

function absent(path: string): FleetcronError {
  return new FleetcronError(
    'STORE_UNAVAILABLE',
    `There is no ledger ${path}, and none is made here: look at the path, or run fleetcron migrate --store sqlite:${path}.`,
  )
}

function infoOf(ledger: Ledger): StoreInfo {
  return {
    kind: 'sqlite',
    grade: 'correct',
    remark:
      'SQLite serves the processes of one host; a process that is stopped inside a transaction stops the whole file until ' +
      'it goes on.',
    incarnation: ledger.incarnation,
  }
}
