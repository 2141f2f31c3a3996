import Database from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { RetryTransaction } from '../src/effect/errors.js'
import type { EffectOptions } from '../src/effect/port.js'
import { resultCodeOf } from '../src/effect/sqlite/database.js'
import { sqlite } from '../src/effect/sqlite/index.js'
import { attemptOf, BusinessFolder, noteIn, notesIn } from './effect/business-folder.js'
import { TurnedClock } from './effect/turned-clock.js'

let folder: BusinessFolder
let database: Database.Database

beforeEach(async () => {
  folder = new BusinessFolder()
  database = folder.connect()
  await sqlite(database).ensure()
})
afterEach(() => folder.remove())

const never = () => {
  throw new Error('called')
}

describe('the function of an effect on SQLite', () => {
  test('is refused before it is called when it is asynchronous', async () => {
    let called = false
    const asynchronous = async () => {
      called = true
    }
    await expect(attemptOf(sqlite(database)).once('a', asynchronous)).rejects.toMatchObject({ code: 'EFFECT_INVALID' })
    expect(called).toBe(false)
  })

  test('is rolled back when it returns a promise, whatever becomes of that', async () => {
    const run = attemptOf(sqlite(database))
    const returning = () => {
      noteIn(database, 'half')
      return Promise.reject(new Error('nobody awaits this'))
    }
    await expect(run.once('a', returning)).rejects.toThrow(/synchronous/)
    let queries = 0
    const builder = Object.defineProperty({}, 'then', { value: () => queries++ })
    await expect(run.once('a', () => builder)).rejects.toMatchObject({ code: 'EFFECT_INVALID' })
    expect(queries).toBe(0)
    expect(notesIn(database)).toEqual([])
    expect(await run.once('a', () => noteIn(database, 'whole'))).toBe('whole')
  })

  test('may not end the transaction itself', async () => {
    const run = attemptOf(sqlite(database))
    for (const end of ['COMMIT', 'ROLLBACK', 'COMMIT; BEGIN', 'ROLLBACK; BEGIN']) {
      await expect(run.once('a', () => void database.exec(end))).rejects.toThrow(/was ended inside its function/)
    }
    expect(await run.once('a', () => noteIn(database, 'a'))).toBe('a')
  })

  test('may use transactions of better-sqlite3, which become savepoints', async () => {
    const run = attemptOf(sqlite(database))
    const inner = database.transaction(() => noteIn(database, 'inner'))
    expect(await run.once('a', () => inner())).toBe('inner')
    expect(notesIn(database)).toEqual(['inner'])
  })

  test('fails with the error of a full disk, and the connection goes on', async () => {
    const run = attemptOf(sqlite(database))
    const pages = database.pragma('page_count', { simple: true }) as number
    database.pragma(`max_page_count = ${pages + 2}`)
    await expect(run.once('a', () => noteIn(database, 'x'.repeat(100_000)))).rejects.toMatchObject({
      code: 'SQLITE_FULL',
    })
    expect(database.inTransaction).toBe(false)
    database.pragma('max_page_count = 100000')
    expect(await run.once('a', () => noteIn(database, 'fits'))).toBe('fits')
    expect(notesIn(database)).toEqual(['fits'])
  })
})

describe('a connection', () => {
  test('that has a transaction open is refused, and that transaction left alone', async () => {
    const effects = sqlite(database)
    database.exec('BEGIN')
    noteIn(database, 'users own')
    await expect(attemptOf(effects).once('a', never)).rejects.toMatchObject({ code: 'EFFECT_NESTED' })
    await expect(effects.raise('f/j', 1)).rejects.toThrow(/transaction open already/)
    database.exec('COMMIT')
    expect(notesIn(database)).toEqual(['users own'])
    expect(await effects.raise('f/j', 1)).toEqual({ raised: true })
  })

  test('keeps the busy time-out of its user, also after errors', async () => {
    database.pragma('busy_timeout = 1234')
    const run = attemptOf(sqlite(database))
    await run.once('a', () => noteIn(database, 'a'))
    await expect(run.once('b', never)).rejects.toThrow('called')
    expect(database.pragma('busy_timeout', { simple: true })).toBe(1234)
  })

  test('that hands integers over as BigInt works as well', async () => {
    database.defaultSafeIntegers(true)
    const effects = sqlite(database)
    const token = Number.MAX_SAFE_INTEGER
    expect(await effects.raise('f/j', token)).toEqual({ raised: true })
    expect(await effects.raise('f/j', token - 1)).toEqual({ raised: false, token })
    expect(await attemptOf(effects, { token }).once('a', () => 7)).toBe(7)
  })

  test('is asked for as little as it takes, and begins as a writer', async () => {
    const asked: string[] = []
    const verbose = (sql: unknown) => void asked.push(String(sql).split(/[ (]/, 3).join(' '))
    const run = attemptOf(sqlite(folder.connect({ verbose, timeout: 0 })))
    await sqlite(database).raise('f/j', 1)
    asked.length = 0
    await run.once('a', () => 1)
    const [first, second, ...rest] = asked
    expect([first, second]).toEqual(['PRAGMA busy_timeout', 'BEGIN IMMEDIATE'])
    expect(rest).toEqual([
      'SAVEPOINT fleetcron_effect',
      'SELECT token FROM',
      'INSERT INTO fleetcron_effect',
      'UPDATE fleetcron_effect SET',
      'RELEASE SAVEPOINT fleetcron_effect',
      'COMMIT',
    ])
  })

  test('in memory is enough', async () => {
    const effects = sqlite(new Database(':memory:'))
    await effects.ensure()
    expect(await effects.once('a', () => ({ n: 1 }))).toEqual({ n: 1 })
    expect(await effects.once('a', never)).toEqual({ n: 1 })
  })

  test('that was closed, or closes within, says so', async () => {
    const run = attemptOf(sqlite(database))
    await expect(run.once('a', () => void database.close())).rejects.toThrow(/was ended inside its function/)
    await expect(run.once('a', never)).rejects.toThrow(/not open/)
  })
})

describe('joined to a transaction on SQLite, an effect', () => {
  test('answers at once, inside the transaction of better-sqlite3', async () => {
    const run = attemptOf(sqlite(database))
    const both = database.transaction((): number => {
      const first = run.once('a', () => 1, { tx: database })
      return first + run.once('b', (tx) => noteIn(tx, 'b').length + 1, { tx: database })
    })
    expect(both()).toBe(3)
    expect(await run.once('b', never)).toBe(2)
  })

  test('throws at once, before the user could commit', async () => {
    const effects = sqlite(database)
    await effects.raise('f/j', 2)
    const run = attemptOf(effects, { token: 1 })
    const late = database.transaction((act: () => void) => {
      noteIn(database, 'users own')
      act()
    })
    expect(() => late(() => run.once('a', never, { tx: database }))).toThrow(/newer attempt/)
    expect(() => late(() => run.fence(database))).toThrow(/newer attempt/)
    expect(() => late(() => effects.once('a\0', never, { tx: database }))).toThrow(/NUL/)
    expect(notesIn(database)).toEqual([])
  })

  test('undoes what its function wrote before it failed, also when the user goes on', async () => {
    const run = attemptOf(sqlite(database))
    const swallow = database.transaction(() => {
      noteIn(database, 'before')
      const half = () => {
        noteIn(database, 'half')
        throw new Error('no')
      }
      expect(() => run.once('a', half, { tx: database })).toThrow('no')
      noteIn(database, 'after')
    })
    swallow()
    expect(notesIn(database)).toEqual(['after', 'before'])
  })

  test('asks for the transaction to be repeated when somebody wrote since it began', async () => {
    const run = attemptOf(sqlite(database))
    const other = folder.connect()
    database.exec('BEGIN')
    expect(notesIn(database)).toEqual([])
    noteIn(other, 'in between')
    const act = () => run.once('a', never, { tx: database })
    expect(act).toThrow(RetryTransaction)
    expect(act).toThrow(/Job 'j', run 'k': effect 'a'.*repeated.*Roll it back/)
    expect(database.inTransaction).toBe(true)
    database.exec('ROLLBACK')
    database.exec('BEGIN')
    expect(run.once('a', () => noteIn(database, 'a'), { tx: database })).toBe('a')
    database.exec('COMMIT')
    expect(notesIn(database)).toEqual(['a', 'in between'])
  })
})

describe('while another connection writes', () => {
  const turned = (options: EffectOptions = {}) => {
    const clock = new TurnedClock()
    return { clock, effects: sqlite(database, { clock, ...options }) }
  }

  test('an effect tries again, without holding up the process as long as its user allowed', async () => {
    database.pragma('busy_timeout = 600000')
    const { clock, effects } = turned()
    const other = folder.connect()
    other.exec('BEGIN IMMEDIATE')
    const effect = attemptOf(effects).once('a', () => noteIn(database, 'a'))
    await clock.turn()
    await clock.turn()
    other.exec('COMMIT')
    await clock.turn()
    expect(await effect).toBe('a')
    expect(database.pragma('busy_timeout', { simple: true })).toBe(600_000)
  })

  test('it gives up after its time, with the error of the database as the cause', async () => {
    const { clock, effects } = turned({ retryFor: '2s' })
    const other = folder.connect()
    other.exec('BEGIN IMMEDIATE')
    const effect = attemptOf(effects).once('a', never)
    const outcome = expect(effect).rejects.toMatchObject({
      code: 'EFFECT_UNAVAILABLE',
      message: expect.stringMatching(/effect 'a': .* tries over \d+ ms .*locked.*Nothing was written/),
      cause: { code: 'SQLITE_BUSY' },
    })
    await clock.turnUntil(effect)
    await outcome
    expect(clock.monotonic()).toBeGreaterThan(1_900)
    expect(clock.monotonic()).toBeLessThanOrEqual(2_000)
    expect(Math.max(...clock.pausesMs)).toBeGreaterThan(50)
    expect(Math.max(...clock.pausesMs)).toBeLessThanOrEqual(101)
    expect(new Set(clock.pausesMs).size).toBeGreaterThan(5)
  })

  test('it stops trying when the signal of its attempt fires', async () => {
    const { clock, effects } = turned()
    const control = new AbortController()
    const other = folder.connect()
    other.exec('BEGIN IMMEDIATE')
    const effect = attemptOf(effects, { signal: control.signal }).once('a', never)
    const outcome = expect(effect).rejects.toThrow('the session is lost')
    control.abort(new Error('the session is lost'))
    await clock.turn()
    await outcome
  })

  test('a fence is raised as soon as it can be', async () => {
    const { clock, effects } = turned()
    const other = folder.connect()
    other.exec('BEGIN IMMEDIATE')
    const raised = effects.raise('f/j', 4)
    await clock.turn()
    other.exec('COMMIT')
    await clock.turn()
    expect(await raised).toEqual({ raised: true })
  })
})

describe('sqlite()', () => {
  test.each([
    [{ retries: 3 }, 'OPTION_INVALID', /unknown option 'retries'. Known are prefix, retention, retryFor, clock/],
    [{ retryFor: 'soon' }, 'OPTION_INVALID', /effects: retryFor/],
    [{ prefix: 'x'.repeat(65) }, 'EFFECT_INVALID', /prefix.*65 characters/],
    [{ prefix: 7 }, 'EFFECT_INVALID', /prefix.*number/],
  ])('refuses %j', (options, code, message) => {
    const act = () => sqlite(database, options as EffectOptions)
    expect(act).toThrow(message)
    expect(act).toThrow(expect.objectContaining({ code }))
  })

  test('refuses what is no connection', () => {
    for (const wrong of [undefined, null, 'business.db', {}]) {
      expect(() => sqlite(wrong as never)).toThrow(/open connection/)
    }
  })

  test('prints its tables', async () => {
    const { tables } = sqlite(database)
    const fresh = new Database(':memory:')
    fresh.exec(tables)
    expect(await sqlite(fresh).once('a', () => 1)).toBe(1)
    expect(tables).toMatch(
      /^CREATE TABLE IF NOT EXISTS fleetcron_effect \(\n(.|\n)*\);\n\nCREATE TABLE .*fleetcron_fence/,
    )
  })

  test.each([
    [Object.assign(new Error(), { code: 'SQLITE_BUSY_SNAPSHOT' }), 'BUSY'],
    [Object.assign(new Error(), { code: 'ERR_SQLITE_ERROR', errcode: 517 }), 'BUSY'],
    [Object.assign(new Error(), { code: 'ERR_SQLITE_ERROR', errcode: 6 }), 'LOCKED'],
    [Object.assign(new Error(), { code: 'ERR_SQLITE_ERROR', errcode: 1 }), 'ERROR'],
    [Object.assign(new Error(), { code: 'EBUSY' }), null],
    ['SQLITE_BUSY', null],
    [undefined, null],
  ])('reads the result code of %o', (error, code) => {
    expect(resultCodeOf(error)).toBe(code)
  })
})
