import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { describe, test } from 'vitest'
import { sqliteAdapter } from '../src/effect/sqlite/index.js'
import { effectConformance } from '../src/testing/effect/index.js'
import { awaitingAdapter } from './effect/awaiting-adapter.js'

for (const [name, pragma, options] of [
  ['better-sqlite3 with a write-ahead log', 'journal_mode = WAL', {}],
  ['better-sqlite3 with a rollback journal and no busy time-out', 'journal_mode = DELETE', { timeout: 0 }],
] as const) {
  effectConformance({ describe, test }, name, () => {
    const { connect, close } = folderOf(pragma, options)
    return { connect: () => sqliteAdapter(connect()), close }
  })
}

/** The logic of asynchronous adapters, on a real database whose answers come later. */
effectConformance({ describe, test }, 'an adapter that awaits', () => {
  const { connect, close } = folderOf('journal_mode = WAL', { timeout: 0 })
  return { connect: () => awaitingAdapter(connect), close }
})

function folderOf(pragma: string, options: Database.Options) {
  const folder = mkdtempSync(join(tmpdir(), 'fleetcron-effect-'))
  const opened: Database.Database[] = []
  return {
    connect(): Database.Database {
      const database = new Database(join(folder, 'business.db'), options)
      opened.push(database)
      database.pragma(pragma)
      return database
    },
    close(): void {
      for (const database of opened) database.close()
      rmSync(folder, { recursive: true })
    },
  }
}
