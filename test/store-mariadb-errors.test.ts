import { createPool } from 'mysql2/promise'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createMysqlStore } from '../src/store/mysql/index.js'
import { resolveStore } from '../src/store/resolve.js'
import { change, creation, event, fresh, header, queued } from '../src/testing/store/builders.js'
import { MysqlPlace, poolOf } from './mysql/place.js'
import { TestSession } from './postgres/session.js'
import { sharedServer } from './servers/index.js'

let url = ''
let place: MysqlPlace

beforeAll(async () => {
  url = (await sharedServer('mariadb')).url
  const admin = new MysqlPlace(url)
  await admin.sql(`
    CREATE OR REPLACE USER guarded@'%' IDENTIFIED BY 'right and secret'; CREATE OR REPLACE USER poor@'%';
    GRANT SELECT ON fleetcron.* TO poor@'%'`)
  await admin.remove()
})
beforeEach(() => {
  place = new MysqlPlace(url)
})
afterEach(() => place.remove())
afterAll(async () => {
  const admin = new MysqlPlace(url)
  await admin.sql(`DROP USER guarded@'%', poor@'%'`)
  await admin.remove()
})

/** The URL of the server with something else in it. */
function urlWith(parts: { user?: string; password?: string; port?: number; host?: string; database?: string }): string {
  const { hostname, port, username, pathname } = new URL(url)
  const { user = username, password, database = pathname.slice(1) } = parts
  const who = password === undefined ? user : `${user}:${encodeURIComponent(password)}`
  return `mysql://${who}@${parts.host ?? hostname}:${parts.port ?? port}/${database}`
}

describe('a MySQL ledger that cannot be used', () => {
  it.each([
    ['the port', { port: 1, password: 'right and secret' }, 'nobody listens there: is the server running'],
    [
      'the host',
      { host: 'nowhere.invalid', password: 'right and secret' },
      /there is no such host|could not be looked up/,
    ],
    [
      'the password',
      { user: 'guarded', password: 'wrong and secret' },
      'the password is wrong, or the user does not exist.',
    ],
    ['a password that is missing', { user: 'guarded' }, 'the password is wrong, or the user does not exist.'],
    ['the database', { database: 'nosuch' }, 'there is no such database: create it, or look at its name.'],
    ['no database at all', { database: '' }, 'it names no database: put it at the end of the URL'],
    ['a right', { user: 'poor' }, 'the user lacks a right: it needs SELECT, INSERT, UPDATE and DELETE on the tables'],
  ])('says so in one sentence without the password: %s', async (_, parts, why) => {
    const store = await resolveStore(`${urlWith(parts)}?prefix=${place.prefix}`, 'f')
    const error = await store.open().catch((thrown) => thrown)
    await store.close()
    expect(error).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringMatching(/^The ledger .* at \S+ cannot be used: [^.]+[.?]$/),
    })
    expect(error.message).toMatch(why)
    expect(`${error.message} ${JSON.stringify(error)} ${error.cause} ${JSON.stringify(error.cause)}`).not.toContain(
      'secret',
    )
  })

  it.each([
    ['mysql://', 'after mysql:// follow user:password@host:port/database'],
    ['mariadb://me:se@cr@et@[host/db', 'after mysql:// follow'],
    ['mysql://me:secret%zz@host/db', 'it holds a % that no two digits follow'],
  ])('is refused with a URL that is not understood: %s', async (text, why) => {
    const error = await resolveStore(text, 'f').catch((thrown) => thrown)
    expect(error).toMatchObject({ code: 'OPTION_INVALID', message: expect.stringContaining(why) })
    expect(`${error.message} ${error.cause}`).not.toMatch(/secret|se@cr/)
  })

  it('is refused with a pool of one connection, which the beats would have to themselves', async () => {
    const pool = poolOf(url, 1)
    await expect(place.storeOn(pool, 'f').open()).rejects.toMatchObject({
      code: 'OPTION_INVALID',
      message: expect.stringContaining('give it a connectionLimit of 2 or more.'),
    })
    await pool.end()
  })

  it('is refused with a pool that sends one statement at a time', async () => {
    const pool = createPool({ uri: url, connectionLimit: 2 })
    await expect(place.storeOn(pool, 'f').open()).rejects.toMatchObject({
      code: 'OPTION_INVALID',
      message: expect.stringMatching(/sends one statement at a time: create it with multipleStatements: true\.$/),
    })
    await pool.end()
  })

  it('is refused where sessions do not commit by themselves', async () => {
    const pool = poolOf(url, 2)
    pool.on('connection', (connection) => void connection.query('SET autocommit = 0'))
    await expect(place.storeOn(pool, 'f').open()).rejects.toThrow('autocommit is off in the sessions of the pool')
    await pool.end()
  })

  it.each(['a-b', 'a`b', 'é', 'x'.repeat(55), 'a.b'])('is refused with the prefix %j', (prefix) => {
    const refused = () => createMysqlStore({ pool: poolOf(url, 2), fleet: 'f', prefix })
    expect(refused).toThrow(expect.objectContaining({ code: 'OPTION_INVALID' }))
  })

  it('says that it is not open, before and after', async () => {
    const store = place.store('f')
    await expect(store.load({})).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringMatching(/^The ledger fleetcron at 127\.0\.0\.1:\d+ is not open\.$/),
    })
    await store.open()
    await store.close()
    await expect(store.settle([])).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    await store.close()
  })
})

describe('a pool of one’s own', () => {
  it('is used as it is and left as it was', async () => {
    const pool = poolOf(url, 2)
    const store = place.storeOn(pool, 'f')
    await store.open()
    const session = await TestSession.begin(store)
    const first = creation('c', 'billing:a')
    await Promise.all([session.beat(), session.attend(), store.load({}), session.commit(first)])
    await session.commit(creation('again', 'billing:a'))
    await store.close()
    const connections = [await pool.getConnection(), await pool.getConnection()]
    for (const connection of connections) {
      const [rows] = await connection.query(
        // mysql2 itself asks for IGNORE_SPACE.
        "SELECT REPLACE(@@SESSION.sql_mode, 'IGNORE_SPACE,', '') = @@GLOBAL.sql_mode AS mode, @@autocommit AS autocommit, " +
          '@@SESSION.innodb_lock_wait_timeout = @@GLOBAL.innodb_lock_wait_timeout AS wait, ' +
          '@@SESSION.tx_isolation = @@GLOBAL.tx_isolation AS isolation, @@in_transaction AS open',
      )
      expect(rows).toEqual([{ mode: 1, autocommit: 1, wait: 1, isolation: 1, open: 0 }])
      expect(connection.listenerCount('error')).toBe(0)
      connection.release()
    }
    await pool.end()
  })

  it('may have other ideas about modes, zones, isolation, character sets and what rows look like', async () => {
    const pool = poolOf(url, 3, {
      charset: 'latin1',
      bigNumberStrings: true,
      supportBigNumbers: true,
      dateStrings: true,
      namedPlaceholders: true,
      nestTables: true,
      flags: ['-FOUND_ROWS'],
    })
    pool.on('connection', (connection) => {
      connection.query("SET time_zone = '+05:30', tx_isolation = 'SERIALIZABLE', innodb_snapshot_isolation = ON")
      connection.query("SET sql_mode = 'ANSI,NO_BACKSLASH_ESCAPES,EMPTY_STRING_IS_NULL,HIGH_NOT_PRECEDENCE'")
    })
    const store = place.storeOn(pool, 'f')
    await store.open()
    const session = await TestSession.begin(store)
    const odd = `a'b"c\\d\\'e 😀 é :name ? `
    const run = queued(`billing:${odd}`, odd, { data: JSON.stringify({ [odd]: odd }) })
    const made = creation(odd, `billing:${odd}`, {
      header: header(`billing:${odd}`, { name: odd }),
      runs: [fresh(run)],
      events: [event(odd, `billing:${odd}`, { why: '' })],
    })
    expect(await session.outcomes(made, creation('plain', 'billing:plain'))).toEqual(['won', 'won'])
    const read = await session.read(`billing:${odd}`)
    expect([read.header, read.version, read.runs]).toEqual([made.header, odd, [run]])
    expect((await store.events({ limit: 9 }))[0]).toEqual(made.events[0])
    expect(Math.abs((await store.load({})).now - Date.now())).toBeLessThan(60_000)
    expect((await session.beat()).alive).toBe(true)
    await store.close()
    await pool.end()
  })

  it.each(['CHAIN', 'RELEASE'])('may begin or end something after each commit (completion_type %s)', async (type) => {
    const pool = poolOf(url, 3)
    pool.on('connection', (connection) => connection.query(`SET completion_type = '${type}'`))
    const store = place.storeOn(pool, 'f')
    await store.open()
    const session = await TestSession.begin(store)
    expect(await session.outcomes(creation('c', 'billing:a'), creation('d', 'billing:b'))).toEqual(['won', 'won'])
    const read = await session.read('billing:a')
    // One is undone, and the session is as good as before.
    const late = change('late', { ...read, version: 'other' })
    expect(await session.outcomes(late, change('good', await session.read('billing:b')))).toEqual(['stale', 'won'])
    expect((await session.beat()).alive).toBe(true)
    await store.close()
    await pool.end()
  })
})

describe('data that MySQL refuses', () => {
  it('is refused alone; the others of the batch are committed', async () => {
    const store = place.store('f')
    await store.open()
    const session = await TestSession.begin(store)
    const half = creation('c0', 'billing:half', { header: header('billing:half', { wakeAt: 0.5 }) })
    const word = creation('c1', 'billing:word', { header: header('billing:word', { bucket: 2 ** 40 }) })
    const long = creation('x'.repeat(5_000), 'billing:long')
    const good = Array.from({ length: 20 }, (_, i) => creation(`g${i}`, `billing:${i}`))
    const results = await session.commit(...good.slice(0, 7), half, ...good.slice(7, 12), word, long, ...good.slice(12))
    if (results === 'expired') throw new Error('in time')
    const refused = results.filter((result) => result.outcome === 'refused')
    expect(refused.map((result) => [result.job, result.outcome === 'refused' && result.why])).toEqual([
      ['billing:half', 'The number 0.5 is not a whole one.'],
      ['billing:word', expect.stringContaining("Out of range value for column 'bucket'")],
      ['billing:long', 'The id of the change is too long.'],
    ])
    expect((await store.jobs({ limit: 100 })).length).toBe(20)
    await store.close()
  })

  it('or more than it takes in one message, is refused by its size; several large changes go one after the other', async () => {
    const store = place.store('f')
    await store.open()
    const session = await TestSession.begin(store, 's', 600_000)
    const large = (job: string, length: number) =>
      creation(`c ${job}`, job, { runs: [fresh(queued(job, 'k', { data: JSON.stringify('x'.repeat(length)) }))] })
    const results = await session.commit(
      large('billing:1', 9_000_000),
      large('billing:2', 9_000_000),
      large('billing:3', 20_000_000),
    )
    if (results === 'expired') throw new Error('in time')
    expect(results.map((result) => result.outcome)).toEqual(['won', 'won', 'refused'])
    expect(results[2]).toMatchObject({ why: expect.stringMatching(/\d+ bytes, more than .*\(max_allowed_packet\)/) })
    await store.close()
  })
})

describe('names that only bytes tell apart', () => {
  it('are different jobs, runs and sessions: case, accents, and spaces at the end', async () => {
    const store = place.store('f')
    await store.open()
    const session = await TestSession.begin(store)
    const names = ['a', 'a ', 'a  ', 'A', 'á', 'a\u0301', 'a\t', 'a\0', ...long('y'), ...long('é')]
    const changes = names.map((name, i) =>
      creation(`c${i}`, `billing:${name}`, { runs: names.map((key) => fresh(queued(`billing:${name}`, key))) }),
    )
    expect(new Set(await session.outcomes(...changes))).toEqual(new Set(['won']))
    const { jobs } = await store.load({ jobs: names.map((name) => `billing:${name}`) })
    expect([...jobs.keys()]).toEqual(names.map((name) => `billing:${name}`))
    for (const { runs } of jobs.values()) expect(runs.map((run) => run.key).sort()).toEqual(names.toSorted())
    const others = await Promise.all(names.map((name) => TestSession.begin(store, `session ${name}`)))
    const seen = await session.beat()
    expect(seen.nodes.length).toBe(1 + others.length)
    await store.close()
  })
})

/** Names that are as long as a column takes, one byte longer, and different only far behind. */
function long(letter: string): string[] {
  const bytes = Buffer.byteLength(letter)
  const edge = letter.repeat(Math.floor((767 - 'billing:'.length) / bytes))
  const far = letter.repeat(2_000)
  return [edge, `${edge}z`, `${edge}${letter}`, far, `${far} `, `${far}${letter}`]
}
