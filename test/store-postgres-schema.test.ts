import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { postgresMigration } from '../src/store/postgres/index.js'
import { resolveStore } from '../src/store/resolve.js'
import { creation } from '../src/testing/store/builders.js'
import { PostgresPlace } from './postgres/place.js'
import { TestSession } from './postgres/session.js'
import { sharedServer } from './servers/index.js'

let url = ''
let place: PostgresPlace

beforeAll(async () => {
  url = (await sharedServer('postgres')).url
})
beforeEach(() => {
  place = new PostgresPlace(url)
})
afterEach(() => place.remove())

describe('the schema of a Postgres ledger', () => {
  it('may have any name, and is not mixed up with another', async () => {
    const schema = `we"ird'; fleetcron. ${place.schema}`
    const store = place.store('f', { schema })
    await store.open()
    expect(await (await TestSession.begin(store)).outcomes(creation('c', 'billing:a'))).toEqual(['won'])
    const other = place.store('f')
    await other.open()
    expect((await other.load({ jobs: ['billing:a'] })).jobs.size).toBe(0)
    await store.close()
    await other.close()
    await place.sql(`DROP SCHEMA "${schema.replaceAll('"', '""')}" CASCADE`)
  })

  it('is made by ten at once, time after time', async () => {
    for (let round = 0; round < 8; round++) {
      const anew = new PostgresPlace(url)
      const stores = Array.from({ length: 10 }, () => anew.store('f', {}, 2))
      const infos = await Promise.all(stores.map((store) => store.open()))
      expect(new Set(infos.map((info) => info.incarnation)).size).toBe(1)
      await Promise.all(stores.map((store) => store.close()))
      await anew.remove()
    }
  })

  it('is refused where it is newer than this version, naming both', async () => {
    const store = place.store('f')
    await store.open()
    await store.close()
    await place.sql(`UPDATE SCHEMA.meta SET value = '7' WHERE name IN ('schema', 'compatible')`)
    await expect(place.store('f').open()).rejects.toMatchObject({
      code: 'STORE_NEWER',
      message: expect.stringMatching(
        /has schema 7, and this version of fleetcron knows schema 1: upgrade fleetcron on this node\.$/,
      ),
    })
  })

  it('serves this version too where a newer one only added to it', async () => {
    const store = place.store('f')
    await store.open()
    await place.sql(`UPDATE SCHEMA.meta SET value = '7' WHERE name = 'schema'`)
    const older = place.store('f')
    await older.open()
    expect(await (await TestSession.begin(older)).outcomes(creation('c', 'billing:a'))).toEqual(['won'])
    await older.close()
    await store.close()
    expect(await place.sql(`SELECT value FROM SCHEMA.meta WHERE name = 'schema'`)).toEqual([{ value: '7' }])
  })

  it('is refused where its database cannot hold every text', async () => {
    await place.sql(`CREATE DATABASE ${place.schema} ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0`)
    const store = await resolveStore(url.replace(/\/postgres$/, `/${place.schema}`), 'f')
    await expect(store.open()).rejects.toMatchObject({
      code: 'OPTION_INVALID',
      message: expect.stringContaining(
        'with the encoding LATIN1, which cannot hold every text: create a database with the encoding UTF8',
      ),
    })
    await place.sql(`DROP DATABASE ${place.schema} WITH (FORCE)`)
  })

  it('is only verified where autoMigrate is off, and can be made by hand', async () => {
    const store = place.store('f', { autoMigrate: false })
    await expect(store.open()).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringMatching(
        /has no schema yet, .* needs schema 1, and it is only verified here: run the SQL of fleetcron migrate --print\.$/,
      ),
    })
    expect(await place.sql(`SELECT FROM pg_namespace WHERE nspname = '${place.schema}'`)).toEqual([])
    await place.sql(postgresMigration(place.schema))
    await store.open()
    expect(await (await TestSession.begin(store)).outcomes(creation('c', 'billing:a'))).toEqual(['won'])
    await store.close()
  })

  it('needs no right to create once it is there', async () => {
    const store = place.store('f')
    await store.open()
    await place.sql(`
      DROP ROLE IF EXISTS plain; CREATE ROLE plain LOGIN;
      GRANT USAGE ON SCHEMA "${place.schema}" TO plain; GRANT ALL ON ALL TABLES IN SCHEMA "${place.schema}" TO plain`)
    const plain = await resolveStore(`${url.replace('postgres@', 'plain@')}?schema=${place.schema}`, 'f')
    await plain.open()
    expect(await (await TestSession.begin(plain)).outcomes(creation('c', 'billing:a'))).toEqual(['won'])
    await plain.close()
    await plain.open()
    expect((await plain.load({ jobs: ['billing:a'] })).jobs.size).toBe(1)
    await plain.close()
    await store.close()
  })

  it.each([
    'CREATE TABLE SCHEMA.event (id integer)',
    'CREATE FUNCTION SCHEMA.clock() RETURNS bigint LANGUAGE sql AS $$ SELECT 1::bigint $$',
  ])('is not mixed with what somebody else keeps there: %s', async (sql) => {
    await place.sql(`CREATE SCHEMA "${place.schema}"; ${sql}`)
    await expect(place.store('f').open()).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringMatching(
        /already has a table or function named (event|clock) that is not the ledger's: give the ledger a schema of its own\.$/,
      ),
    })
    expect(
      await place.sql(
        `SELECT FROM pg_class WHERE relname = 'run' AND relnamespace = '"${place.schema}"'::regnamespace`,
      ),
    ).toEqual([])
  })

  it.each(['(x integer)', '(name text, value text)'])(
    'is not read from another table named meta: %s',
    async (columns) => {
      await place.sql(`CREATE SCHEMA "${place.schema}"; CREATE TABLE SCHEMA.meta ${columns}`)
      await expect(place.store('f').open()).rejects.toThrow('already has a table or function named meta')
    },
  )

  it('is another one when it was dumped, dropped and read back', async () => {
    const store = place.store('f')
    const { incarnation } = await store.open()
    await store.close()
    await place.sql(
      'CREATE TABLE SCHEMA.copy AS TABLE SCHEMA.meta; DROP TABLE SCHEMA.meta; ALTER TABLE SCHEMA.copy RENAME TO meta',
    )
    const again = place.store('f')
    expect((await again.open()).incarnation).not.toBe(incarnation)
    await again.close()
  })
})
