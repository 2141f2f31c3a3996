import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { SessionRef } from '../src/store/port.js'
import { createSqliteStore, type SqliteStoreOptions } from '../src/store/sqlite/index.js'
import { change, creation, fresh, header, hello, queued, SERVICE } from '../src/testing/store/builders.js'

let folder = ''
let path = ''
const opened: Database.Database[] = []

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ledger-'))
  path = join(folder, 'ledger.db')
})
afterEach(() => {
  for (const database of opened.splice(0)) database.close()
  rmSync(folder, { recursive: true })
})

function connect(options?: Database.Options): Database.Database {
  const database = new Database(path, options)
  opened.push(database)
  return database
}

function storeWith(options: Partial<SqliteStoreOptions> = {}) {
  return createSqliteStore({ path, fleet: 'f', driver: () => connect(), ...options })
}

const SESSION: SessionRef = { id: 's', node: 'n', leaseMs: 60_000 }
const QUERY = { hello: hello(), services: [SERVICE], buckets: new Set<number>(), graceMs: 0, limit: 10 }

async function openStore(options: Partial<SqliteStoreOptions> = {}) {
  const store = storeWith(options)
  await store.open()
  const { now } = await store.attend(SESSION, QUERY)
  const commit = (...changes: Parameters<typeof store.commit>[2]) => store.commit(SESSION, now, changes)
  return { store, commit }
}

describe('the schema of a SQLite ledger', () => {
  it('is refused where it is newer than this version, naming both, unless the newer one only added', async () => {
    await storeWith().open()
    connect().exec(`UPDATE meta SET value = '7' WHERE name = 'schema'`)
    await storeWith().open()
    connect().exec(`UPDATE meta SET value = '2' WHERE name = 'compatible'`)
    await expect(storeWith().open()).rejects.toMatchObject({
      code: 'STORE_NEWER',
      message: `The ledger ${path} has schema 7, and this version of fleetcron knows schema 1: upgrade fleetcron on this node.`,
    })
  })

  it('is not mixed with tables of somebody else', async () => {
    connect().exec('CREATE TABLE event (id INTEGER)')
    const message = `The file ${path} already has a table named event that is not the ledger's: give the ledger a file of its own.`
    await expect(storeWith().open()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', message })
    expect(connect().prepare('SELECT name FROM sqlite_schema').pluck().all()).toEqual(['event'])
  })

  it.each(['CREATE TABLE meta (x)', 'CREATE TABLE meta (name TEXT, value TEXT)'])(
    'is not read from another table named meta: %s',
    async (sql) => {
      connect().exec(sql)
      await expect(storeWith().open()).rejects.toThrow('already has a table named meta')
    },
  )
})

describe('a connection to a SQLite ledger', () => {
  it('writes through to the disk and never waits inside SQLite', async () => {
    await storeWith().open()
    const [database] = opened
    const pragma = (name: string) => database?.pragma(name, { simple: true })
    expect(['journal_mode', 'synchronous', 'busy_timeout', 'foreign_keys'].map(pragma)).toEqual(['wal', 2, 0, 0])
  })

  it('takes the write lock when a transaction begins, and lets other work go on while it waits for it (F50)', async () => {
    const { store, commit } = await openStore()
    const other = connect()
    other.exec('BEGIN IMMEDIATE')
    let isDone = false
    const waiting = commit(creation('c', 'billing:a')).finally(() => {
      isDone = true
    })
    for (let turn = 0; turn < 100; turn++) await new Promise(setImmediate)
    expect(isDone).toBe(false)
    other.exec('COMMIT')
    expect(await waiting).toMatchObject({ expired: false, results: [{ outcome: 'won' }] })
    await store.close()
  })

  it('reads while another one holds the write lock', async () => {
    const { store } = await openStore()
    connect().exec('BEGIN IMMEDIATE')
    expect((await store.load({ nodes: true })).nodes).toHaveLength(1)
  })

  it('reads its clock once the lock is held', async () => {
    let now = 1_000
    const { store } = await openStore({ now: () => now })
    const other = connect()
    other.exec('BEGIN IMMEDIATE')
    const waiting = store.beat(SESSION, { ...QUERY, attempts: [], room: true })
    for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate)
    now = 5_000.7
    other.exec('COMMIT')
    expect((await waiting).now).toBe(5_000)
  })

  it('says that it is not open, before and after', async () => {
    const store = storeWith()
    await expect(store.load({})).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: `The ledger ${path} is not open.`,
    })
    await store.open()
    await store.close()
    await expect(store.settle([])).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    await store.close()
  })
})

describe('a SQLite ledger that cannot be used', () => {
  it('says that its folder is missing', async () => {
    path = join(folder, 'missing', 'ledger.db')
    const driver = (file: string) => new Database(file)
    await expect(storeWith({ driver }).open()).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: `The ledger ${path} cannot be opened: its folder must exist and be writable.`,
    })
  })

  it('says that the file is something else', async () => {
    writeFileSync(path, 'These are not the tables you are looking for. '.repeat(100))
    await expect(storeWith().open()).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: `The ledger ${path} cannot be used: the file is not a SQLite database: look at its path.`,
    })
  })

  it('says that it is read-only', async () => {
    await (await openStore()).store.close()
    const store = storeWith({ driver: () => connect({ readonly: true }) })
    await expect(store.open()).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringContaining('it is read-only'),
    })
  })

  it('says that the disk is full, has recorded nothing, and goes on when there is room', async () => {
    const { store, commit } = await openStore()
    const [database] = opened
    const pages = Number(database?.pragma('page_count', { simple: true }))
    database?.pragma(`max_page_count = ${pages + 2}`)
    const large = queued('billing:a', 'k', { data: JSON.stringify('x'.repeat(100_000)) })
    await expect(commit(creation('c', 'billing:a', { runs: [fresh(large)] }))).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringContaining('the disk is full'),
    })
    expect((await store.load({ jobs: ['billing:a'] })).jobs.size).toBe(0)
    database?.pragma(`max_page_count = ${pages + 10_000}`)
    expect(await commit(creation('c', 'billing:a', { runs: [fresh(large)] }))).toMatchObject({
      results: [{ outcome: 'won' }],
    })
  })

  it('says what SQLite says where its tables are gone, and blames no job', async () => {
    const { commit } = await openStore()
    connect().exec('DROP TABLE event; DROP TABLE definition')
    await expect(commit(creation('c', 'billing:a'))).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: `The ledger ${path} cannot be used: SQLite says: no such table: definition.`,
    })
  })

  it('is noticed as another one when its file was replaced', async () => {
    const { store } = await openStore()
    const before = await store.beat(SESSION, { ...QUERY, attempts: [], room: true })
    expect(before.known).toBe(true)
    for (const file of [path, `${path}-wal`, `${path}-shm`]) renameSync(file, `${file}.old`)
    const after = await store.beat(SESSION, { ...QUERY, attempts: ['a.1'], room: true })
    expect([after.known, after.alive, after.gone]).toEqual([false, false, [{ attemptId: 'a.1', stop: null }]])
    expect(after.incarnation).not.toBe(before.incarnation)
  })
})

describe('data that SQLite refuses', () => {
  it('is refused alone; the others of the batch are committed', async () => {
    const { store, commit } = await openStore()
    const half = creation('c1', 'billing:a', {
      header: header('billing:a', { wakeAt: 0.5 }),
      runs: [fresh(queued('billing:a', 'k'))],
    })
    const committed = await commit(half, creation('c2', 'billing:b'))
    expect(committed).toMatchObject({
      results: [{ job: 'billing:a', outcome: 'refused', why: expect.stringMatching(/wake_at/) }, { outcome: 'won' }],
    })
    expect((await store.runs({ limit: 5 })).length).toBe(0)
    const { jobs } = await store.load({ jobs: ['billing:a', 'billing:b'] })
    const read = jobs.get('billing:b')
    expect([...jobs.keys()]).toEqual(['billing:b'])
    expect(read && (await commit(change('c3', read)))).toMatchObject({ results: [{ outcome: 'won' }] })
  })
})

describe('a job with much data in its queue', () => {
  it('is loaded with as many waiting runs as are light together, and always with the first of each lane', async () => {
    const { store, commit } = await openStore()
    const data = (kb: number) => JSON.stringify('x'.repeat(kb * 1_024))
    const heavy = Array.from({ length: 100 }, (_, i) =>
      queued('billing:a', `m${i}`, { lane: 'manual', position: i, data: data(63) }),
    )
    const light = Array.from({ length: 100 }, (_, i) => queued('billing:a', `s${i}`, { position: i }))
    const giant = queued('billing:a', 'giant', { lane: 'backlog', data: data(1_000) })
    await commit(creation('c', 'billing:a', { runs: [...heavy, ...light, giant].map(fresh) }))
    const { jobs } = await store.load({ jobs: ['billing:a'] })
    const keys = (lane: string) =>
      (jobs.get('billing:a')?.runs ?? []).filter((run) => run.lane === lane).map((run) => run.key)
    expect(keys('schedule')).toEqual(light.map((run) => run.key))
    expect(keys('manual')).toEqual(heavy.slice(0, 5).map((run) => run.key))
    expect(keys('backlog')).toEqual(['giant'])
  })
})

describe('what others make due in a SQLite ledger', () => {
  /** Two connections: one that is told, whose statements may be made to fail, and one that writes. */
  async function pair() {
    const far = await openStore()
    const faults: { run?: string; get?: string } = {}
    const driver = () => {
      const database = connect()
      return {
        exec: (sql: string) => {
          if (faults.run !== undefined && sql === faults.run) {
            delete faults.run
            throw Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' })
          }
          return database.exec(sql)
        },
        prepare: (sql: string) => {
          const statement = database.prepare(sql)
          const get = (...values: unknown[]) => {
            if (faults.get !== undefined && sql.includes(faults.get)) {
              delete faults.get
              throw Object.assign(new Error('database is locked'), { code: 'SQLITE_BUSY' })
            }
            return statement.get(...values)
          }
          return { run: statement.run.bind(statement), all: statement.all.bind(statement), get }
        },
        close: () => database.close(),
      }
    }
    const store = createSqliteStore({ path, fleet: 'f', driver })
    await store.open()
    await store.attend({ ...SESSION, id: 't' }, QUERY)
    const told = new Promise<number>((resolve) => void store.subscribe?.(resolve))
    await store.load({})
    return { far, store, faults, told }
  }

  it('is told although the transaction fails that noticed it', async () => {
    const { far, store, faults, told } = await pair()
    await far.commit(creation('c', 'billing:a', { header: header('billing:a', { bucket: 9, wakeAt: 1 }) }))
    faults.run = 'COMMIT'
    await expect(store.beat(SESSION, { ...QUERY, attempts: [], room: true })).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
    })
    expect(await told).toBe(9)
  })

  it('is told although the file is locked at the moment of the look', async () => {
    const { far, faults, told } = await pair()
    faults.get = 'max(seq) AS seq'
    await far.commit(creation('c', 'billing:a', { header: header('billing:a', { bucket: 9, wakeAt: 1 }) }))
    expect(await told).toBe(9)
    expect(faults.get).toBeUndefined()
  })

  it('wakes everybody where the file went back to an earlier state', async () => {
    const { far, told } = await pair()
    await far.commit(creation('c', 'billing:a', { header: header('billing:a', { bucket: 9, wakeAt: 1 }) }))
    expect(await told).toBe(9)
    const next = new Promise<number>((resolve) => void far.store.subscribe?.(resolve))
    await far.store.load({})
    connect().exec('DELETE FROM wake')
    await far.store.beat(SESSION, { ...QUERY, attempts: [], room: true })
    expect(await next).toBe(-1)
  })
})
