import { describe, expect, it, test } from 'vitest'
import { createMemoryStore } from '../src/store/memory/index.js'
import {
  change,
  creation,
  fresh,
  granted,
  hello,
  over,
  queued,
  SERVICE,
  settlement,
} from '../src/testing/store/builders.js'
import { storeConformance } from '../src/testing/store/index.js'

storeConformance(
  { describe, test },
  'memory',
  (now) => {
    const store = createMemoryStore({ now })
    return { connect: () => store, close: () => {} }
  },
  { fleets: false, spoils: false },
)

const SESSION = { id: 's', node: 'n', leaseMs: 10_000 }
const QUERY = { services: [SERVICE], buckets: new Set([7]), graceMs: 0, limit: 10 }

describe('a ledger in memory', () => {
  async function filled() {
    const store = createMemoryStore({ now: () => 1_000, fleet: 'f' })
    await store.attend(SESSION, { ...QUERY, hello: hello() })
    const run = queued('billing:a', 'k')
    await store.commit(SESSION, 1_000, [creation('c1', 'billing:a', { runs: [fresh(run)] })])
    const mine = granted(run, { session: 's', attemptId: 'c2.1', token: 5, at: 1_000 })
    const read = (await store.load({ jobs: ['billing:a'] })).jobs.get('billing:a')
    if (!read) throw new Error('the job was made')
    await store.commit(SESSION, 1_000, [change('c2', read, { runs: [over(run, mine)] })])
    return { store, mine }
  }

  it('goes back to an earlier state with all that hangs on it', async () => {
    const { store, mine } = await filled()
    const before = {
      beat: await store.beat(SESSION, { ...QUERY, attempts: [], room: true }),
      runs: await store.runs({ limit: 9 }),
    }
    expect(before.beat.strays).toEqual([mine])
    const snapshot = store.snapshot()
    await store.settle([settlement(mine, 1_000, { wakeAt: 500 })])
    await store.beat(SESSION, { ...QUERY, attempts: [], room: true, end: true })
    await store.attend({ ...SESSION, id: 't' }, { ...QUERY, hello: hello() })
    store.restore(snapshot)
    expect(await store.beat(SESSION, { ...QUERY, attempts: [], room: true })).toEqual(before.beat)
    expect(await store.runs({ limit: 9 })).toEqual(before.runs)
    expect((await store.load({ attempts: ['c2.1'], nodes: true })).nodes).toHaveLength(1)
    expect(await store.settle([settlement(mine, 1_000)])).toEqual(['settled'])
    store.restore(snapshot)
    expect(await store.settle([settlement(mine, 1_000)])).toEqual(['settled'])
  })

  it('is another one once it was wiped, and back with the snapshot', async () => {
    const { store } = await filled()
    const snapshot = store.snapshot()
    const { incarnation } = await store.open()
    store.wipe()
    expect((await store.open()).incarnation).not.toBe(incarnation)
    expect((await store.beat(SESSION, { ...QUERY, attempts: [], room: true })).known).toBe(false)
    expect(await store.jobs({ limit: 9 })).toEqual([])
    store.restore(snapshot)
    expect((await store.open()).incarnation).toBe(incarnation)
    expect(await store.jobs({ limit: 9 })).toHaveLength(1)
  })

  it('is named alike in every run of one program that turns its clock', () => {
    const names = [1, 2].map(async () => (await createMemoryStore({ now: () => 0, fleet: 'f' }).open()).incarnation)
    return expect(Promise.all(names)).resolves.toEqual(['f-1-1', 'f-1-1'])
  })

  it('is told from every other where time is real', async () => {
    const names = await Promise.all([1, 2].map(async () => (await createMemoryStore().open()).incarnation))
    expect(names[0]).not.toBe(names[1])
  })
})
