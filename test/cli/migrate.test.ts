import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { Connection } from '../../src/store/sqlite/connection.js'
import { createSqliteStore } from '../../src/store/sqlite/index.js'
import { migrate, STEPS, sqliteMigration } from '../../src/store/sqlite/schema.js'
import { buckets, creation, fresh, hello, queued } from '../../src/testing/store/builders.js'
import { CommandLine } from './command.js'

let command: CommandLine
let folder = ''
let path = ''

beforeAll(async () => {
  command = await CommandLine.build()
})
afterAll(() => command.remove())
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'migrated-'))
  path = join(folder, 'ledger.db')
})
afterEach(() => rmSync(folder, { recursive: true }))

const NEWER = [...STEPS, 'ALTER TABLE job ADD COLUMN note TEXT; CREATE TABLE later (id INTEGER) STRICT;']

const driver = (file: string) => new Database(file)

function ledger(options: { autoMigrate?: boolean } = {}) {
  return createSqliteStore({ path, fleet: 'billing', driver, ...options })
}

/** What a later release does when it opens the ledger. */
async function upgradeTo(steps: readonly string[], compatible: number): Promise<void> {
  const connection = new Connection({ path, driver, now: Date.now, busyMs: 2_000 })
  await connection.open()
  await migrate(connection, { steps, compatible })
  connection.close()
}

/** The schema as SQLite keeps it, blanks aside. */
function schemaOf(file: string): unknown {
  const database = new Database(file)
  const objects = database.prepare('SELECT type, name, sql FROM sqlite_schema ORDER BY type, name').all() as {
    sql: string
  }[]
  const meta = database.prepare(`SELECT name, value FROM meta WHERE name <> 'incarnation' ORDER BY name`).all()
  database.close()
  return [objects.map((each) => ({ ...each, sql: each.sql?.replace(/\s+/g, ' ') })), meta]
}

async function works(store: ReturnType<typeof ledger>): Promise<void> {
  const session = { id: `s ${Math.random()}`, node: 'n', leaseMs: 10_000 }
  const query = { services: ['billing'], buckets: buckets(), graceMs: 0, limit: 10 }
  const { now } = await store.attend(session, { ...query, hello: hello() })
  const job = `billing:${session.id}`
  const made = creation(session.id, job, { runs: [fresh(queued(job, 'k'))] })
  expect(await store.commit(session, now, [made])).toMatchObject({ results: [{ outcome: 'won' }] })
  expect((await store.load({ jobs: [job] })).jobs.get(job)?.runs).toEqual([queued(job, 'k')])
}

describe('fleetcron migrate', () => {
  it('makes a ledger once, and says what it did', async () => {
    const store = ['--store', `sqlite:${path}`]
    expect((await command.run(['migrate', ...store])).out).toBe('schema 1 was made: nothing was there before\n')
    expect((await command.run(['migrate', ...store])).out).toBe('nothing to do: it has schema 1\n')
    expect(JSON.parse((await command.run(['migrate', ...store, '--json'])).out)).toEqual({ from: 1, to: 1 })
    const made = ledger({ autoMigrate: false })
    await made.open()
    await works(made)
    await made.close()
  })

  it('prints SQL that makes the same, and makes nothing itself', async () => {
    const { code, out } = await command.run(['migrate', '--print', '--store', `sqlite:${path}`])
    expect([code, existsSync(path)]).toEqual([0, false])
    const byHand = join(folder, 'by-hand.db')
    const database = new Database(byHand)
    database.exec(out)
    database.close()
    const store = ledger()
    await store.open()
    await store.close()
    expect(schemaOf(byHand)).toEqual(schemaOf(path))
    expect(await command.run(['migrate', '--print', '--store', `sqlite:${byHand}`])).toEqual({
      code: 0,
      out: '',
      err: 'nothing to do: it has schema 1\n',
    })
  })

  it('prints only what is missing', async () => {
    await upgradeTo(STEPS, 1)
    const database = new Database(path)
    database.exec(sqliteMigration(1, NEWER))
    database.close()
    const upgraded = schemaOf(path)
    path = join(folder, 'other.db')
    await upgradeTo(NEWER, 1)
    expect(schemaOf(path)).toEqual(upgraded)
  })

  it.each(['memory:', 'http://a-token-of-the-tests@127.0.0.1:1', 'redis://127.0.0.1:1'])(
    'has nothing to do for %s',
    async (url) => {
      expect(await command.run(['migrate', '--store', url])).toEqual({
        code: 0,
        out: 'nothing to do: this store has no schema\n',
        err: '',
      })
    },
  )

  it.each([
    [['--store', 'sqlite:/nowhere/x.db'], 75, 'its folder must exist and be writable'],
    [['--store', 'sqlite:x.db', '--schema', 'y'], 2, 'does not go with this store'],
    [['--store', 'postgres://app:hunter2@127.0.0.1:1/app'], 75, 'cannot be used'],
    [['--store', 'mysql://app:hunter2@127.0.0.1:1/app'], 75, 'cannot be used'],
  ])('%j ends with %i', async (args, code, message) => {
    const result = await command.run(['migrate', ...args])
    expect(result).toMatchObject({ code, out: '', err: expect.stringContaining(message) })
    expect(result.err).not.toContain('hunter2')
  })
})

describe('a ledger that is only verified', () => {
  it('says what is missing, and the command that makes it', async () => {
    await expect(ledger({ autoMigrate: false }).open()).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: `There is no ledger ${path}, and none is made here: look at the path, or run fleetcron migrate --store sqlite:${path}.`,
    })
    expect(existsSync(path)).toBe(false)
    driver(path).exec('CREATE TABLE mine (id INTEGER)').close()
    await expect(ledger({ autoMigrate: false }).open()).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: `The ledger ${path} has no schema yet, this version of fleetcron needs schema 1, and it is only verified here: run fleetcron migrate --store sqlite:${path}.`,
    })
  })
})

describe('two versions together', () => {
  it('a ledger to which a newer version only added serves the older one, which leaves it as it is', async () => {
    const old = ledger()
    await old.open()
    await upgradeTo(NEWER, 1)
    const upgraded = schemaOf(path)
    await works(old)
    await old.close()
    const restarted = ledger({ autoMigrate: false })
    await restarted.open()
    await works(restarted)
    await restarted.close()
    expect(schemaOf(path)).toEqual(upgraded)
    expect((await command.run(['migrate', '--store', `sqlite:${path}`])).out).toBe('nothing to do: it has schema 2\n')
  })

  it('one that a newer version changed is refused, naming both', async () => {
    await upgradeTo(NEWER, 2)
    await expect(ledger().open()).rejects.toMatchObject({
      code: 'STORE_NEWER',
      message: `The ledger ${path} has schema 2, and this version of fleetcron knows schema 1: upgrade fleetcron on this node.`,
    })
    expect(await command.run(['jobs', '--store', `sqlite:${path}`, '--fleet', 'billing'])).toMatchObject({ code: 1 })
  })
})
