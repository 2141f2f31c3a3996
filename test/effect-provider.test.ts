import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { chargeAt } from '../examples/billing/provider/client.js'
import { type Fault, Provider } from '../examples/billing/provider/server.js'
import { sqlite } from '../src/effect/sqlite/index.js'
import { BRIEF_PAUSES as clock, TIMEOUT_MS } from './effect/brief-pauses.js'
import { attemptOf } from './effect/business-folder.js'

const CHARGE = { reference: 'charge:42:2026-11', amount: 1_250, currency: 'EUR' }

let folder: string
let provider: Provider
let business: Database.Database
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'fleetcron-provider-'))
  provider = await Provider.start({ file: join(folder, 'provider.db'), keepMs: 60_000 })
  business = new Database(join(folder, 'business.db'))
  await sqlite(business).ensure()
})
afterEach(async () => {
  await provider.stop()
  business.close()
  rmSync(folder, { recursive: true })
})

function charges(): unknown[] {
  const book = new Database(join(folder, 'provider.db'), { readonly: true })
  try {
    return book.prepare('SELECT reference, amount, currency FROM charge').all()
  } finally {
    book.close()
  }
}

const charging = (over: object = {}) => {
  const run = attemptOf(sqlite(business, { clock }))
  return run.call(CHARGE.reference, { ...chargeAt(provider.url, CHARGE), timeout: TIMEOUT_MS, ...over })
}

describe('a charge at a real provider', () => {
  test.each<Fault>(['answer-lost', 'slow', 'error-after', 'reset', 'error-before'])(
    'is one charge under %s',
    async (fault) => {
      provider.fault(fault)
      // An answer that nobody can find yet is waited for until its sender cannot be sending any more; here that is at once.
      const over = fault === 'reset' || fault === 'error-before' ? { find: undefined } : {}
      const made = await charging(over)
      expect(made).toMatchObject(CHARGE)
      expect(await charging()).toEqual(made)
      expect(charges()).toEqual([CHARGE])
    },
  )

  test('is one charge under all of them, one after the other, by its key alone', async () => {
    for (const fault of ['reset', 'error-before', 'answer-lost', 'error-after', 'slow'] as const) provider.fault(fault)
    expect(await charging({ find: undefined })).toMatchObject(CHARGE)
    expect(charges()).toEqual([CHARGE])
  })

  test('that is declined moves nothing, and stays declined', async () => {
    provider.fault('declined')
    for (const _ of [1, 2]) {
      await expect(charging()).rejects.toMatchObject({ code: 'EFFECT_REJECTED', message: 'card declined' })
    }
    expect(charges()).toEqual([])
  })

  test('whose key was used by somebody else with another body is rejected', async () => {
    const options = chargeAt(provider.url, { ...CHARGE, amount: 1 })
    await attemptOf(sqlite(business, { clock })).call('another', { ...options, timeout: TIMEOUT_MS })
    const key = business.prepare(`SELECT idempotency_key FROM fleetcron_effect WHERE key = 'another'`).pluck().get()
    const response = await fetch(`${provider.url}/charges`, {
      method: 'POST',
      headers: { 'Idempotency-Key': String(key) },
      body: JSON.stringify(CHARGE),
    })
    expect(response.status).toBe(409)
    expect(charges()).toHaveLength(1)
  })
})

describe('options that nobody knows are refused before anything is sent or written', () => {
  const kept = () => business.prepare('SELECT key FROM fleetcron_effect').all()

  test.each([
    [{ keyValidfor: 0 }, 'keyValidfor'],
    [{ retries: 1 }, 'retries'],
    [{ Input: CHARGE }, 'Input'],
  ])('by a call: %j', async (over, name) => {
    const message = `Job 'j', run 'k': effect '${CHARGE.reference}': unknown option '${name}'. Known are send, find, keyValidFor, timeout, retry, input.`
    await expect(charging(over)).rejects.toMatchObject({ code: 'OPTION_INVALID', message })
    const outside = sqlite(business).call('b', { ...chargeAt(provider.url, CHARGE), ...over })
    await expect(outside).rejects.toMatchObject({ code: 'OPTION_INVALID', message: expect.stringMatching(name) })
    expect([charges(), kept()]).toEqual([[], []])
  })

  test.each([[{ Input: 1 }], [{ inputs: 1 }], [[]], [null]])('by once: %j', async (options) => {
    const never = () => {
      throw new Error('called')
    }
    const message = expect.stringMatching(/ffect 'a': .*input, tx\.$/)
    for (const effects of [attemptOf(sqlite(business)), sqlite(business)]) {
      const refused = { code: 'OPTION_INVALID', message }
      await expect(effects.once('a', never, options as never)).rejects.toMatchObject(refused)
    }
    const tx = { tx: business, Input: 1 } as { tx: Database.Database }
    business.exec('BEGIN')
    expect(() => attemptOf(sqlite(business)).once('a', never, tx)).toThrow(/unknown option 'Input'/)
    business.exec('COMMIT')
    expect(kept()).toEqual([])
  })
})
