import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { sqlite } from '../../src/effect/sqlite/index.js'
import { CommandLine } from './command.js'

let command: CommandLine
let folder = ''
let path = ''

beforeAll(async () => {
  command = await CommandLine.build()
})
afterAll(() => command.remove())
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'migrated-effects-'))
  path = join(folder, 'business.db')
})
afterEach(() => rmSync(folder, { recursive: true }))

const migrate = (...args: string[]) => command.run(['migrate', '--effects', `sqlite:${path}`, ...args])

function make(sql = ''): void {
  new Database(path).exec(sql).close()
}

describe('fleetcron migrate --effects', () => {
  it('makes the tables once, and says what it did', async () => {
    make()
    expect(await migrate('--verify')).toEqual({
      code: 1,
      out: 'missing: table fleetcron_effect, table fleetcron_fence\n',
      err: '',
    })
    expect(await migrate()).toMatchObject({ code: 0, out: 'made: table fleetcron_effect, table fleetcron_fence\n' })
    expect(await migrate()).toMatchObject({ code: 0, out: 'nothing to do: the tables of effects are there\n' })
    expect(await migrate('--verify')).toMatchObject({ code: 0, out: 'nothing is missing\n' })
    expect(JSON.parse((await migrate('--verify', '--json')).out)).toEqual({ missing: [] })
    const database = new Database(path)
    expect(await sqlite(database).once('k', () => 1)).toBe(1)
    database.close()
  })

  it('is not led astray by the ledger of the environment', async () => {
    make()
    const ledger = join(folder, 'ledger.db')
    const args = ['migrate', '--effects', `sqlite:${path}`, '--json']
    const { out } = await command.run(args, { FLEETCRON_STORE: `sqlite:${ledger}` })
    expect(JSON.parse(out)).toEqual({ made: ['table fleetcron_effect', 'table fleetcron_fence'] })
    expect(existsSync(ledger)).toBe(false)
  })

  it('prints SQL that makes the same, for every database, and connects to none', async () => {
    const { code, out } = await migrate('--print')
    expect([code, existsSync(path)]).toEqual([0, false])
    make(out)
    expect((await migrate('--verify')).code).toBe(0)
    const away = ['postgres://app:hunter2@127.0.0.1:1/app', 'mysql://app:hunter2@127.0.0.1:1/app']
    for (const url of away) {
      const printed = await command.run(['migrate', '--print', '--effects', url])
      expect(printed).toMatchObject({
        code: 0,
        out: expect.stringContaining('CREATE TABLE IF NOT EXISTS fleetcron_fence'),
      })
      const asked = await command.run(['migrate', '--effects', url])
      expect(asked).toMatchObject({
        code: 75,
        out: '',
        err: expect.stringMatching(/^fleetcron: The tables of effects/),
      })
      expect(asked.err).not.toContain('hunter2')
    }
  })

  it('says which columns are missing of a table that was there, and leaves it alone', async () => {
    make()
    await migrate()
    make('DROP TABLE fleetcron_fence; CREATE TABLE fleetcron_fence (resource TEXT, token INTEGER, updated_at INTEGER)')
    const said = 'primary key resource of fleetcron_fence'
    expect(await migrate('--verify')).toMatchObject({ code: 1, out: `missing: ${said}\n` })
    expect(await migrate()).toMatchObject({ code: 1, err: expect.stringContaining(`lack ${said}`) })
    make('DROP TABLE fleetcron_fence; CREATE TABLE fleetcron_fence (resource TEXT PRIMARY KEY)')
    expect(await migrate('--verify')).toMatchObject({
      code: 1,
      out: 'missing: column token of fleetcron_fence, column updated_at of fleetcron_fence\n',
    })
  })

  it.each([
    [['--effects', 'sqlite:PATH'], 2, 'and none is made here: look at the path in --effects'],
    [['--effects', 'sqlite:'], 2, 'it names no file'],
    [['--effects', 'mongodb://u:hunter2@h'], 2, 'no business database is known by mongodb:'],
    [['--effects', 'mongodb://u:hunter2@h', '--print'], 2, 'no business database is known by mongodb:'],
    [['--effects', 'sqlite:PATH', '--store', 'sqlite:x.db'], 2, 'migrate one after the other'],
    [['--effects', 'sqlite:PATH', '--prefix', 'x'], 2, 'migrate one after the other'],
    [['--effects', 'sqlite:PATH', '--print', '--verify'], 2, 'one of --print and --verify'],
  ])('%j ends with %i', async (args, code, message) => {
    const result = await command.run(['migrate', ...args.map((arg) => arg.replace('PATH', path))])
    expect(result).toMatchObject({ code, out: '', err: expect.stringContaining(message) })
    expect(result.err).not.toContain('hunter2')
    expect(existsSync(path)).toBe(false)
  })
})

describe('fleetcron migrate --verify', () => {
  it('says whether a ledger has its schema, and makes none', async () => {
    const verify = ['migrate', '--verify', '--store', `sqlite:${path}`]
    expect(await command.run(verify)).toEqual({ code: 1, out: 'missing: schema 1; there is none yet\n', err: '' })
    expect(existsSync(path)).toBe(false)
    await command.run(['migrate', '--store', `sqlite:${path}`])
    expect(await command.run(verify)).toMatchObject({ code: 0, out: 'nothing is missing: it has schema 1\n' })
    expect(JSON.parse((await command.run([...verify, '--json'])).out)).toEqual({ from: 1, to: 1 })
  })
})
