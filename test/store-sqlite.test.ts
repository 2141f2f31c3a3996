import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { describe, expect, test } from 'vitest'
import { createSqliteStore } from '../src/store/sqlite/index.js'
import { storeConformance } from '../src/testing/store/index.js'
import { badSteps, fullScans } from './sqlite-plan.js'

const SPOILS = {
  definition: 'DELETE FROM definition WHERE fleet = @fleet AND job = @job',
  header: `UPDATE job SET header = '{' WHERE fleet = @fleet AND job = @job`,
  run: `UPDATE run SET body = '{' WHERE fleet = @fleet AND job = @job AND key = 'k'`,
} as const

storeConformance({ describe, test }, 'sqlite', (now) => {
  const folder = mkdtempSync(join(tmpdir(), 'ledger-'))
  const path = join(folder, 'ledger.db')
  return {
    connect: (fleet) => createSqliteStore({ path, fleet, now, driver: (file) => new Database(file) }),
    close: () => rmSync(folder, { recursive: true }),
    fullScans: () => {
      const database = new Database(path)
      const scans = fullScans(database)
      database.close()
      return scans
    },
    spoil: (fleet, job, row) => {
      const database = new Database(path)
      database.prepare(SPOILS[row]).run({ fleet, job })
      database.close()
    },
  }
})

describe('the look at the plan', () => {
  test.each([
    'SELECT * FROM job WHERE wake_at < @now',
    'SELECT * FROM job WHERE fleet = @fleet ORDER BY wake_at',
    'SELECT * FROM job WHERE fleet = @fleet AND service = @service AND wake_at + 1 > @now',
    `SELECT * FROM run WHERE fleet = @fleet AND state = 'queued'`,
    `UPDATE run SET state = 'x' WHERE session = @session`,
  ])('finds what is wrong with: %s', async (sql) => {
    const folder = mkdtempSync(join(tmpdir(), 'ledger-'))
    const path = join(folder, 'ledger.db')
    const store = createSqliteStore({ path, fleet: 'f', driver: (file) => new Database(file) })
    await store.open()
    const database = new Database(path)
    expect(badSteps(database, sql)).toHaveLength(1)
    database.close()
    await store.close()
    rmSync(folder, { recursive: true })
  })
})
