import assert from 'node:assert/strict'
import { buckets, change, DAY, event, LEASE_MS, MINUTE, queued, SECOND, START, settlement } from './builders.js'
import { type Cases, World } from './world.js'

/** For places that hold several fleets: none sees, wakes, ends, settles or prunes another's rows, whatever their names. */
export const FLEETS: Cases = {
  'an empty fleet beside a full one is empty': async (here) => {
    const there = await another(here)
    const session = await here.begin({ id: 'same', node: 'same' })
    const run = await here.running(session, 'billing:a', { wakeAt: START })
    await here.won(change('c1', await here.read('billing:a'), { events: [event('e', 'billing:a')] }))
    assert.equal((await there.beat(session)).known, false)
    assert.deepEqual(await there.store.settle([settlement(run, here.now)]), ['lost'])
    const query = { jobs: ['billing:a'], attempts: [run.attemptId ?? ''], requests: ['e'], nodes: true }
    const loaded = await there.store.load(query)
    assert.deepEqual([loaded.jobs.size, loaded.runs, loaded.events, loaded.nodes], [0, [], [], []])
    assert.deepEqual(await there.store.runs({ limit: 9 }), [])
    assert.deepEqual(await there.store.jobs({ limit: 9 }), [])
    assert.deepEqual(await there.store.events({ limit: 9 }), [])
  },

  'the same job, key, session, attempt, event and change are different ones in two fleets': async (here) => {
    const there = await another(here)
    const worlds = [here, there]
    for (const [i, w] of worlds.entries()) {
      const session = await w.begin({ id: 'same', node: 'same', label: `label ${i}` })
      await w.job('billing:a', { lastToken: i }, [queued('billing:a', 'k', { data: `${i}` })])
      await w.won(change('change', await w.read('billing:a'), { events: [event('e', 'billing:a', { by: `${i}` })] }))
      await w.grant(session, 'billing:a', 'k')
    }
    for (const [i, w] of worlds.entries()) {
      const { runs, header: head } = await w.read('billing:a')
      assert.deepEqual([runs.length, runs[0]?.data, head.name], [1, `${i}`, 'billing:a'])
      const { events, nodes } = await w.store.load({ requests: ['e'], nodes: true })
      assert.deepEqual(
        [events.map((note) => note.by), nodes.some((node) => node.hello.label === `label ${i}`)],
        [[`${i}`], true],
      )
      const { strays, nodes: seen } = await w.beat({ id: 'same', node: 'same', leaseMs: LEASE_MS })
      assert.deepEqual([strays.map((run) => run.data), seen.length], [[`${i}`], 2])
    }
  },

  'a session that runs out in one fleet runs on in the other': async (here) => {
    const there = await another(here)
    const same = { id: 'same', node: 'same' }
    for (const w of [here, there]) await w.running(await w.begin(same), 'billing:a', { wakeAt: START })
    const other = await here.begin()
    here.pass(LEASE_MS)
    await there.beat({ ...same, leaseMs: LEASE_MS })
    here.pass(1)
    assert.equal((await here.attend(other)).ended.get('same')?.endedAt, here.now)
    const seen = await there.attend({ ...same, leaseMs: LEASE_MS })
    assert.deepEqual([seen.alive, seen.jobs.length, seen.ended.size], [true, 1, 0], 'due there, and not to recover')
    assert.deepEqual((await there.attend(await there.begin(), { buckets: new Set(), graceMs: DAY })).jobs, [])
  },

  'what is due, and what comes next, is of one’s own fleet': async (here) => {
    const there = await another(here)
    await here.job('billing:due', { wakeAt: START - 1, bucket: 1 })
    await here.job('billing:next', { wakeAt: START + SECOND, bucket: 1 })
    await here.running(await here.begin(), 'billing:running', { wakeAt: START + SECOND, bucket: 2 })
    await there.job('billing:due', { wakeAt: START + DAY, bucket: 1 })
    await there.job('billing:later', { wakeAt: START + MINUTE, bucket: 1 })
    await there.job('billing:other', { wakeAt: START + DAY, bucket: 2 })
    const session = await there.begin({ id: 'watcher' })
    const own = { buckets: buckets(2) }
    const seen = await there.attend(session, own)
    assert.deepEqual([seen.jobs, seen.nextWakeAt, seen.nextOtherWakeAt], [[], START + MINUTE, START + DAY])
    assert.equal(seen.nextEndAt, null)
    const reply = await there.beat(session, own)
    assert.deepEqual([reply.nextWakeAt, reply.nextOtherWakeAt, reply.nextEndAt], [START + MINUTE, START + DAY, null])
  },

  'pruning one fleet leaves the other’s old rows': async (here) => {
    const there = await another(here)
    for (const w of [here, there]) {
      await w.begin()
      const ended = queued('billing:a', 'k', { state: 'failed', endedAt: START })
      const notes = [event('e', 'billing:a', { kind: 'defined' })]
      await w.won(change('c1', await w.job('billing:a', {}, [ended]), { events: notes }))
    }
    here.pass(99 * DAY)
    const rows = 4
    assert.equal(await there.store.prune({ before: here.now, limit: 100 }), rows, 'a run, an event and two nodes')
    assert.equal(await here.store.prune({ before: here.now, limit: 100 }), rows)
  },
}

/** The world of another fleet in the same place, under the same clock. */
async function another(here: World): Promise<World> {
  return new World(here.clock, await here.connect('another fleet'), here.connect, here.place)
}
