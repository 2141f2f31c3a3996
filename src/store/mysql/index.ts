import { FleetcronError } from '../../errors.js'
import type { Examinable } from '../examination.js'
import type { Migratable } from '../migration.js'
import { Openings } from '../openings.js'
import type { Store, StoreInfo } from '../port.js'
import { attend } from './attend.js'
import { beat } from './beat.js'
import { commit } from './commit.js'
import type { MysqlPool } from './driver.js'
import { examine } from './examine.js'
import { infoOf, inspect, packetBytesOf } from './info.js'
import { Identity, type Ledger } from './ledger.js'
import { Line } from './line.js'
import { load } from './load.js'
import { checkedPrefix } from './names.js'
import { events, jobs, prune, runs } from './people.js'
import { migrate, migration } from './schema.js'
import { Server } from './server.js'
import { settle } from './settle.js'

export type { MysqlConnection, MysqlPlace, MysqlPool, MysqlQuery } from './driver.js'
export { mysqlMigration } from './schema.js'

export interface MysqlStoreOptions {
  /**
   * `createPool(…)` of `mysql2/promise`, with `multipleStatements: true` and at least 2 connections: one is kept for beats while
   * the store is open.
   */
  readonly pool: MysqlPool
  /** The fleet whose rows are seen: one database may hold several. */
  readonly fleet: string
  /** What the names of the ledger's tables begin with. Default: `fleetcron_`. */
  readonly prefix?: string
  /** Whether `open` creates and upgrades the tables. False: it verifies, and says what is missing. Default: true. */
  readonly autoMigrate?: boolean
  /** How long a call waits for its answer before it rejects with `STORE_UNAVAILABLE`, in ms. Default: 5000. */
  readonly statementMs?: number
  /** What `close` does after its own; for a pool that nobody else uses: `() => pool.end()`. */
  readonly closed?: () => Promise<void>
}

/**
 * A ledger in MySQL 8.0 or MariaDB 10.6, or later, in tables of its own. A call is one message to the server, and so one round
 * trip, wherever nothing is out of the ordinary; no lock lasts from one message to the next. There are no wake-ups: what
 * becomes due earlier is found by the next beat.
 *
 * @example
 * const pool = createPool({ uri: process.env.DATABASE_URL, multipleStatements: true })
 * const store = createMysqlStore({ pool, fleet: 'billing' })
 */
export function createMysqlStore(options: MysqlStoreOptions): Store & Migratable & Examinable {
  const { pool, fleet, prefix = 'fleetcron_', autoMigrate = true, statementMs = 5_000 } = options
  const server = new Server({ pool, prefix: checkedPrefix(prefix), place: placeOf(pool), statementMs })
  const ledger: Ledger = {
    server,
    line: new Line(server, pool),
    fleet,
    identity: new Identity(),
    packetBytes: 1_000_000,
  }
  const openings = new Openings()

  async function connect(): Promise<StoreInfo> {
    if (pool.pool?.config?.connectionLimit === 1) throw tooSmall(server.place)
    const facts = await inspect(server)
    ledger.packetBytes = packetBytesOf(facts)
    await migrate(server, { autoMigrate })
    return infoOf(ledger, facts)
  }
  const ready = <T>(act: () => Promise<T>) => openings.whileOpen(server.place, act)

  return {
    open: () => openings.open(connect),
    close: () =>
      openings.close(async () => {
        await ledger.line.close()
        await options.closed?.()
      }),
    attend: (session, query) => ready(() => attend(ledger, session, query)),
    load: (query) => ready(() => load(ledger, query)),
    commit: (session, read, changes) => ready(() => commit(ledger, session, read, changes)),
    settle: (settlements) => ready(() => settle(ledger, settlements)),
    beat: (session, sent) => ready(() => beat(ledger, session, sent)),
    jobs: (query) => ready(() => jobs(ledger, query)),
    runs: (query) => ready(() => runs(ledger, query)),
    events: (query) => ready(() => events(ledger, query)),
    prune: (query) => ready(() => prune(ledger, query)),
    examine: () => ready(() => examine(server)),
    migration: () =>
      openings.inTurn(async () => {
        const found = await migration(server)
        if (!openings.isOpen) await options.closed?.()
        return found
      }),
  }
}

/** Where a pool leads, without who goes there. */
function placeOf({ pool }: MysqlPool): string {
  const { host, port, database, socketPath } = pool?.config?.connectionConfig ?? {}
  if (!host && !database && !socketPath) return 'in MySQL'
  return `${database || 'without a database'} at ${socketPath || `${host || 'localhost'}:${port || 3306}`}`
}

function tooSmall(place: string): FleetcronError {
  return new FleetcronError(
    'OPTION_INVALID',
    `The pool of the ledger ${place} has room for one connection only, and one is kept for beats: give it a connectionLimit of 2 or more.`,
  )
}
