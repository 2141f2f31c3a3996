import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createFleet, type Fleet } from '../src/index.js'
import { createMemoryStore } from '../src/store/memory/index.js'

/** The fleet as JavaScript sees it: nobody checks what is handed in. */
// biome-ignore lint/suspicious/noExplicitAny: that is the point.
type Untyped = any

let fleet: Fleet
beforeEach(async () => {
  fleet = createFleet({ fleet: 'asked', service: 'app', store: createMemoryStore(), logger: false })
  fleet.job('daily-invoices', { cron: '0 0 29 2 *' }, () => {})
  await fleet.start()
})
afterEach(() => fleet.stop())

describe('what is asked in plain JavaScript', () => {
  it.each<[string, (fleet: Untyped) => Promise<unknown>, string]>([
    [
      'a query of runs',
      (it) => it.runs({ jop: 'daily-invoices' }),
      "no option 'jop'. Did you mean job? Known are job, states",
    ],
    ['a job in place of a query', (it) => it.runs('daily-invoices'), "write runs({ job: 'daily-invoices' })"],
    ['a state', (it) => it.runs({ states: ['faild'] }), "'faild' is not one of 'queued'"],
    ['states that are no list', (it) => it.runs({ states: 'failed' }), 'it is a list'],
    ['a service in place of a query', (it) => it.jobs('app'), "write jobs({ service: 'app' })"],
    ['a query of the history', (it) => it.history({ since: 1 }), "no option 'since'. Known are job"],
    ['a run by its job', (it) => it.cancel('daily-invoices', 'key'), "cancel({ job: 'daily-invoices', key:"],
    ['a run without a key', (it) => it.retry({ job: 'daily-invoices' }), 'pass a run, or { job, key }'],
    ['a backfill of no time', (it) => it.backfill('daily-invoices'), 'say from and to, two Dates'],
    ['a backfill from a text', (it) => it.backfill('daily-invoices', { from: '2026-01-01' }), 'backfill: from'],
    [
      'data without its word',
      (it) => it.trigger('daily-invoices', { customer: 1 }),
      "no option 'customer'. Known are data, key",
    ],
    ['no job', (it) => it.trigger(undefined), "name it by a text, such as 'daily-invoices'; 'undefined' is none"],
  ])('is refused with what to write: %s', async (_, ask, words) => {
    await expect(ask(fleet)).rejects.toMatchObject({ code: 'OPTION_INVALID', message: expect.stringContaining(words) })
  })

  it.each([0, -1, 1.5, 1_001, 1e9, Number.NaN, '10'])('refuses a page of %s rows', async (limit) => {
    const message = (verb: string) =>
      `${verb}: limit: ${typeof limit === 'string' ? `'${limit}'` : limit} is not a whole number from 1 to 1000.`
    const untyped = fleet as Untyped
    for (const verb of ['runs', 'history']) {
      await expect(untyped[verb]({ limit })).rejects.toMatchObject({ code: 'OPTION_INVALID', message: message(verb) })
    }
  })

  it('gives as many rows as were asked for, up to a thousand', async () => {
    await fleet.trigger('daily-invoices', { key: 'a' })
    await fleet.trigger('daily-invoices', { key: 'b' })
    expect([await fleet.runs({ limit: 1 }), await fleet.history({ limit: 1 })]).toMatchObject([[{}], [{}]])
    expect((await fleet.history({ limit: 1_000 })).length).toBeGreaterThan(1)
  })

  it.each<[string, (fleet: Fleet) => Promise<unknown>]>([
    ['trigger', (it) => it.trigger('daily-invoice')],
    ['runs', (it) => it.runs({ job: 'daily-invoice' })],
    ['occurrence', (it) => it.occurrence('daily-invoice', '2026-11-29T00:00')],
    ['history', (it) => it.history({ job: 'daily-invoice' })],
  ])('names the job that was probably meant: %s', async (_, ask) => {
    await expect(ask(fleet)).rejects.toMatchObject({
      code: 'JOB_UNKNOWN',
      message: expect.stringMatching(/'app:daily-invoice'.* Did you mean 'daily-invoices'\?$/),
    })
  })

  it('takes a job that has no rows yet for what it is', async () => {
    expect(await fleet.runs({ job: 'daily-invoices' })).toEqual([])
    expect(await fleet.occurrence('daily-invoices', '2028-02-29T00:00')).toBeNull()
    await expect(fleet.trigger('something-else')).rejects.not.toThrow('Did you mean')
  })
})
