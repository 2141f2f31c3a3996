import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { mysqlMigration } from '../src/store/mysql/index.js'
import { creation } from '../src/testing/store/builders.js'
import { MysqlPlace } from './mysql/place.js'
import { TestSession } from './postgres/session.js'
import { sharedServer } from './servers/index.js'

let url = ''
let place: MysqlPlace

beforeAll(async () => {
  url = (await sharedServer('mariadb')).url
})
beforeEach(() => {
  place = new MysqlPlace(url)
})
afterEach(() => place.remove())

describe('the schema of a MySQL ledger', () => {
  it('is not mixed up with one of another prefix', async () => {
    const other = new MysqlPlace(url)
    const [one, two] = [place.store('f'), other.store('f')]
    await one.open()
    await two.open()
    expect(await (await TestSession.begin(one)).outcomes(creation('c', 'billing:a'))).toEqual(['won'])
    expect((await two.load({ jobs: ['billing:a'] })).jobs.size).toBe(0)
    await one.close()
    await two.close()
    await other.remove()
  })

  it('is made whole where the process that made it was killed in between', async () => {
    const [first = '', second = '', job = ''] = mysqlMigration(place.prefix).split(';\n')
    await place.sql([first, second, job].join(';\n'))
    const store = place.store('f')
    await store.open()
    expect(await (await TestSession.begin(store)).outcomes(creation('c', 'billing:a'))).toEqual(['won'])
    await store.close()
  })

  it('is refused where it is newer than this version, naming both', async () => {
    const store = place.store('f')
    await store.open()
    await store.close()
    await place.sql(`UPDATE PREFIX_meta SET value = '7' WHERE name IN ('schema', 'compatible')`)
    await expect(place.store('f').open()).rejects.toMatchObject({
      code: 'STORE_NEWER',
      message: expect.stringMatching(
        /has schema 7, and this version of fleetcron knows schema 1: upgrade fleetcron on this node\.$/,
      ),
    })
  })

  it('is only verified where autoMigrate is off, and can be made by hand', async () => {
    const store = place.store('f', { autoMigrate: false })
    await expect(store.open()).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringMatching(
        /has no schema yet, .* needs schema 1, and it is only verified here: run the SQL of fleetcron migrate --print\.$/,
      ),
    })
    await place.sql(mysqlMigration(place.prefix))
    await store.open()
    expect(await (await TestSession.begin(store)).outcomes(creation('c', 'billing:a'))).toEqual(['won'])
    await store.close()
  })

  it('needs no more than reading and writing rows once it is there', async () => {
    const store = place.store('f')
    await store.open()
    await store.close()
    await place.sql(
      `CREATE OR REPLACE USER plain@'%'; GRANT SELECT, INSERT, UPDATE, DELETE ON fleetcron.* TO plain@'%'`,
    )
    const plain = new MysqlPlace(url.replace(/:\/\/\w+@/, '://plain@'))
    const limited = plain.store('f', { prefix: place.prefix })
    await limited.open()
    const session = await TestSession.begin(limited)
    expect(await session.outcomes(creation('c', 'billing:a'))).toEqual(['won'])
    expect((await session.beat()).alive).toBe(true)
    await limited.close()
    await plain.remove()
    await place.sql(`DROP USER plain@'%'`)
  })

  it.each(['event (id INT)', 'meta (x INT)', 'meta (name VARBINARY(64), value VARBINARY(255))'])(
    'is not mixed with what somebody else keeps there: %s',
    async (table) => {
      await place.sql(`CREATE TABLE PREFIX_${table}`)
      await expect(place.store('f').open()).rejects.toMatchObject({
        code: 'STORE_UNAVAILABLE',
        message: expect.stringMatching(
          /already has a table named fleet_\w+_(event|meta) that is not the ledger's: give the ledger another prefix/,
        ),
      })
      expect(await place.sql(`SHOW TABLES LIKE '${place.prefix}run'`)).toEqual([])
    },
  )

  it('is refused in an engine without transactions', async () => {
    const store = place.store('f')
    await store.open()
    await store.close()
    await place.sql(`
      DROP TABLE PREFIX_definition; CREATE TABLE PREFIX_definition (id INT) ENGINE=MyISAM COMMENT='fleetcron'`)
    await expect(place.store('f').open()).rejects.toThrow(
      /is in the engine MyISAM: the ledger needs the transactions of InnoDB\.$/,
    )
  })
})
