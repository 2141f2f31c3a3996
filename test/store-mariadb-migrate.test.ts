import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { resolveStore } from '../src/store/resolve.js'
import { CommandLine } from './cli/command.js'
import { MysqlPlace } from './mysql/place.js'
import { sharedServer } from './servers/index.js'

let command: CommandLine
let server = ''
let place: MysqlPlace

beforeAll(async () => {
  command = await CommandLine.build()
  server = (await sharedServer('mariadb')).url
})
afterAll(() => command.remove())
beforeEach(() => {
  place = new MysqlPlace(server)
})
afterEach(() => place.remove())

it('a ledger in MariaDB is made by command, with the prefix that is named', async () => {
  const args = ['migrate', '--store', server, '--prefix', place.prefix]
  expect(await command.run(args)).toEqual({ code: 0, out: 'schema 1 was made: nothing was there before\n', err: '' })
  expect((await command.run(args)).out).toBe('nothing to do: it has schema 1\n')
  expect((await command.run([...args, '--print'])).out).toBe('')
})

it('what the command prints makes a ledger that needs nothing more', async () => {
  const url = `${server}?prefix=${place.prefix}`
  const looked = await resolveStore(url, 'f', { autoMigrate: false })
  await expect(looked.open()).rejects.toThrow(/it is only verified here: run the SQL of fleetcron migrate --print/)
  await place.sql((await command.run(['migrate', '--print', '--store', url])).out)
  const store = await resolveStore(url, 'f', { autoMigrate: false })
  expect(await store.open()).toMatchObject({ kind: 'mysql' })
  await store.close()
})

it('a newer schema serves this version where it only added, and is refused by both numbers where it did not', async () => {
  const opened = async () => {
    const store = place.store('f')
    await store.open()
    await store.close()
  }
  await opened()
  await place.sql(`UPDATE PREFIX_meta SET value = '7' WHERE name = 'schema'`)
  await opened()
  await place.sql(`UPDATE PREFIX_meta SET value = '7' WHERE name = 'compatible'`)
  await expect(opened()).rejects.toMatchObject({
    code: 'STORE_NEWER',
    message: expect.stringContaining('has schema 7, and this version of fleetcron knows schema 1'),
  })
})
