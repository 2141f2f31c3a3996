import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { resolveStore } from '../src/store/resolve.js'
import { CommandLine } from './cli/command.js'
import { PostgresPlace } from './postgres/place.js'
import { sharedServer } from './servers/index.js'

let command: CommandLine
let server = ''
let place: PostgresPlace

beforeAll(async () => {
  command = await CommandLine.build()
  server = (await sharedServer('postgres')).url
})
afterAll(() => command.remove())
beforeEach(() => {
  place = new PostgresPlace(server)
})
afterEach(() => place.remove())

it('a ledger in Postgres is made by command, in the schema that is named', async () => {
  const args = ['migrate', '--store', server, '--schema', place.schema]
  expect(await command.run(args)).toEqual({ code: 0, out: 'schema 1 was made: nothing was there before\n', err: '' })
  expect((await command.run(args)).out).toBe('nothing to do: it has schema 1\n')
  expect((await command.run([...args, '--print'])).out).toBe('')
})

it('what the command prints makes a ledger that needs nothing more', async () => {
  const url = `${server}?schema=${place.schema}`
  const looked = await resolveStore(url, 'f', { autoMigrate: false })
  await expect(looked.open()).rejects.toThrow(/it is only verified here: run the SQL of fleetcron migrate --print/)
  const { out } = await command.run(['migrate', '--print', '--store', url])
  expect(await place.sql(`SELECT FROM pg_namespace WHERE nspname = '${place.schema}'`)).toEqual([])
  await place.sql(out)
  const store = await resolveStore(url, 'f', { autoMigrate: false })
  expect(await store.open()).toMatchObject({ kind: 'postgres' })
  await store.close()
})
