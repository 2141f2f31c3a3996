import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Store } from '../src/store/port.js'
import type { RedisClient } from '../src/store/redis/index.js'
import { creation, fresh, HOUR, header, queued } from '../src/testing/store/builders.js'
import { TestSession } from './postgres/session.js'
import { RedisPlace } from './redis/place.js'
import { sharedServer } from './servers/index.js'

let admin: Redis
let place: RedisPlace
let store: Store
let scripts = 0

beforeAll(async () => {
  admin = new Redis((await sharedServer('redis')).url)
})
afterAll(() => admin.disconnect())
beforeEach(async () => {
  place = new RedisPlace(admin)
  store = place.store('f', { client: counting(() => scripts++), callMs: 30_000 })
  await store.open()
})
afterEach(async () => {
  await store.close()
  await place.remove()
})

/** How many scripts an act takes. */
async function countOf(act: () => Promise<unknown>): Promise<number> {
  const before = scripts
  await act()
  return scripts - before
}

describe('a Redis ledger with many rows', () => {
  it('takes about 2 kB for a job that waits for its time', async () => {
    const session = await TestSession.begin(store, 's', HOUR)
    const count = 5_000
    const jobs = Array.from({ length: count }, (_, i) => {
      const job = `billing:invoices for customer ${i}`
      return creation(`change ${i}`, job, { header: header(job, { bucket: i % 256, wakeAt: 9e12 + i }) })
    })
    expect(await session.outcomes(...jobs)).toEqual(jobs.map(() => 'won'))
    const keys = await admin.keys(`{${place.prefix}:*`)
    const bytes = await Promise.all(keys.map((key) => admin.memory('USAGE', key, 'SAMPLES', 0)))
    const each = bytes.reduce<number>((sum, one) => sum + Number(one), 0) / count
    expect(each).toBeGreaterThan(500)
    expect(each).toBeLessThan(2_500)
  })

  it('never keeps others waiting for long: what is large goes as several scripts', async () => {
    const session = await TestSession.begin(store, 's', HOUR)
    const names = Array.from({ length: 1_200 }, (_, i) => `billing:${i}`)
    const jobs = names.map((job) => creation(`c ${job}`, job, { header: header(job, { wakeAt: 1 }) }))
    const { now } = await store.load({})
    expect(await countOf(() => store.commit(session.ref, now, jobs))).toBe(3)
    expect(await countOf(() => store.load({ jobs: names }))).toBe(3)
    expect((await store.load({ jobs: names })).jobs.size).toBe(1_200)
    expect(await countOf(() => store.jobs({ limit: 1_200 }))).toBe(3)
    expect((await store.jobs({ limit: 1_200 })).length).toBe(1_200)
  })

  it('ends a page of jobs with very many runs before its limit, and goes on with the next', async () => {
    const session = await TestSession.begin(store, 's', HOUR)
    const names = Array.from({ length: 45 }, (_, i) => `billing:${String(i).padStart(2, '0')}`)
    for (const job of names) {
      const runs = Array.from({ length: 100 }, (_, i) => fresh(queued(job, `k${i}`, { position: i })))
      await session.commit(creation(`c ${job}`, job, { header: header(job, { wakeAt: 1 }), runs }))
    }
    const query = { services: ['billing'], buckets: new Set([7]), graceMs: 0, limit: 100 }
    const pages: string[][] = []
    for (let after: string | null | undefined; after !== null; ) {
      const seen = await store.attend(session.ref, { ...query, ...(after === undefined ? {} : { after }) })
      pages.push(seen.jobs.map((job) => job.header.job))
      after = seen.after
    }
    expect(pages.map((page) => page.length)).toEqual([20, 20, 5])
    expect(pages.flat()).toEqual(names)
  })

  it('finds runs of one state among very many of another', async () => {
    const session = await TestSession.begin(store, 's', HOUR)
    const runs = Array.from({ length: 1_300 }, (_, i) => {
      const state = i % 600 === 0 ? ('failed' as const) : ('succeeded' as const)
      return fresh(queued('billing:a', `k${i}`, { state, createdAt: i, endedAt: i }))
    })
    await session.commit(creation('c', 'billing:a', { runs }))
    for (const job of [{}, { job: 'billing:a' }]) {
      const found = await store.runs({ ...job, states: ['failed'], limit: 9 })
      expect(found.map((run) => run.key)).toEqual(['k1200', 'k600', 'k0'])
    }
    expect(await countOf(() => store.runs({ states: ['failed'], limit: 9 }))).toBe(3)
    const { now } = await store.load({})
    expect(await countOf(() => store.prune({ before: now, limit: 10_000 }))).toBe(3)
    expect(await store.runs({ limit: 9 })).toEqual([])
  })
})

/** A client that counts the scripts of its connections. */
function counting(count: () => void): RedisClient {
  return {
    options: admin.options,
    duplicate: (...how: unknown[]) => {
      const connection = (admin as RedisClient).duplicate(...how)
      const call = connection.call.bind(connection)
      connection.call = async (command, args) => {
        const answer = await call(command, args)
        if (command.startsWith('eval')) count()
        return answer
      }
      return connection
    },
  }
}
