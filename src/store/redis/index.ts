import type { Examinable } from '../examination.js'
import { Openings } from '../openings.js'
import type { Store, StoreInfo } from '../port.js'
import { attend } from './attend.js'
import { beat } from './beat.js'
import { commit } from './commit.js'
import { connectionLike, type RedisClient, readied } from './driver.js'
import { examine } from './examine.js'
import { type Facts, infoOf, inspect, isClusterNode } from './info.js'
import type { Ledger } from './ledger.js'
import { Line } from './line.js'
import { load } from './load.js'
import { baseOf } from './names.js'
import { events, jobs, prune, runs } from './people.js'
import { attended, Server } from './server.js'
import { settle } from './settle.js'

export type { RedisClient, RedisConnection } from './driver.js'

export interface RedisStoreOptions {
  /** `new Redis(…)` or `new Cluster(…)` of the package ioredis: connections are made like it; it is neither used nor closed. */
  readonly client: RedisClient
  /** The fleet whose rows are seen: one database may hold several. */
  readonly fleet: string
  /** Keys begin with `{<prefix>:<fleet>}:`. Default: `fleetcron`. */
  readonly prefix?: string
  /** How long a call waits for its answer, in ms. Default: 5000. */
  readonly callMs?: number
}

/**
 * A ledger in Redis 6.2 or later, or in Valkey; single, behind Sentinels, or in a Cluster, where all keys of a fleet are in
 * one slot. Every call is one Lua script and one round trip. Three connections: for the loop, for beats, and for wakes.
 *
 * @example
 * const store = createRedisStore({ client: new Redis(process.env.REDIS_URL), fleet: 'billing' })
 */
export function createRedisStore(options: RedisStoreOptions): Store & Examinable {
  const { fleet, prefix = 'fleetcron', callMs = 5_000 } = options
  const base = baseOf(prefix, fleet)
  const server = new Server({ base, place: placeOf(options.client), callMs })
  const openings = new Openings()
  let ledger: Ledger | null = null
  let facts: Facts | null = null

  async function connect(): Promise<StoreInfo> {
    ledger ??= await ledgerOf(options.client, server)
    facts = await inspect(server, ledger.main, isSentinel(options.client))
    return infoOf(server, ledger.main, facts)
  }
  function close(): void {
    ledger?.main.disconnect()
    ledger?.line.close()
    ledger = null
  }
  const ready = <T>(act: (on: Ledger) => Promise<T>) => openings.whileOpen(server.place, () => act(ledger as Ledger))

  return {
    open: () =>
      openings.open(() =>
        connect().catch((error) => {
          if (!openings.isOpen) close()
          throw error
        }),
      ),
    close: () => openings.close(close),
    attend: (session, query) => ready((on) => attend(on, session, query)),
    load: (query) => ready((on) => load(on, query)),
    commit: (session, read, changes) => ready((on) => commit(on, session, read, changes)),
    settle: (settlements) => ready((on) => settle(on, settlements)),
    beat: (session, sent) => ready((on) => beat(on, session, sent)),
    subscribe: (wake) => ready((on) => on.line.subscribe(wake)),
    jobs: (query) => ready((on) => jobs(on, query)),
    runs: (query) => ready((on) => runs(on, query)),
    events: (query) => ready((on) => events(on, query)),
    prune: (query) => ready((on) => prune(on, query)),
    examine: () => ready((on) => examine(server, on.main, facts as Facts)),
  }
}

/** Connects; a client that does not know whether it leads to a Cluster finds out first. */
async function ledgerOf(client: RedisClient, server: Server): Promise<Ledger> {
  if (client.isCluster === true) return clusterLedger(client, server)
  const main = attended(connectionLike(client, 'fleetcron'))
  try {
    // The driver goes on in database 0 where the one that was named does not exist.
    const db = Number(client.options?.db ?? 0)
    if (db > 0) await server.within(main, server.callMs, () => main.call('select', [db]))
    if (!client.asCluster || !(await isClusterNode(server, main)))
      return { server, main, line: new Line(server, client) }
  } catch (error) {
    main.disconnect()
    throw error
  }
  main.disconnect()
  return clusterLedger(client.asCluster(), server)
}

/** A Cluster takes commands only when it is ready. */
async function clusterLedger(client: RedisClient, server: Server): Promise<Ledger> {
  const main = attended(connectionLike(client, 'fleetcron'))
  const line = new Line(server, client)
  try {
    for (const each of [main, line.connection]) await server.within(each, server.callMs, () => readied(each))
    return { server, main, line }
  } catch (error) {
    main.disconnect()
    line.close()
    throw error
  }
}

function isSentinel({ options }: RedisClient): boolean {
  return Array.isArray(options?.sentinels) && options.sentinels.length > 0
}

/** Where a client leads, without who goes there. */
function placeOf(client: RedisClient): string {
  const { options = {} } = client
  if (client.isCluster === true) return 'in a Redis Cluster'
  if (isSentinel(client)) return `${String(options.name)} behind Redis Sentinels`
  if (typeof options.path === 'string') return `redis at ${options.path}`
  return `redis at ${options.host ?? 'localhost'}:${options.port ?? 6379}`
}
