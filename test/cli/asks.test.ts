import { userInfo } from 'node:os'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createFleet, type Fleet } from '../../src/fleet/fleet.js'
import { CommandLine } from './command.js'
import { FLEET, PreparedLedger } from './ledger.js'

let command: CommandLine
let ledger: PreparedLedger
let fleet: Fleet

beforeAll(async () => {
  command = await CommandLine.build()
})
afterAll(() => command.remove())
beforeEach(async () => {
  ledger = await PreparedLedger.make(Date.now())
  fleet = createFleet({ fleet: FLEET, service: 'billing', store: ledger.url, logger: false })
  fleet.job('invoices', { concurrency: 2 }, (run) => {
    if (run.data === 'bad') throw new Error('no rates')
    return { for: run.data }
  })
  fleet.job('slow', {}, async ({ signal }) => {
    await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  })
  await fleet.start()
})
afterEach(async () => {
  await fleet.stop({ grace: 0 })
  await ledger.remove()
})

async function fleetcron(...args: string[]) {
  const where = ['--store', ledger.url, '--fleet', FLEET, '--json']
  const { code, out, err } = await command.run([...args, ...where])
  return { code, err, answer: out === '' ? null : JSON.parse(out) }
}

describe('what people ask through the command line', () => {
  it('trigger, with data, until it has ended', async () => {
    const asked = await fleetcron(
      'trigger',
      'invoices',
      '--data',
      '{"month":11}',
      '--wait',
      '--by',
      'ada',
      '--why',
      'late rates',
    )
    expect(asked).toMatchObject({
      code: 0,
      answer: {
        job: 'billing:invoices',
        cause: 'manual',
        state: 'succeeded',
        data: { month: 11 },
        result: { for: { month: 11 } },
      },
    })
    const [event] = await fleet.history({ job: 'invoices' })
    expect(event).toMatchObject({ kind: 'triggered', by: 'ada', why: 'late rates' })
    const failed = await fleetcron('trigger', 'invoices', '--data', '"bad"', '--wait')
    expect(failed).toMatchObject({ code: 1, answer: { state: 'failed', error: { message: 'no rates' } } })
    expect((await fleet.history({ job: 'invoices' }))[0]).toMatchObject({ by: userInfo().username })
  })

  it('trigger waits no longer than it is told', async () => {
    const asked = await fleetcron('trigger', 'slow', '--wait', '50ms')
    expect(asked).toMatchObject({ code: 1, answer: { job: 'billing:slow', endedAt: null } })
  })

  it('trigger waits for weeks, should it have to', async () => {
    const begun = fleet.once('run-started')
    const asked = fleetcron('trigger', 'slow', '--wait', '60d')
    await fleet.cancel(await begun)
    expect(await asked).toMatchObject({ code: 1, err: '', answer: { job: 'billing:slow', state: 'cancelled' } })
  })

  it('trigger with a key: the first run again, and no other data', async () => {
    const first = await fleetcron('trigger', 'invoices', '--key', 'november', '--data', '1')
    const again = await fleetcron('trigger', 'invoices', '--key', 'november', '--data', '1')
    expect(again.answer.key).toBe(first.answer.key)
    const other = await fleetcron('trigger', 'invoices', '--key', 'november', '--data', '2')
    expect(other).toMatchObject({
      code: 1,
      answer: null,
      err: expect.stringContaining('with other data: use a new key'),
    })
  })

  it('pause and resume', async () => {
    const paused = await fleetcron('pause', 'invoices', '--for', '2h', '--why', 'month end', '--by', 'ada')
    expect(paused).toMatchObject({
      code: 0,
      answer: { paused: { by: 'ada', why: 'month end', until: expect.stringMatching(/Z$/) } },
    })
    expect(await fleetcron('resume', 'invoices')).toMatchObject({ code: 0, answer: { paused: null } })
    const until = await fleetcron('pause', 'invoices', '--until', '2099-01-01T00:00Z')
    expect(until.answer.paused.until).toBe('2099-01-01T00:00:00.000Z')
    const told = await command.run([
      ...['pause', 'invoices', '--until', '2099-01-01T09:00+02:00'],
      ...['--store', ledger.url, '--fleet', FLEET],
    ])
    expect(told).toEqual({ code: 0, out: 'paused until 2099-01-01T07:00:00Z\n', err: '' })
    const kinds = (await fleet.history({ job: 'invoices' })).map(({ kind }) => kind)
    expect(kinds.slice(0, 4)).toEqual(['paused', 'paused', 'resumed', 'paused'])
  })

  it('cancel asks the holder to stop, and retry does the work again', async () => {
    const begun = fleet.once('run-started')
    const run = await fleet.trigger('slow')
    await begun
    const stopped = await fleetcron('cancel', 'slow', run.key, '--by', 'ada', '--why', 'wrong month')
    expect(stopped).toMatchObject({ code: 0, answer: { stop: { kind: 'cancel', by: 'ada', why: 'wrong month' } } })
    expect(await fleet.finished(run)).toMatchObject({ state: 'cancelled' })
    const failed = await fleet.finished(await fleet.trigger('invoices', { data: 'bad' }))
    const again = await fleetcron('retry', 'invoices', failed.key)
    expect(again).toMatchObject({ code: 0, answer: { cause: 'manual', retryOf: failed.key, data: 'bad' } })
  })

  it.each([
    [['trigger', 'invoces'], 2, "did you mean 'invoices'?"],
    [['trigger', 'invoices', '--data', '{'], 2, 'Write JSON'],
    [['trigger', 'invoices', '--wait', '400d'], 2, "--wait: '400d' is out of range: write 0s to 366d."],
    [['trigger', 'invoices', '--wait', '99999999999999999999d'], 2, 'is out of range: write 0s to 366d.'],
    [['pause', 'invoices', '--for', 'long'], 2, "--for: 'long' is not a duration: write a whole number and one of"],
    [['pause', 'invoices', '--for', '5000'], 2, "--for: '5000' has no unit: write it with a unit, such as 5s."],
    [['pause', 'invoices', '--for', '5y'], 2, "'5y' is not a duration"],
    [['pause', 'invoices', '--for', '1h', '--until', '2099-01-01T00:00Z'], 2, 'exclude each other'],
    [['pause', 'invoices', '--until', '2001-01-01T00:00Z'], 2, ''],
    [
      ['pause', 'invoices', '--until', '2099-01-01T00:00'],
      2,
      "--until '2099-01-01T00:00' is in no zone: write it with Z",
    ],
    [['pause', 'invoices', '--until', 'soon'], 2, "--until 'soon' is no instant: write one with Z or an offset"],
    [['pause', 'invoices', '--until', '2099-02-30T00:00Z'], 2, 'is no instant'],
    [['cancel', 'invoices', 'never'], 2, "has no run 'never'"],
  ])('%j ends with %i', async (args, code, message) => {
    const asked = await fleetcron(...args)
    expect(asked).toMatchObject({ code, answer: null, err: expect.stringMatching(/^fleetcron: [^\n]+\n$/) })
    expect(asked.err).toContain(message)
  })

  it('a run that has succeeded is not retried: 1', async () => {
    const run = await fleet.finished(await fleet.trigger('invoices'))
    expect(await fleetcron('retry', 'invoices', run.key)).toMatchObject({ code: 1, answer: null })
  })
})
