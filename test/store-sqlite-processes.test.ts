import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createSqliteStore } from '../src/store/sqlite/index.js'
import { creation, hello } from '../src/testing/store/builders.js'
import { BUNDLES, bundleMain, type Child, start } from './children.js'
import type { ChildCommand } from './store-child.js'

const script = join(BUNDLES, `store-child-${process.pid}.mjs`)
let folder = ''
let path = ''
const children: Child[] = []

beforeAll(() => bundleMain('store-child.ts', script))
afterAll(() => rmSync(script))

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ledger-'))
  path = join(folder, 'ledger.db')
})
afterEach(async () => {
  for (const child of children.splice(0)) {
    child.process.kill('SIGKILL')
    await child.ended()
  }
  rmSync(folder, { recursive: true })
})

function run(command: ChildCommand): Child {
  const child = start(script, [command, path])
  children.push(child)
  return child
}

function openStore(busyMs = 20_000) {
  return createSqliteStore({ path, fleet: 'f', driver: (file) => new Database(file), busyMs })
}

describe('a SQLite ledger and several processes', () => {
  it('is created by ten of them at once as one ledger', async () => {
    const ten = Array.from({ length: 10 }, () => run('open'))
    for (const child of ten) expect(await child.line()).toBe('ready')
    for (const child of ten) child.go()
    const incarnations = await Promise.all(ten.map((child) => child.line()))
    for (const child of ten) expect(await child.ended()).toEqual({ code: 0, signal: null, errors: '' })
    expect(new Set(incarnations).size).toBe(1)
    const database = new Database(path)
    expect(database.prepare(`SELECT name, value FROM meta ORDER BY name`).all()).toEqual([
      { name: 'compatible', value: '1' },
      { name: 'incarnation', value: incarnations[0] },
      { name: 'schema', value: '1' },
    ])
    expect(database.pragma('journal_mode', { simple: true })).toBe('wal')
    database.close()
  })

  it('is upgraded by ten of them at once, keeps what it held, and serves a node of the version before', async () => {
    const store = openStore()
    const { incarnation } = await store.open()
    const session = { id: 's', node: 'n', leaseMs: 60_000 }
    const query = { hello: hello(), services: [], buckets: new Set<number>(), graceMs: 0, limit: 1 }
    const { now } = await store.attend(session, query)
    await store.commit(session, now, [creation('c', 'billing:a')])
    const read = await store.load({ jobs: ['billing:a'], nodes: true })
    await store.close()
    const ten = Array.from({ length: 10 }, () => run('upgrade'))
    for (const child of ten) expect(await child.line()).toBe('ready')
    for (const child of ten) child.go()
    for (const child of ten) expect(await child.line()).toBe(incarnation)
    for (const child of ten) expect(await child.ended()).toEqual({ code: 0, signal: null, errors: '' })
    await openStore().open()
    const database = new Database(path)
    expect(database.prepare('SELECT job, version, note FROM job').all()).toEqual([
      { job: 'billing:a', version: 'c', note: null },
    ])
    database.prepare(`UPDATE meta SET value = '1' WHERE name = 'schema'`).run()
    database.close()
    await store.open()
    expect((await store.load({ jobs: ['billing:a'], nodes: true })).jobs).toEqual(read.jobs)
    await store.close()
  })

  it('gives each of a hundred runs to exactly one of four that want them all', async () => {
    const store = openStore()
    await store.open()
    const session = { id: 's', node: 'n', leaseMs: 60_000 }
    const { now } = await store.attend(session, {
      hello: hello(),
      services: [],
      buckets: new Set(),
      graceMs: 0,
      limit: 1,
    })
    await store.commit(session, now, [creation('c', 'billing:a')])
    const four = [1, 2, 3, 4].map(() => run('claim'))
    for (const child of four) expect(await child.line()).toBe('ready')
    for (const child of four) child.go()
    const made = await Promise.all(four.map((child) => child.line()))
    for (const child of four) expect(await child.ended()).toEqual({ code: 0, signal: null, errors: '' })
    expect((made as number[]).reduce((sum, count) => sum + count, 0)).toBe(100)
    const runs = await store.runs({ job: 'billing:a', limit: 1_000 })
    expect(new Set(runs.map((each) => each.key)).size).toBe(100)
    expect(runs).toHaveLength(100)
    await store.close()
  })

  it('keeps all that was answered when its writers are killed in the middle', async () => {
    const told: unknown[] = []
    for (let i = 0; i < 3; i++) {
      const child = run('commit')
      expect(await child.line()).toBe('ready')
      for (let n = 0; n < 20; n++) told.push(await child.line())
      child.process.kill('SIGKILL')
      for (let next = await child.lines.next(); !next.done; next = await child.lines.next())
        told.push(JSON.parse(next.value as string))
      expect((await child.ended()).signal).toBe('SIGKILL')
    }
    const store = openStore()
    await store.open()
    const keys = new Set((await store.runs({ limit: 100_000 })).map((each) => each.key))
    expect(told.filter((id) => !keys.has(id as string))).toEqual([])
    await store.close()
    const database = new Database(path)
    expect(database.pragma('integrity_check', { simple: true })).toBe('ok')
    database.close()
  })

  it('says so when a process is stopped inside a transaction, and goes on when that one does', async () => {
    const store = openStore(100)
    await store.open()
    const holder = run('hold')
    expect(await holder.line()).toBe('ready')
    const session = { id: 's', node: 'n', leaseMs: 60_000 }
    const query = { hello: hello(), services: [], buckets: new Set<number>(), graceMs: 0, limit: 1 }
    await expect(store.attend(session, query)).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringContaining('stayed locked by another process for 100 ms'),
    })
    expect((await store.load({ nodes: true })).nodes).toEqual([])
    holder.process.kill('SIGCONT')
    expect(await holder.line()).toBe('released')
    expect((await store.attend(session, query)).alive).toBe(true)
    await store.close()
  })
})
