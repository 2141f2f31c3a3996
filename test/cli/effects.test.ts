import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { sqlite } from '../../src/effect/sqlite/index.js'
import { attemptOf } from '../effect/business-folder.js'
import { CommandLine } from './command.js'

let command: CommandLine
let folder: string
let database: Database.Database
beforeAll(async () => {
  command = await CommandLine.build()
})
afterAll(() => command.remove())
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'fleetcron-effects-'))
  database = new Database(join(folder, 'business.db'))
  await sqlite(database).ensure()
})
afterEach(() => {
  database.close()
  rmSync(folder, { recursive: true })
})

async function fleetcron(...args: string[]) {
  const { code, out, err } = await command.run([
    ...args,
    '--effects',
    `sqlite:${join(folder, 'business.db')}`,
    '--json',
  ])
  return { code, err, answer: out === '' ? null : JSON.parse(out) }
}

/** A call that was sent, never answered, and may not be sent again. */
async function leaveUncertain(key: string): Promise<void> {
  const send = () => {
    throw new Error('socket hang up')
  }
  const act = attemptOf(sqlite(database)).call(key, { input: { amount: 1 }, send, keyValidFor: 0, retry: 0 })
  await expect(act).rejects.toMatchObject({ code: 'EFFECT_UNCERTAIN' })
}

const never = () => {
  throw new Error('sent')
}

describe('uncertain effects on the command line', () => {
  it('are listed, and resolved with who and why', async () => {
    expect(await fleetcron('effects', '--uncertain')).toMatchObject({ code: 0, answer: [] })
    await leaveUncertain('charge:42')
    const listed = await fleetcron('effects', '--uncertain')
    expect(listed).toMatchObject({
      code: 0,
      answer: [{ key: 'charge:42', state: 'uncertain', tries: 1, problem: 'socket hang up', job: 'f/j', run: 'k' }],
    })
    const said = ['--by', 'ada', '--why', 'found in the dashboard']
    expect(await fleetcron('resolve', 'charge:42', '--confirmed', '{"id":"ch_1"}', ...said)).toMatchObject({
      code: 0,
      answer: { key: 'charge:42', state: 'confirmed', by: 'ada', why: 'found in the dashboard' },
    })
    expect((await fleetcron('effects')).answer).toEqual([])
    const run = attemptOf(sqlite(database))
    expect(await run.call('charge:42', { input: { amount: 1 }, send: never })).toEqual({ id: 'ch_1' })
  })

  it('can be rejected, and released for another sending', async () => {
    for (const key of ['a', 'b']) await leaveUncertain(key)
    expect(await fleetcron('resolve', 'a', '--rejected', 'never arrived', '--why', 'x')).toMatchObject({ code: 0 })
    expect(await fleetcron('resolve', 'b', '--retry', '--why', 'x')).toMatchObject({ answer: { state: 'released' } })
    const run = attemptOf(sqlite(database))
    const input = { amount: 1 }
    await expect(run.call('a', { input, send: never })).rejects.toMatchObject({ message: 'never arrived' })
    expect(await run.call('b', { input, send: () => 'sent' })).toBe('sent')
  })

  it('are refused where the question is not right', async () => {
    await leaveUncertain('a')
    const refused = async (code: number, words: RegExp, ...args: string[]) => {
      const answer = await fleetcron(...args)
      expect(answer).toMatchObject({ code, err: expect.stringMatching(words) })
    }
    await refused(
      2,
      /no effect with the key 'other': fleetcron effects lists/,
      'resolve',
      'other',
      '--retry',
      '--why',
      'x',
    )
    await refused(2, /Say one of --confirmed/, 'resolve', 'a', '--why', 'x')
    await refused(2, /Say one of --confirmed/, 'resolve', 'a', '--why', 'x', '--retry', '--rejected', 'y')
    await refused(2, /--confirmed is not JSON/, 'resolve', 'a', '--why', 'x', '--confirmed', '{id')
    await refused(2, /--why/, 'resolve', 'a', '--retry')
    await refused(2, /--why is empty/, 'resolve', 'a', '--retry', '--why', '')
    await refused(2, /--by is empty/, 'resolve', 'a', '--retry', '--why', 'x', '--by', '')
    await refused(2, /The key is empty/, 'resolve', '', '--retry', '--why', 'x')
    await refused(2, /--rejected is empty/, 'resolve', 'a', '--why', 'x', '--rejected', ' ')
    for (const limit of ['0', '1001', '99999999999999999999999'])
      await refused(2, /Write a whole number from 1 to 1000\./, 'effects', '--limit', limit)
    const nowhere = await command.run(['effects'])
    expect(nowhere).toMatchObject({ code: 2, err: expect.stringContaining('Which business database?') })
    const unknown = await command.run(['effects', '--effects', 'mongodb://user:secret@host'])
    expect(unknown).toMatchObject({ code: 2, err: expect.not.stringContaining('secret') })
    for (const [url, why] of [
      ['mysql://app:se%cret@h/db', 'it holds a % that no two digits follow'],
      ['mysql://app:secret@h:99999/db', 'after mysql:// follow user:password@host:port/database'],
      ['postgres://app:secret@h:99999/db', 'after postgres:// follow user:password@host:port/database'],
      ['mysql://app@127.0.0.1:1/db?ssl=secret', 'the driver refuses it, or one of the settings after its ?'],
      ['postgres://app@127.0.0.1:1/db?sslcert=/secret', 'a file that it names cannot be read (ENOENT)'],
    ] as const) {
      const { code, out, err } = await command.run(['effects', '--effects', url])
      expect([code, out]).toEqual([2, ''])
      expect(err).toContain(`The option effects is not understood: ${why}`)
      expect(err).not.toContain('cret')
    }
    const missing = await command.run(['effects', '--effects', 'sqlite:./not/there.db'])
    const sentence =
      'There is no business database ./not/there.db, and none is made here: look at the path in --effects.'
    expect(missing).toEqual({ code: 2, out: '', err: `fleetcron: ${sentence}\n` })
    const directory = await command.run(['effects', '--effects', `sqlite:${folder}`])
    expect(directory).toMatchObject({ code: 2, err: expect.stringContaining('cannot be opened: look at the path') })
    database.exec('DROP TABLE fleetcron_effect')
    await refused(75, /has no table fleetcron_effect: run fleetcron migrate --effects sqlite:\//, 'effects')
    await refused(75, /: run fleetcron migrate --effects sqlite:\//, 'resolve', 'a', '--retry', '--why', 'x')
  })
})
