import Database from 'better-sqlite3'
import { describe, expect, it } from 'vitest'
import type { Effects } from '../src/effect/port.js'
import { sqlite } from '../src/effect/sqlite/index.js'
import type { JobOptions } from '../src/index.js'
import { createFleet } from '../src/index.js'
import { FleetWorld, job, type TestNode } from './fleet/world.js'

const HOUR = 3_600_000
const DAY = 24 * HOUR

/** A business database of 450 old keys, whose pruning is counted. */
function business(retention: string | false) {
  const database = new Database(':memory:')
  const inner = sqlite(database, { retention })
  const pages: (string | null)[] = []
  const effects = {
    ...inner,
    prune: (page: Parameters<Effects['prune']>[0]) => {
      pages.push(page.after)
      return inner.prune(page)
    },
  } as unknown as Effects
  const fill = async () => {
    await inner.ensure()
    for (let i = 0; i < 450; i++) await inner.once(`key ${String(i).padStart(3, '0')}`, () => i)
    database.exec(`UPDATE fleetcron_effect SET created_at = created_at - ${31 * DAY} WHERE key <> 'key 007'`)
  }
  const keys = () => database.prepare('SELECT key FROM fleetcron_effect').pluck().all()
  return { effects, pages, fill, keys }
}

async function fleet(retention: string | false) {
  const world = new FleetWorld()
  const one = business(retention)
  await one.fill()
  const nodes = ['a', 'b'].map((name) => world.node(name, [job('it', () => undefined)], { effects: one.effects }))
  await world.started(...(nodes as [TestNode, TestNode]))
  return { world, ...one }
}

describe('retention of keys', () => {
  it('removes old ones once a day, by one node, page by page', async () => {
    const { world, pages, keys } = await fleet('30d')
    await world.until(2 * HOUR)
    expect(keys()).toEqual(['key 007'])
    // Keys, and then fences.
    expect(pages).toEqual([null, 'kkey 199', 'kkey 399', 'f'])
    await world.until(20 * HOUR)
    expect(pages.length).toBe(4)
    await world.until(27 * HOUR)
    expect(pages.slice(4)).toEqual([null, 'f'])
  })

  it('is off by default', async () => {
    const { world, pages, keys } = await fleet(false)
    await world.until(2 * HOUR)
    expect([pages, keys().length]).toEqual([[], 450])
  })
})

describe('a job that reaches further back than keys are kept', () => {
  const declare = (retention: string | false, options: JobOptions) => () => {
    const effects = sqlite(new Database(':memory:'), { retention }) as unknown as Effects
    createFleet({ fleet: 'billing', store: 'memory:', effects }).job('invoices', options, () => {})
  }
  const cron = '0 0 * * *'

  it.each<[string, JobOptions, string]>([
    ['14d', { catchUp: { policy: 'each', within: '15d' } }, "job 'invoices': catchUp.within"],
    ['14d', { catchUp: { policy: 'merge', within: '8d' }, retry: { limit: 9, delay: '1d', maxDelay: '1d' } }, 'retry'],
    ['7d', { retry: { limit: 1, delay: '1s' } }, 'retry'],
  ])('is refused: %s, %j', (retention, options, named) => {
    const act = declare(retention, { cron, ...options })
    expect(act).toThrow(expect.objectContaining({ code: 'OPTION_INVALID' }))
    expect(act).toThrow(named)
    expect(act).toThrow(`effects: retention forgets keys after ${retention}`)
  })

  it.each<[string | false, JobOptions]>([
    ['14d', { catchUp: { policy: 'each', within: '14d' } }],
    ['8d', { retry: { limit: 3, delay: '1h' } }],
    ['7d', { catchUp: { policy: 'skip', within: '30d' } }],
    ['7d', {}],
    [false, { catchUp: { policy: 'each', within: '365d' } }],
  ])('is taken otherwise: %s, %j', (retention, options) => {
    expect(declare(retention, { cron, ...options })).not.toThrow()
  })

  it('cannot be made of a week either, and says which option it is', () => {
    expect(declare('6d', { cron })).toThrow("effects: retention '6d' is less than 7d")
    expect(declare('soon', { cron })).toThrow(/effects: retention: 'soon' is not a duration/)
  })
})
