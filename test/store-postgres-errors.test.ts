import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createPostgresStore } from '../src/store/postgres/index.js'
import { resolveStore } from '../src/store/resolve.js'
import { change, creation, fresh, header, queued } from '../src/testing/store/builders.js'
import { PostgresPlace, poolOf } from './postgres/place.js'
import { TestSession } from './postgres/session.js'
import { sharedServer } from './servers/index.js'

let url = ''
let place: PostgresPlace

beforeAll(async () => {
  url = (await sharedServer('postgres')).url
  const admin = new PostgresPlace(url)
  await admin.sql(`
    DROP ROLE IF EXISTS guarded, reader, poor;
    CREATE ROLE guarded LOGIN PASSWORD 'right and secret'; CREATE ROLE poor LOGIN; CREATE ROLE reader LOGIN;
    ALTER ROLE reader SET default_transaction_read_only = on`)
  await admin.remove()
})
beforeEach(() => {
  place = new PostgresPlace(url)
})
afterEach(() => place.remove())
afterAll(async () => {
  const admin = new PostgresPlace(url)
  await admin.sql('DROP ROLE guarded, reader, poor')
  await admin.remove()
})

/** The URL of the server with something else in it. */
function urlWith(parts: { user?: string; password?: string; port?: number; host?: string; database?: string }): string {
  const { hostname, port, username, pathname } = new URL(url)
  const { user = username, password, database = pathname.slice(1) } = parts
  const who = password === undefined ? user : `${user}:${encodeURIComponent(password)}`
  return `postgres://${who}@${parts.host ?? hostname}:${parts.port ?? port}/${database}`
}

describe('a Postgres ledger that cannot be used', () => {
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
    [
      'a password that is missing',
      { user: 'guarded' },
      'it asks for a password, and there is none: put it into the URL.',
    ],
    ['the database', { database: 'nosuch' }, 'there is no such database: create it, or look at its name.'],
    ['a server that is read-only', { user: 'reader' }, 'it is read-only, a standby perhaps'],
    ['a right', { user: 'poor' }, 'the user lacks a right: it needs CREATE on the database once'],
  ])('says so in one sentence without the password: %s', async (_, parts, why) => {
    const store = await resolveStore(`${urlWith(parts)}?schema=${place.schema}`, 'f')
    const error = await store.open().catch((thrown) => thrown)
    expect(error).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringMatching(/^The ledger \w+ at \S+ cannot be used: [^.]+(\.conf)?[^.]*[.?]$/),
    })
    expect(error.message).toMatch(why)
    expect(`${error.message} ${JSON.stringify(error)} ${error.cause} ${JSON.stringify(error.cause)}`).not.toContain(
      'secret',
    )
  })

  it.each([
    ['53100', 'the disk of the server is full: free some space, the fleet goes on by itself.'],
    ['53200', 'the server ran out of memory.'],
    ['57014', 'a statement took too long and was ended'],
    ['25006', 'it is read-only, a standby perhaps'],
    ['57P03', 'the server is starting up.'],
    ['58030', 'the server met an error of its disk or system.'],
  ])('says what the server says with %s', async (code, why) => {
    const store = place.store('f')
    await store.open()
    await place.sql(`
      CREATE OR REPLACE FUNCTION SCHEMA.clock() RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RAISE SQLSTATE '${code}'; END $$`)
    const error = await store.load({}).catch((thrown) => thrown)
    expect(error).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringContaining(`cannot be used: ${why}`),
    })
    await store.close()
  })

  it('is refused with a pool of one connection, which the beats would have to themselves (F26)', async () => {
    const pool = poolOf(url, 1)
    const store = createPostgresStore({ pool, fleet: 'f', schema: place.schema })
    await expect(store.open()).rejects.toMatchObject({
      code: 'OPTION_INVALID',
      message: expect.stringContaining(
        'has room for one connection only, and one is kept for beats: give it a max of 2 or more.',
      ),
    })
    await pool.end()
  })

  it.each(['', 'pg_fleet', 'x'.repeat(64), 'a\0b'])('is refused with a schema named %j', (schema) => {
    const refused = () => createPostgresStore({ pool: poolOf(url, 2), fleet: 'f', schema })
    expect(refused).toThrow(expect.objectContaining({ code: 'OPTION_INVALID' }))
  })

  it('says that it is not open, before and after', async () => {
    const store = place.store('f')
    await expect(store.load({})).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringContaining('is not open.'),
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
    const store = createPostgresStore({ pool, fleet: 'f', schema: place.schema })
    await store.open()
    const session = await TestSession.begin(store)
    const end = await store.subscribe?.(() => {})
    await Promise.all([session.beat(), session.attend(), store.load({}), session.commit(creation('c', 'billing:a'))])
    await end?.()
    await store.close()
    const clients = [await pool.connect(), await pool.connect()]
    for (const client of clients) {
      expect((await client.query('SELECT * FROM pg_listening_channels()')).rows).toEqual([])
      expect((await client.query('SHOW statement_timeout')).rows).toEqual([{ statement_timeout: '0' }])
      expect(client.listenerCount('notification')).toBe(0)
      client.release()
    }
    await pool.end()
  })

  it('may have other ideas about transactions: each call is READ COMMITTED, and bounded in time and in waits', async () => {
    const pool = new pg.Pool({
      connectionString: url,
      max: 2,
      options: '-c default_transaction_isolation=serializable',
    })
    const store = createPostgresStore({ pool, fleet: 'f', schema: place.schema })
    await store.open()
    await place.sql(`
      CREATE TABLE SCHEMA.seen (isolation text, statement text, lock text);
      CREATE OR REPLACE FUNCTION SCHEMA.clock() RETURNS bigint LANGUAGE plpgsql AS $$
        BEGIN
          INSERT INTO SCHEMA.seen VALUES (current_setting('transaction_isolation'), current_setting('statement_timeout'),
            current_setting('lock_timeout'));
          RETURN 1000;
        END $$`)
    const session = await TestSession.begin(store)
    await session.commit(creation('c', 'billing:a', { runs: [fresh(queued('billing:a', 'k'))] }))
    await session.beat()
    const seen = await place.sql('SELECT DISTINCT * FROM SCHEMA.seen ORDER BY lock')
    expect(seen).toEqual([
      { isolation: 'read committed', statement: '5s', lock: '100ms' },
      { isolation: 'read committed', statement: '5s', lock: '1s' },
    ])
    await store.close()
    await pool.end()
  })

  it('may have other ideas about how values are written', async () => {
    const options =
      '-c array_nulls=off -c standard_conforming_strings=off -c bytea_output=escape -c intervalstyle=sql_standard'
    const pool = new pg.Pool({ connectionString: url, max: 2, options })
    const store = createPostgresStore({ pool, fleet: 'f', schema: place.schema })
    await store.open()
    const session = await TestSession.begin(store)
    await session.running(['billing:a'])
    expect((await session.beat()).alive).toBe(true)
    expect((await session.attend()).now).toBeGreaterThan(0)
    await store.close()
    await pool.end()
  })
})

describe('data that Postgres refuses', () => {
  it('is refused alone; the others of the batch are committed', async () => {
    const store = place.store('f')
    await store.open()
    const session = await TestSession.begin(store)
    const half = creation('c0', 'billing:half', { header: header('billing:half', { wakeAt: 0.5 }) })
    const nul = creation('c1', 'billing:nul', { runs: [fresh(queued('billing:nul', 'a\0b'))] })
    const long = creation('c2', 'billing:long', { runs: [fresh(queued('billing:long', noise(9_000)))] })
    const good = Array.from({ length: 20 }, (_, i) => creation(`g${i}`, `billing:${i}`))
    const results = await session.commit(...good.slice(0, 7), half, ...good.slice(7, 12), nul, long, ...good.slice(12))
    if (results === 'expired') throw new Error('in time')
    const refused = results.filter((result) => result.outcome === 'refused')
    expect(refused.map((result) => result.job)).toEqual(['billing:half', 'billing:nul', 'billing:long'])
    expect(refused.map((result) => result.outcome === 'refused' && result.why)).toEqual([
      expect.stringMatching(/invalid input syntax for type bigint: "0\.5"/),
      expect.stringMatching(/NUL/),
      expect.stringMatching(/index row .*\d+ bytes/),
    ])
    expect((await store.jobs({ limit: 100 })).length).toBe(20)
    expect(await store.runs({ limit: 9 })).toEqual([])
    const read = await session.read('billing:3')
    expect(await session.outcomes(change('next', read))).toEqual(['won'])
    await store.close()
  })
})

/** Text that no compression makes short. */
function noise(length: number): string {
  let seed = 1
  return Array.from({ length }, () => {
    seed = (seed * 48_271) % 2_147_483_647
    return String.fromCharCode(33 + (seed % 90))
  }).join('')
}
