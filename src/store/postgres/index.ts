import { FleetcronError } from '../../errors.js'
import type { Examinable } from '../examination.js'
import type { Migratable } from '../migration.js'
import { Openings } from '../openings.js'
import type { Store, StoreInfo } from '../port.js'
import { attend } from './attend.js'
import { beat } from './beat.js'
import { commit } from './commit.js'
import type { PostgresPool } from './driver.js'
import { examine } from './examine.js'
import { infoOf, inspect } from './info.js'
import type { Ledger } from './ledger.js'
import { Line } from './line.js'
import { load } from './load.js'
import { channelOf, lockKey, quotedSchema } from './names.js'
import { events, jobs, prune, runs } from './people.js'
import { migrate, migration } from './schema.js'
import { Server } from './server.js'
import { settle } from './settle.js'

export type { PostgresClient, PostgresNotification, PostgresPool } from './driver.js'
export { postgresMigration } from './schema.js'

export interface PostgresStoreOptions {
  /** `new Pool(…)` of the package pg, with at least 2 connections: one is kept for beats and wake-ups while the store is open. */
  readonly pool: PostgresPool
  /** The fleet whose rows are seen: one schema may hold several. */
  readonly fleet: string
  /** The ledger's own schema; it is made where it is missing. Default: `fleetcron`. */
  readonly schema?: string
  /** Whether `open` creates and upgrades the schema. False: it verifies, and says what is missing. Default: true. */
  readonly autoMigrate?: boolean
  /** How long the server works on one call before it ends it, in ms; the client waits a second longer. Default: 5000. */
  readonly statementMs?: number
  /** What `close` does after its own; for a pool that nobody else uses: `() => pool.end()`. */
  readonly closed?: () => Promise<void>
}

/**
 * A ledger in Postgres 13 or later, in a schema of its own. Every call is one statement and one round trip; nothing is kept in a
 * session, so PgBouncer in transaction mode may stand between (there without wake-ups: what becomes due earlier is found by
 * the next beat).
 *
 * @example
 * const pool = new Pool({ connectionString: process.env.DATABASE_URL })
 * const store = createPostgresStore({ pool, fleet: 'billing' })
 */
export function createPostgresStore(options: PostgresStoreOptions): Store & Migratable & Examinable {
  const { pool, fleet, schema = 'fleetcron', autoMigrate = true, statementMs = 5_000 } = options
  const server = new Server({ pool, schema: quotedSchema(schema), place: placeOf(pool), statementMs })
  const line = new Line(server, pool, channelOf(schema, fleet))
  const ledger: Ledger = { server, line, fleet, gate: lockKey('fleet', schema, fleet) }
  const openings = new Openings()

  async function connect(): Promise<StoreInfo> {
    if (pool.options?.max === 1) throw tooSmall(server.place)
    line.open()
    const facts = await inspect(server)
    await migrate(server, { schema, autoMigrate })
    return infoOf(server, facts)
  }
  const ready = <T>(act: () => Promise<T>) => openings.whileOpen(server.place, act)

  return {
    open: () => openings.open(connect),
    close: () =>
      openings.close(async () => {
        await line.close()
        await options.closed?.()
      }),
    attend: (session, query) => ready(() => attend(ledger, session, query)),
    load: (query) => ready(() => load(ledger, query)),
    commit: (session, read, changes) => ready(() => commit(ledger, session, read, changes)),
    settle: (settlements) => ready(() => settle(ledger, settlements)),
    beat: (session, sent) => ready(() => beat(ledger, session, sent)),
    subscribe: (wake) => ready(() => line.subscribe(wake)),
    jobs: (query) => ready(() => jobs(ledger, query)),
    runs: (query) => ready(() => runs(ledger, query)),
    events: (query) => ready(() => events(ledger, query)),
    prune: (query) => ready(() => prune(ledger, query)),
    examine: () => ready(() => examine(server)),
    migration: () =>
      openings.inTurn(async () => {
        const found = await migration(server, schema)
        if (!openings.isOpen) await options.closed?.()
        return found
      }),
  }
}

/** Where a pool leads, without who goes there. */
function placeOf({ options = {} }: PostgresPool): string {
  const url = options.connectionString ? urlOf(options.connectionString) : null
  const host = url?.hostname || options.host
  const database = url?.pathname.slice(1) || options.database
  if (!host && !database) return 'in Postgres'
  return `${database || 'postgres'} at ${host || 'localhost'}:${url?.port || options.port || 5432}`
}

function urlOf(text: string): URL | null {
  return URL.canParse(text) ? new URL(text) : null
}

function tooSmall(place: string): FleetcronError {
  return new FleetcronError(
    'OPTION_INVALID',
    `The pool of the ledger ${place} has room for one connection only, and one is kept for beats: give it a max of 2 or more.`,
  )
}
