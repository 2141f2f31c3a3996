import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import type { Store } from '../../src/store/port.js'
import { createRemoteStore, serveStore } from '../../src/store/remote/index.js'
import { createSqliteStore } from '../../src/store/sqlite/index.js'
import type { StorePlace } from '../../src/testing/store/index.js'

export const TOKEN = 'a-token-of-the-tests'

/** The way from a client to a server, and what the client makes of it. */
export interface Way {
  readonly url: string
  end(): Promise<void>
}

export interface Ways {
  /** Default: straight to the server. */
  readonly reach?: (url: string) => Promise<Way>
  /** What a client makes of its store. Default: nothing. */
  readonly wrap?: (store: Store) => Store
}

const SPOILS = {
  definition: 'DELETE FROM definition WHERE fleet = @fleet AND job = @job',
  header: `UPDATE job SET header = '{' WHERE fleet = @fleet AND job = @job`,
  run: `UPDATE run SET body = '{' WHERE fleet = @fleet AND job = @job AND key = 'k'`,
} as const

/** A SQLite ledger behind servers. */
export function sqlitePlace(now: () => number): StorePlace {
  const folder = mkdtempSync(join(tmpdir(), 'ledger-'))
  const path = join(folder, 'ledger.db')
  const inner = (fleet: string) => createSqliteStore({ path, fleet, now, driver: (file) => new Database(file) })
  const place = remotePlace(inner)
  return {
    ...place,
    close: async () => {
      await place.close()
      rmSync(folder, { recursive: true })
    },
    spoil: (fleet, job, row) => {
      const database = new Database(path)
      database.prepare(SPOILS[row]).run({ fleet, job })
      database.close()
    },
  }
}

/** One server for each fleet, before the store that is made for it. */
export function remotePlace(inner: (fleet: string) => Store, ways: Ways = {}): StorePlace {
  const { reach, wrap = (store) => store } = ways
  const ends: (() => Promise<void>)[] = []
  const servers = new Map<string, Promise<{ readonly url: string }>>()
  const serve = async (fleet: string) => {
    const server = await serveStore({ store: inner(fleet), fleet, tokens: [TOKEN], port: 0 })
    ends.push(() => server.stop())
    const way = await reach?.(server.url)
    if (way) ends.unshift(way.end)
    return way ?? server
  }
  return {
    connect: async (fleet) => {
      const way = servers.get(fleet) ?? serve(fleet)
      servers.set(fleet, way)
      return wrap(createRemoteStore({ url: (await way).url, fleet, token: TOKEN }))
    },
    close: async () => {
      for (const end of ends) await end()
    },
  }
}
