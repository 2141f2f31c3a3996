import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createMemoryStore } from '../src/store/memory/index.js'
import type { Store } from '../src/store/port.js'
import { createRemoteStore, type StoreServer, serveStore } from '../src/store/remote/index.js'
import {
  buckets,
  creation,
  fresh,
  granted,
  hello,
  LEASE_MS,
  queued,
  START,
  settlement,
} from '../src/testing/store/builders.js'
import { outcomes } from '../src/testing/store/world.js'
import { TOKEN } from './remote/place.js'
import { type Fate, type FatefulProxy, startProxy } from './remote/proxy.js'

const SESSION = { id: 's', node: 'n', leaseMs: LEASE_MS }
const RUN = queued('billing:a', 'k')
const RUNNING = granted(RUN, { session: 's', attemptId: 'c.1', token: 1, at: START })

let now = START
let server: StoreServer
let proxy: FatefulProxy
let store: Store
let held: string | null = null
let release = () => {}

beforeEach(async () => {
  now = START
  server = await serveStore({
    store: createMemoryStore({ now: () => now }),
    fleet: 'billing',
    tokens: [TOKEN],
    port: 0,
  })
  proxy = await startProxy(server.url, (method) => {
    if (method !== held) return 'once'
    held = null
    return new Promise<Fate>((resolve) => {
      release = () => resolve('once')
    })
  })
  store = createRemoteStore({ url: proxy.url, fleet: 'billing', token: TOKEN, deadlineMs: 200 })
  await store.open()
  const query = { services: ['billing'], buckets: buckets(), graceMs: 0, limit: 9 }
  await store.attend(SESSION, { ...query, hello: hello() })
})
afterEach(async () => {
  await store.close()
  await proxy.end()
  await server.stop(0)
})

/** Asks and gives up, since the request stays on its way until it is released. */
async function late(method: string, ask: () => Promise<unknown>): Promise<void> {
  held = method
  await expect(ask()).rejects.toMatchObject({
    code: 'STORE_UNAVAILABLE',
    message: expect.stringContaining('is not known'),
  })
}

async function arrive(): Promise<void> {
  release()
  await proxy.idle()
}

describe('a request that arrives when nobody waits for it any more', () => {
  const made = creation('c', 'billing:a', { runs: [fresh(RUNNING)] })

  it('a commit later than a tenth of the lease changes nothing', async () => {
    await late('commit', () => store.commit(SESSION, now, [made]))
    now += LEASE_MS / 10 + 1
    await arrive()
    expect((await store.load({ jobs: ['billing:a'] })).jobs.size).toBe(0)
    expect(await store.commit(SESSION, START, [made])).toMatchObject({ expired: true })
  })

  it('a commit that was applied late is recognised when it is repeated', async () => {
    await late('commit', () => store.commit(SESSION, now, [made]))
    await arrive()
    expect((await store.load({ attempts: ['c.1'] })).runs).toEqual([RUNNING])
    expect(outcomes(await store.commit(SESSION, now, [made]))).toEqual(['won'])
  })

  it('a commit that was repeated before it came changes nothing when it comes', async () => {
    await late('commit', () => store.commit(SESSION, now, [made]))
    expect(outcomes(await store.commit(SESSION, now, [made]))).toEqual(['won'])
    expect(await store.settle([settlement(RUNNING, now)])).toEqual(['settled'])
    await arrive()
    expect((await store.load({ attempts: ['c.1'] })).runs).toMatchObject([{ state: 'succeeded' }])
  })

  it('a settlement counts once, whichever of two comes first', async () => {
    await store.commit(SESSION, now, [made])
    await late('settle', () => store.settle([settlement(RUNNING, now)]))
    expect(await store.settle([settlement(RUNNING, now)])).toEqual(['settled'])
    await arrive()
    const { jobs } = await store.load({ jobs: ['billing:a'] })
    expect(jobs.get('billing:a')?.tally.settled).toBe(1)
  })

  it('a beat renews no session that was ended meanwhile', async () => {
    await store.commit(SESSION, now, [made])
    const beat = { services: ['billing'], buckets: buckets(), attempts: ['c.1'], room: true }
    await late('beat', () => store.beat(SESSION, beat))
    now += LEASE_MS + 1
    const other = { id: 'other', node: 'm', leaseMs: LEASE_MS }
    const query = { services: ['billing'], buckets: buckets(), graceMs: 0, limit: 9, hello: hello() }
    expect((await store.attend(other, query)).ended.has('s')).toBe(true)
    await arrive()
    expect(await store.beat(SESSION, beat)).toMatchObject({ alive: false, known: true })
  })
})
