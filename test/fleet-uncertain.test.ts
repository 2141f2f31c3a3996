import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import type { EffectClock } from '../src/effect/port.js'
import { sqlite } from '../src/effect/sqlite/index.js'
import { createFleet, type Effects, type Fleet, type Run } from '../src/index.js'
import { CommandLine } from './cli/command.js'
import { attemptOf } from './effect/business-folder.js'

let command: CommandLine
let folder: string
let database: Database.Database
let fleet: Fleet
beforeAll(async () => {
  command = await CommandLine.build()
})
afterAll(() => command.remove())
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fleetcron-uncertain-'))
  database = new Database(join(folder, 'business.db'))
})
afterEach(async () => {
  await fleet?.stop()
  database.close()
  rmSync(folder, { recursive: true })
})

const store = () => `sqlite:${join(folder, 'ledger.db')}`
const business = () => `sqlite:${join(folder, 'business.db')}`

const lost = () => {
  throw new Error('socket hang up')
}

const TIMEOUT_MS = 77_000

/** A charge whose answer never comes, by a provider that offers nothing. */
const charge = (run: Run) => run.call('charge:42', { send: lost, keyValidFor: 0, retry: 0 })

/** A fleet with one job, whose run of this moment has ended. */
async function ended(handler: (run: Run) => Promise<unknown>, retry = 0) {
  const effects = sqlite(database) as unknown as Effects
  fleet = createFleet({ fleet: 'shop', service: 'billing', store: store(), effects, logger: false })
  fleet.job('charges', { retry: { limit: retry, delay: 0 } }, handler)
  await fleet.start()
  return fleet.finished(await fleet.trigger('charges'))
}

describe('a run with an uncertain effect', () => {
  it('ends as failed for that reason', async () => {
    const { state, reason, error, attempts } = await ended(charge)
    expect({ state, reason, attempts: attempts.length }).toEqual({ state: 'failed', reason: 'uncertain', attempts: 1 })
    expect(error?.message).toContain("effect 'charge:42': its outcome at the provider is uncertain")
    expect(await fleet.effects.uncertain()).toMatchObject([{ key: 'charge:42', job: 'shop/billing:charges' }])
  })

  it('does so too where the handler wraps what it was thrown, and after the job’s own retries', async () => {
    const run = await ended(async (run) => {
      await charge(run).catch((cause) => {
        throw new Error('the month is not paid', { cause })
      })
    }, 2)
    expect(run).toMatchObject({ state: 'failed', reason: 'uncertain', error: { message: /^the month is not paid/ } })
    expect(run.attempts.length).toBe(3)
  })

  it('succeeds where the handler deals with it', async () => {
    const run = await ended((run) => charge(run).catch(() => 'looked at by people'))
    expect(run).toMatchObject({ state: 'succeeded', reason: null })
  })

  it('is not what any other error is', async () => {
    expect(await ended(lost)).toMatchObject({ state: 'failed', reason: 'error' })
  })
})

describe('who resolves it', () => {
  it('is kept with the effect, and in the history of the job', async () => {
    const { key } = await ended(charge)
    const said = { confirmed: { id: 'ch_1' }, by: 'ada', why: 'found in the dashboard' }
    const made = await fleet.effects.resolve('charge:42', said)
    expect(made).toEqual({ as: 'confirmed', job: 'shop/billing:charges', run: key, noted: true })
    const [event] = await fleet.history({ job: 'charges', limit: 1 })
    expect(event).toMatchObject({ kind: 'resolved', by: 'ada', why: 'found in the dashboard' })
    expect(JSON.parse(event?.data ?? '')).toEqual({ run: key, effect: 'charge:42', as: 'confirmed' })
    const audit = database.prepare('SELECT audit FROM fleetcron_effect').pluck().get() as string
    expect(JSON.parse(audit)).toMatchObject([{ by: 'ada', why: 'found in the dashboard', state: 'confirmed' }])
  })

  it('tells the history from the command line too, where the ledger is named', async () => {
    await ended(charge)
    await fleet.stop()
    const where = ['--store', store(), '--fleet', 'shop']
    const words = ['resolve', 'charge:42', '--effects', business(), '--retry', '--by', 'bo', '--why', 'their outage']
    expect(await command.run([...words, ...where])).toEqual({
      code: 0,
      out: 'charge:42 is released, and the history of its job says so\n',
      err: '',
    })
    const events = JSON.parse((await command.run(['events', 'charges', ...where, '--json'])).out)
    expect(events[0]).toMatchObject({ kind: 'resolved', by: 'bo', why: 'their outage', data: { as: 'released' } })
    expect(await command.run([...words, ...where])).toMatchObject({ code: 1, err: /only an uncertain effect/ })
  })

  it('can do so while the ledger is away, or where the effect belongs to no run', async () => {
    await ended(charge)
    await fleet.stop()
    const words = ['resolve', 'charge:42', '--effects', business(), '--rejected', 'x', '--why', 'y', '--json']
    const away = await command.run([...words, '--store', `sqlite:${join(folder, 'gone', 'x.db')}`, '--fleet', 'shop'])
    expect(away).toMatchObject({ code: 0, err: /^the ledger's history is not told: There is no ledger/ })
    expect(JSON.parse(away.out)).toMatchObject({ key: 'charge:42', state: 'rejected', noted: false })
    const effects = sqlite(database)
    const act = effects.call('by hand', { send: lost, keyValidFor: 0, retry: 0 })
    await expect(act).rejects.toMatchObject({ code: 'EFFECT_UNCERTAIN' })
    const made = await effects.resolve('by hand', { retry: true, by: 'ada', why: 'z' })
    expect(made).toEqual({ as: 'released', job: null, run: null, noted: false })
  })
})

describe('the time-out of a sending', () => {
  const DAY_MS = 86_400_000

  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it('is waited for also where it is longer than Node’s timers hold', async () => {
    const effects = sqlite(database)
    await effects.ensure()
    let ended: unknown = null
    const silent = () => new Promise<never>(() => {})
    effects.call('k', { send: silent, timeout: '30d', retry: 0 }).catch((error) => {
      ended = error.code
    })
    await vi.advanceTimersByTimeAsync(30 * DAY_MS - 1)
    expect(ended).toBe(null)
    await vi.advanceTimersByTimeAsync(1_000)
    expect(ended).toBe('EFFECT_UNCERTAIN')
  })
})

describe('the retry of an uncertain effect', () => {
  /** Time-outs never fire, pauses end at once and are told. */
  function clock(pauses: number[]): EffectClock {
    return {
      monotonic: () => 0,
      random: () => 0,
      after(delayMs, fn) {
        if (delayMs === TIMEOUT_MS) return { cancel: () => {} }
        pauses.push(delayMs)
        const turn = setImmediate(fn)
        return { cancel: () => clearImmediate(turn) }
      },
    }
  }

  it('is its own: sent five times more within one attempt, at growing intervals', async () => {
    const pauses: number[] = []
    const effects = sqlite(database, { clock: clock(pauses) })
    await effects.ensure()
    let sent = 0
    const send = () => {
      sent += 1
      return lost()
    }
    const act = () => attemptOf(effects).call('k', { send, timeout: TIMEOUT_MS })
    await expect(act()).rejects.toThrow(/uncertain \(asked 5 times; the last problem was: socket hang up\)/)
    expect([sent, pauses]).toEqual([6, [1_000, 2_000, 4_000, 8_000, 16_000]])
    // Another attempt asks at once, and then as often again.
    await expect(act()).rejects.toThrow('asked 6 times')
    expect([sent, pauses.slice(5)]).toEqual([12, [2_000, 4_000, 8_000, 16_000, 30_000]])
  })

  it('can be turned off', async () => {
    const pauses: number[] = []
    const effects = sqlite(database, { clock: clock(pauses) })
    await effects.ensure()
    const act = attemptOf(effects).call('k', { send: lost, timeout: TIMEOUT_MS, retry: 0 })
    await expect(act).rejects.toThrow('there was no answer; the last problem was: socket hang up')
    expect(pauses).toEqual([])
  })
})
