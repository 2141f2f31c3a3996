import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Provider } from '../../examples/billing/provider/server.js'
import { sqlite } from '../../src/effect/sqlite/index.js'
import { BRIEF_PAUSES, TIMEOUT_MS } from '../effect/brief-pauses.js'
import { attemptOf } from '../effect/business-folder.js'

/** Effects as others have seen them fail: `test/cases/faults.json`. */
let folder: string
let provider: Provider
const open: Database.Database[] = []
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'fleetcron-reports-'))
  provider = await Provider.start({ file: join(folder, 'provider.db'), keepMs: 60_000 })
})
afterEach(async () => {
  await provider.stop()
  for (const database of open.splice(0)) database.close()
  rmSync(folder, { recursive: true })
})

/** A runner with a connection of its own. */
async function runner(token = 1) {
  const database = new Database(join(folder, 'business.db'))
  open.push(database)
  const effects = sqlite(database, { clock: BRIEF_PAUSES })
  await effects.ensure()
  return { database, effects, run: attemptOf(effects, { token }) }
}

function charges(): number {
  const book = new Database(join(folder, 'provider.db'), { readonly: true })
  open.push(book)
  return book.prepare('SELECT count(*) FROM charge').pluck().get() as number
}

/** A provider without idempotency keys and without a look-up. */
const charge = (reference: string, sent: string[] = []) => ({
  input: { reference },
  timeout: TIMEOUT_MS,
  keyValidFor: 0,
  send: async ({ signal }: { signal: AbortSignal }) => {
    sent.push(reference)
    const body = JSON.stringify({ reference, amount: 1, currency: 'EUR' })
    const response = await fetch(`${provider.url}/charges`, { method: 'POST', body, signal })
    if (!response.ok) throw new Error(`HTTP ${response.status}`)
    return response.json()
  },
})

const never = () => {
  throw new Error('this must not be called')
}

describe('F90 the same key with another payload', () => {
  test('is an error that names the key; nothing is executed, nothing returned as success', async () => {
    const { run, effects } = await runner()
    expect(await run.once('invoice:42', () => 'first', { input: { amount: 1, currency: 'EUR' } })).toBe('first')
    const refused = { code: 'KEY_CONFLICT', message: expect.stringContaining("'invoice:42'") }
    for (const input of [{ amount: 2, currency: 'EUR' }, { amount: '1', currency: 'EUR' }, [], null, undefined]) {
      await expect(run.once('invoice:42', never, { input })).rejects.toMatchObject(refused)
      await expect(effects.once('invoice:42', never, { input })).rejects.toMatchObject(refused)
    }
    expect(await run.once('invoice:42', never, { input: { currency: 'EUR', amount: 1 } })).toBe('first')
  })

  test('is one for a call too, whatever became of the first, and for the same key as another kind of effect', async () => {
    const { run } = await runner()
    provider.fault('answer-lost')
    await expect(run.call('charge:42', charge('42'))).rejects.toMatchObject({ code: 'EFFECT_UNCERTAIN' })
    const other = { ...charge('42'), input: { reference: '43' } }
    await expect(run.call('charge:42', other)).rejects.toMatchObject({ code: 'KEY_CONFLICT' })
    await expect(run.once('charge:42', never)).rejects.toMatchObject({ code: 'EFFECT_INVALID' })
    expect(charges()).toBe(1)
  })
})

describe('F92 a provider that times out and knows neither keys nor a look-up', () => {
  test.each(['slow', 'answer-lost', 'error-after', 'reset', 'error-before'] as const)(
    'under %s: neither failed nor done, sent once, and shown to people',
    async (fault) => {
      const { effects } = await runner()
      provider.fault(fault)
      const sent: string[] = []
      for (const token of [1, 2, 3]) {
        const act = (await runner(token)).run.call('charge:42', charge('42', sent))
        await expect(act).rejects.toMatchObject({ code: 'EFFECT_UNCERTAIN', key: 'charge:42' })
      }
      expect(sent).toEqual(['42'])
      expect(await effects.uncertain()).toMatchObject([{ key: 'charge:42', state: 'uncertain', tries: 1 }])
      expect(charges()).toBe(fault === 'reset' || fault === 'error-before' ? 0 : 1)
    },
  )

  test('is sent again when a person says so, and once', async () => {
    const { run, effects } = await runner()
    provider.fault('error-before')
    const sent: string[] = []
    await expect(run.call('charge:42', charge('42', sent))).rejects.toMatchObject({ code: 'EFFECT_UNCERTAIN' })
    await effects.resolve('charge:42', { retry: true, by: 'ada', why: 'nothing in their book' })
    expect(await run.call('charge:42', charge('42', sent))).toMatchObject({ reference: '42' })
    await run.call('charge:42', charge('42', sent))
    expect([sent.length, charges()]).toEqual([2, 1])
  })
})

describe('an unknown outcome of whatever kind', () => {
  const getter = (name: string) =>
    Object.defineProperty(new Error('x'), name, {
      get() {
        throw new Error('a getter that throws')
      },
    })
  const refusal = new Error('connect ECONNREFUSED')
  const proxy = new Proxy(
    {},
    {
      get() {
        throw new Error('a trap')
      },
    },
  )

  test.each<[string, () => unknown]>([
    ['undefined', () => undefined],
    ['Symbol(x)', () => Symbol('x')],
    ['an error that says nothing', () => Object.create(null)],
    ['E42', () => Object.assign(new Error('x'), { message: 42, code: 'E42' })],
    ['Error', () => getter('message')],
    ['x', () => getter('code')],
    ['an error that says nothing', () => proxy],
    ['a function', () => getter],
    ['fetch failed (cause: connect ECONNREFUSED)', () => new TypeError('fetch failed', { cause: refusal })],
    ['an error that says nothing (cause: connect ECONNREFUSED)', () => new AggregateError([refusal], '')],
    ['ab?c', () => new Error('a\0b\ud800c')],
  ])('is uncertain, and kept in words, where send throws: %s', async (problem, make) => {
    const thrown = make()
    const { run, effects, database } = await runner()
    const send = () => {
      throw thrown
    }
    const act = run.call('charge:42', { send, retry: 0 })
    await expect(act).rejects.toMatchObject({ code: 'EFFECT_UNCERTAIN', message: expect.stringContaining(problem) })
    expect(await effects.uncertain()).toMatchObject([{ key: 'charge:42', state: 'uncertain', problem }])
    // And stays so, whatever the look-up throws.
    await expect(run.call('charge:42', { send, find: send, retry: 0 })).rejects.toThrow('(asked once; ')
    // What an effect of the database throws comes out as it is.
    const once = await run.once('invoice:42', send).catch((error: unknown) => ({ error }))
    expect((once as { error: unknown }).error === thrown).toBe(true)
    expect(database.prepare(`SELECT 1 FROM fleetcron_effect WHERE key = 'invoice:42'`).all()).toEqual([])
  })
})

describe('F93 two runners that both see "not done"', () => {
  test('act once: the second does not send while the first is under way, and has its answer', async () => {
    const [a, b] = [await runner(1), await runner(1)]
    let arrived: () => void = () => {}
    const inFlight = new Promise<void>((resolve) => {
      arrived = resolve
    })
    let answer: (id: string) => void = () => {}
    const first = a.run.call('charge:42', {
      send: () => {
        arrived()
        return new Promise<string>((resolve) => {
          answer = resolve
        })
      },
      timeout: TIMEOUT_MS,
    })
    await inFlight
    const second = b.run.call('charge:42', { send: never })
    answer('ch_1')
    expect(await Promise.all([first, second])).toEqual(['ch_1', 'ch_1'])
  })

  test('act once: what the first leaves when it dies is unknown, and sent by nobody', async () => {
    const [a, b] = [await runner(1), await runner(1)]
    a.run.call('charge:42', { send: () => new Promise<string>(() => {}), timeout: TIMEOUT_MS }).catch(() => undefined)
    a.database.exec('UPDATE fleetcron_effect SET sending_until = 0')
    await expect(b.run.call('charge:42', { send: never, keyValidFor: 0 })).rejects.toMatchObject({
      code: 'EFFECT_UNCERTAIN',
    })
  })
})

describe('F94 a key that is kept only after the act', () => {
  test('twenty requests at once, by two runners: one effect, and all have its result', async () => {
    const runners = [await runner(1), await runner(1)]
    let made = 0
    const all = await Promise.all(
      Array.from({ length: 20 }, (_, i) => runners[i % 2]?.run.once('invoice:42', () => ({ number: ++made }))),
    )
    expect([made, all]).toEqual([1, Array.from({ length: 20 }, () => ({ number: 1 }))])
  })
})
