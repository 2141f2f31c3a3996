import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ENGINES } from '../test/servers/engines.js'
import { startServer } from '../test/servers/obtain.js'
import type { Floor } from './floor/floor.js'
import { postgresFloor } from './floor/postgres.js'
import { sqliteFloor } from './floor/sqlite.js'

/** A store of the bench while it is measured. */
export interface Ground {
  /** What fleets are given as their store. */
  readonly url: string
  floor(): Promise<Floor>
  end(): Promise<void>
}

/** How each store is brought up, by the word that `--store` takes. A server is durable, as it comes. */
export const CONTESTANTS: Readonly<Record<string, () => Promise<Ground>>> = {
  sqlite: async () => {
    const folder = mkdtempSync(join(tmpdir(), 'fleetcron-bench-'))
    return {
      url: `sqlite:${join(folder, 'ledger.db')}`,
      floor: () => sqliteFloor(join(folder, 'floor.db')),
      end: async () => rmSync(folder, { recursive: true, force: true }),
    }
  },
  postgres: () => served('postgres', postgresFloor),
}

async function served(engineName: string, floor: (url: string) => Promise<Floor>): Promise<Ground> {
  const engine = ENGINES.get(engineName)
  if (engine === undefined) throw new Error(`There is no engine ${engineName}.`)
  const server = await startServer(engine, () => Promise.reject(new Error(`${engineName} needs no server behind it.`)))
  return { url: server.url, floor: () => floor(server.url), end: () => server.end() }
}
