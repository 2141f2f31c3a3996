import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { resolveStore } from '../src/store/resolve.js'
import { bundleMain, start } from './children.js'
import type { Resolved } from './resolve-child.js'

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ledger-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

describe('the URL of a store', () => {
  it('names a ledger in memory', async () => {
    const store = await resolveStore('memory:', 'f', { now: () => 42 })
    expect(await store.open()).toMatchObject({ kind: 'memory', grade: 'efficient' })
    expect((await store.load({})).now).toBe(42)
  })

  it.each([
    ['sqlite:', 'ledger.db', 'ledger.db'],
    ['sqlite:', 'a b%20é😀.db', 'a b%20é😀.db'],
    ['sqlite://', 'a%20b.db', 'a b.db'],
    ['SQLITE:', 'ledger.db', 'ledger.db'],
  ])('names a file: %s…/%s', async (scheme, name, file) => {
    const store = await resolveStore(`${scheme}${folder}/${name}`, 'f', { now: () => 42 })
    expect(await store.open()).toMatchObject({ kind: 'sqlite', grade: 'correct' })
    expect((await store.load({})).now).toBe(42)
    await store.close()
    rmSync(join(folder, file))
  })

  it('names a file from where the process stands', async () => {
    const before = process.cwd()
    const store = await resolveStore('sqlite:./ledger.db', 'f')
    await expect(store.load({})).rejects.toThrow('The ledger ./ledger.db is not open.')
    expect(process.cwd()).toBe(before)
  })

  it.each([
    ['', 'it has no scheme'],
    ['ledger.db', 'it has no scheme'],
    ['sqlite:', 'it names no file'],
    ['sqlite::memory:', 'it names no file'],
    ['sqlite:///a.db?mode=ro', 'a path with ?'],
    ['sqlite://ledger.db', 'after sqlite:// an absolute path follows'],
    ['sqlite:///%zz', 'a % that no two digits follow'],
    ['mongodb://me:secret@host/db', 'knows no mongodb: stores'],
    ['postgres://me:secret@ho st/db', 'after postgres:// follow user:password@host:port/database'],
    ['postgres://me:se@cr@et@[host/db', 'after postgres:// follow'],
  ])('is refused with a sentence: %j', async (url, why) => {
    const error = await resolveStore(url, 'f').catch((thrown) => thrown)
    expect(error).toMatchObject({ code: 'OPTION_INVALID', message: expect.stringContaining(why) })
    expect(error.message).toMatch(/ Use sqlite:\.\/ledger\.db, .* or memory:\.$/)
    expect(`${error.message} ${JSON.stringify(error)} ${error.cause}`).not.toMatch(/secret|se@cr/)
  })

  it('needs a driver: better-sqlite3, else the one of Node, else it says what to install', async () => {
    const script = join(folder, 'alone.mjs')
    await bundleMain('resolve-child.ts', script)
    const child = start(script, [`sqlite:${folder}/ledger.db`])
    const answer = (await child.line()) as Resolved
    const hasOwn = await import('node:sqlite' as string).then(
      () => true,
      () => false,
    )
    if (hasOwn) expect(answer).toBe('sqlite')
    else {
      expect(answer).toEqual([
        'DRIVER_MISSING',
        `The ledger ${folder}/ledger.db needs a SQLite driver, and none works here: npm install better-sqlite3 ` +
          '(Node 22.13 and later bring one of their own).',
      ])
    }
    expect(await child.ended()).toMatchObject({ code: 0 })
  })

  it.each([
    [
      'postgres://me:secret@127.0.0.1/db',
      'A ledger in Postgres needs the driver pg, which is not installed: npm install pg.',
    ],
    [
      'mysql://me:secret@127.0.0.1/db',
      'A ledger in MySQL or MariaDB needs the driver mysql2, which is not installed: npm install mysql2.',
    ],
    [
      'redis://me:secret@127.0.0.1',
      'A ledger in Redis or Valkey needs the driver ioredis, which is not installed: npm install ioredis.',
    ],
  ])('needs its driver, and says what to install: %s', async (url, sentence) => {
    const script = join(folder, 'alone.mjs')
    await bundleMain('resolve-child.ts', script)
    const child = start(script, [url])
    expect(await child.line()).toEqual(['DRIVER_MISSING', sentence])
    expect(await child.ended()).toMatchObject({ code: 0 })
  })
})
