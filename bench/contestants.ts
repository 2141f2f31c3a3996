import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { serveStore } from '../src/store/remote/server.js'
import { resolveStore } from '../src/store/resolve.js'
import { ENGINES } from '../test/servers/engines.js'
import { startServer } from '../test/servers/obtain.js'
import type { Floor } from './floor/floor.js'
import { mysqlFloor } from './floor/mysql.js'
import { postgresFloor } from './floor/postgres.js'
import { redisFloor } from './floor/redis.js'
import { sqliteFloor } from './floor/sqlite.js'

/** A store of the bench while it is measured. */
export interface Ground {
  /** What a fleet of this name is given as its store. */
  storeOf(fleet: string): Promise<string>
  floor(): Promise<Floor>
  end(): Promise<void>
}

/** How each store is brought up, by the word that `--store` takes. A server is durable, as it comes. */
export const CONTESTANTS: Readonly<Record<string, () => Promise<Ground>>> = {
  sqlite: async () => {
    const folder = mkdtempSync(join(tmpdir(), 'fleetcron-bench-'))
    return {
      storeOf: async () => `sqlite:${join(folder, 'ledger.db')}`,
      floor: () => sqliteFloor(join(folder, 'floor.db')),
      end: async () => rmSync(folder, { recursive: true, force: true }),
    }
  },
  postgres: () => served('postgres', postgresFloor),
  mariadb: () => served('mariadb', mysqlFloor),
  redis: () => served('redis', redisFloor),
  remote: async () => overHttp(await served('postgres', postgresFloor)),
}

async function served(engineName: string, floor: (url: string) => Promise<Floor>): Promise<Ground> {
  const engine = ENGINES.get(engineName)
  if (engine === undefined) throw new Error(`There is no engine ${engineName}.`)
  const server = await startServer(engine, () => Promise.reject(new Error(`${engineName} needs no server behind it.`)))
  return { storeOf: async () => server.url, floor: () => floor(server.url), end: () => server.end() }
}

/** The same by calls to this process, as \`fleetcron serve\` takes them: each fleet has a server of its own. */
async function overHttp(behind: Ground): Promise<Ground> {
  const token = randomUUID()
  // What nodes read, which inherit it.
  process.env.FLEETCRON_STORE_TOKEN = token
  const servers: { stop(graceMs?: number): Promise<void> }[] = []
  return {
    ...behind,
    storeOf: async (fleet) => {
      const store = await resolveStore(await behind.storeOf(fleet), fleet)
      const server = await serveStore({ store, fleet, tokens: [token], port: 0 })
      servers.push(server)
      return server.url
    },
    end: async () => {
      await Promise.all(servers.map((server) => server.stop(100)))
      await behind.end()
    },
  }
}
