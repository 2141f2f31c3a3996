import assert from 'node:assert/strict'
import { change, DAY, event, hello, LEASE_MS, queued, START, settlement } from './builders.js'
import type { Cases } from './world.js'

/** Opening, by many at once and again. */
export const SCHEMA: Cases = {
  'ten clients open one place at once and find one ledger': async (w) => {
    const stores = await Promise.all(Array.from({ length: 10 }, () => w.connect()))
    const infos = await Promise.all(stores.map((store) => store.open()))
    assert.equal(new Set(infos.map((info) => info.incarnation)).size, 1)
    await w.job('billing:a', {}, [queued('billing:a', 'k')])
    for (const store of stores) assert.deepEqual(await w.read('billing:a', store), await w.read('billing:a'))
  },

  'opening says what the store is, and how far it can be trusted': async (w) => {
    const { kind, grade, remark } = await w.store.open()
    assert.match(kind, /^[a-z]+$/)
    assert.ok(grade === 'correct' || grade === 'efficient')
    assert.ok(grade === 'correct' || remark !== null, 'a store that can lose writes says why')
  },

  'a store that one node closes still serves the others that opened it': async (w) => {
    await w.store.open()
    await w.store.close()
    assert.equal((await w.attend(await w.begin())).alive, true)
  },
}

/** For places that hold several fleets: none sees, wakes, ends or prunes another's rows. */
export const FLEETS: Cases = {
  'fleets in one place do not see each other': async (w) => {
    const other = await w.connect('another fleet')
    const session = await w.begin({ id: 'same', node: 'same' })
    const run = await w.running(session, 'billing:a', { wakeAt: START })
    await w.won(change('c1', await w.read('billing:a'), { events: [event('e', 'billing:a')] }))
    assert.equal((await w.beat(session, {}, other)).known, false)
    assert.deepEqual(await other.settle([settlement(run, w.now)]), ['lost'])
    const query = { jobs: ['billing:a'], attempts: [run.attemptId ?? ''], requests: ['e'], nodes: true }
    const loaded = await other.load(query)
    assert.deepEqual([loaded.jobs.size, loaded.runs, loaded.events, loaded.nodes], [0, [], [], []])
    const people = [await other.runs({ limit: 9 }), await other.jobs({ limit: 9 }), await other.events({ limit: 9 })]
    assert.deepEqual(people, [[], [], []])
    w.pass(99 * DAY)
    assert.equal(await other.prune({ before: w.now, limit: 100 }), 0)
    const twin = { id: 'same', node: 'same', leaseMs: LEASE_MS }
    const seen = await w.attend(twin, { hello: hello() }, other)
    assert.deepEqual([seen.alive, seen.jobs, seen.nextWakeAt, seen.nextEndAt], [true, [], null, null])
    assert.equal((await w.run('billing:a', 'k'))?.state, 'running')
    const { nodes } = await w.store.load({ nodes: true })
    assert.ok(
      nodes.every((node) => node.endedAt === null),
      'nobody of this fleet was marked from the other',
    )
  },
}
