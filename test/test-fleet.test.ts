import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { sqlite } from '../src/effect/sqlite/index.js'
import { defineHandler, type Fleet } from '../src/index.js'
import { advance, createTestFleet, runJob } from '../src/testing/index.js'

let fleet: Fleet
const made: string[] = []
const daily = { cron: '0 8 * * *', timeZone: 'Europe/Helsinki' } as const

beforeEach(() => {
  made.length = 0
  fleet = createTestFleet({ now: '2026-11-29T12:00:00Z' })
})
afterEach(async () => {
  vi.useRealTimers()
  await fleet.stop()
})

describe('runJob', () => {
  it('runs the occurrence of a date once and gives its run', async () => {
    fleet.job('daily', daily, (run) => {
      made.push(run.date)
      return { at: run.scheduledAt }
    })
    await fleet.start()
    const run = await runJob(fleet, 'daily', { date: '2026-11-28' })
    expect(run).toMatchObject({ job: expect.stringMatching(/:daily$/), state: 'succeeded', date: '2026-11-28' })
    expect(run.result).toBe('{"at":"2026-11-28T06:00:00.000Z"}')
    expect(made).toEqual(['2026-11-28'])
    expect((await fleet.runs({ job: 'daily' })).map(({ key }) => key)).toEqual([run.key])
  })

  it('runs a date again when it is asked again, under a run of its own', async () => {
    fleet.job('daily', daily, ({ date }) => void made.push(date))
    await fleet.start()
    const first = await runJob(fleet, 'daily', { date: '2026-11-28' })
    const second = await runJob(fleet, 'daily', { date: '2026-11-28' })
    expect(second.key).not.toBe(first.key)
    expect(made).toEqual(['2026-11-28', '2026-11-28'])
  })

  it('takes the first occurrence of a day with many', async () => {
    fleet.job('often', { cron: '*/15 * * * *', timeZone: 'Europe/Helsinki' }, (run) => run.scheduledAt)
    await fleet.start()
    const run = await runJob(fleet, 'often', { date: '2026-11-29' })
    expect(run.result).toBe('"2026-11-28T22:00:00.000Z"')
  })

  it('triggers the job where no date is named, with data', async () => {
    fleet.job<number>('double', {}, (run) => run.data * 2)
    await fleet.start()
    expect(await runJob(fleet, 'double', { data: 21 })).toMatchObject({ cause: 'manual', result: '42' })
  })

  it('runs a schedule kept in the store', async () => {
    const greet = defineHandler<{ name: string }>('greet')
    fleet.handler(greet, (run) => `hello ${run.data.name}`)
    await fleet.start()
    await fleet.schedules.upsert({ name: 'ann', handler: greet, data: { name: 'ann' }, ...daily })
    expect(await runJob(fleet, 'schedule/ann', { date: '2026-11-29' })).toMatchObject({ result: '"hello ann"' })
  })

  it('gives a run that failed, after its retries', async () => {
    fleet.job('bad', { retry: { limit: 2, delay: '1h' } }, () => {
      throw new Error('no')
    })
    await fleet.start()
    const run = await runJob(fleet, 'bad')
    expect(run).toMatchObject({ state: 'failed', attempt: 3, error: { message: 'no' } })
  })

  it('turns the clock for a handler that waits for its timeout', async () => {
    fleet.job('stuck', { timeout: '1h' }, ({ signal }) => {
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    })
    await fleet.start()
    expect((await runJob(fleet, 'stuck')).state).toBe('failed')
  })

  it.each([
    ['nothing', {}, "no job 'nothing'. Known are daily"],
    ['daily', { date: '2026-11-30' }, 'still to come'],
    ['daily', { date: '29.11.2026' }, 'is not a date'],
    ['daily', { date: '2026-11-28', data: 1 }, 'Leave one of them out'],
    ['manual', { date: '2026-11-28' }, 'no schedule'],
    ['leap', { date: '2026-11-28' }, 'no occurrence on 2026-11-28'],
    ['off', {}, "no job 'off'"],
  ])('says what is wrong with %s %j', async (name, request, sentence) => {
    const nothing = () => {}
    fleet.job('daily', daily, nothing)
    fleet.job('manual', {}, nothing)
    fleet.job('leap', { cron: '0 0 29 2 *', timeZone: 'UTC' }, nothing)
    fleet.job('off', { disabled: true }, nothing)
    await fleet.start()
    await expect(runJob(fleet, name, request)).rejects.toThrow(sentence)
  })
})

describe('advance', () => {
  it('runs what becomes due, each at its time, and says what the clock shows', async () => {
    fleet.job('daily', daily, ({ date }) => void made.push(date))
    await fleet.start()
    expect(await advance(fleet, '2d')).toEqual(new Date('2026-12-01T12:00:00Z'))
    expect(made).toEqual(['2026-11-30', '2026-12-01'])
  })

  it('takes in what is due at its last moment', async () => {
    fleet.job('minutely', { cron: '* * * * *' }, ({ key }) => void made.push(key))
    await fleet.start()
    expect(await advance(fleet, '1m')).toEqual(new Date('2026-11-29T12:01:00Z'))
    await advance(fleet, '1m')
    expect(made).toEqual(['2026-11-29T12:01Z', '2026-11-29T12:02Z'])
  })

  it('waits for what a handler awaits outside', async () => {
    fleet.job('daily', daily, async () => {
      await new Promise((resolve) => setImmediate(resolve))
      made.push('done')
    })
    await fleet.start()
    await advance(fleet, '1d')
    expect(made).toEqual(['done'])
  })

  it('works under fake timers, and lets the fleet stop under them', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'setInterval', 'setImmediate', 'Date', 'queueMicrotask', 'performance'] })
    fleet.job('daily', daily, ({ date }) => void made.push(date))
    await fleet.start()
    await advance(fleet, '1d')
    expect(made).toEqual(['2026-11-30'])
    expect(vi.getTimerCount()).toBe(0)
    await fleet.stop()
  })
})

describe('a fleet under test', () => {
  it('does what is asked in a row without anybody turning the clock', async () => {
    fleet.job('minute', { cron: '* * * * *', timeZone: 'UTC' }, () => undefined)
    fleet.job('other', { cron: '0 9 * * *', timeZone: 'UTC' }, () => undefined)
    await fleet.start()
    await Promise.all([fleet.trigger('minute'), fleet.trigger('minute'), fleet.trigger('minute')])
    const past = { from: new Date('2026-11-29T10:00Z'), to: new Date('2026-11-29T10:02Z') }
    for (let round = 0; round < 3; round += 1) expect(await fleet.backfill('minute', past)).toBe(3)
    await fleet.pause('minute')
    await fleet.resume('minute')
    const run = await fleet.trigger('minute')
    await fleet.cancel(run).catch((error) => expect(error).toMatchObject({ code: 'STATE_CONFLICT' }))
    await fleet.trigger('minute')
    await fleet.retire('minute')
    await Promise.all(['2026-11-27', '2026-11-28'].map((date) => runJob(fleet, 'other', { date })))
    expect((await fleet.runs({ job: 'minute' })).length).toBeGreaterThan(12)
  })

  it('stops although a handler does not, and nobody turns the clock', async () => {
    fleet.job('stuck', daily, () => new Promise(() => {}))
    await fleet.start()
    const started = fleet.once('run-started')
    await fleet.trigger('stuck')
    void advance(fleet, 1)
    await started
    await fleet.stop()
    expect(fleet.health()?.state).toBe('stopped')
  }, 20_000)

  it('keeps effects once in the business database it was given', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'test-fleet-'))
    const database = new Database(join(folder, 'business.db'))
    database.exec('CREATE TABLE invoice (customer TEXT, date TEXT)')
    const other = createTestFleet({ now: '2026-11-29T12:00:00Z', effects: sqlite(database) })
    other.job('invoices', daily, async (run) => {
      await run.once(`invoice:a:${run.date}`, (tx) => {
        const db = tx as unknown as Database.Database
        db.prepare('INSERT INTO invoice VALUES (?, ?)').run('a', run.date)
      })
    })
    await other.start()
    await runJob(other, 'invoices', { date: '2026-11-29' })
    await runJob(other, 'invoices', { date: '2026-11-29' })
    expect(database.prepare('SELECT * FROM invoice').all()).toEqual([{ customer: 'a', date: '2026-11-29' }])
    await other.stop()
    database.close()
    rmSync(folder, { recursive: true })
  })

  it('is told apart from any other', () => {
    expect(() => runJob({ get: () => null }, 'daily')).toThrow(/no fleet under test/)
  })
})
