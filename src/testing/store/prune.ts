import assert from 'node:assert/strict'
import type { Run } from '../../ledger/types.js'
import { change, DAY, event, HOUR, MINUTE, over, queued, START, settlement } from './builders.js'
import type { Cases } from './world.js'

/** Old rows go, and nothing becomes runnable again. */
export const PRUNE: Cases = {
  'runs that ended before the instant go; what is live, and what ended later, stays': async (w) => {
    const session = await w.begin()
    const ended = (key: string, endedAt: number, state: Run['state'] = 'succeeded') =>
      queued('billing:a', key, { state, endedAt, attemptId: `${key}.1` })
    const rows = [ended('old', START - 1), ended('edge', START), ended('skipped', START - DAY, 'skipped')]
    const waits = queued('billing:a', 'waits', { createdAt: START - 99 * DAY, endedAt: START - DAY })
    const read = await w.job('billing:a', {}, [...rows, waits])
    await w.running(session, 'billing:b')
    assert.equal(await w.store.prune({ before: START, limit: 100 }), 2)
    assert.deepEqual(
      (await w.store.runs({ job: 'billing:a', limit: 9 })).map((run) => run.key),
      ['edge', 'waits'],
    )
    assert.deepEqual(
      (await w.store.load({ attempts: ['old.1', 'edge.1'] })).runs.map((run) => run.key),
      ['edge'],
    )
    assert.deepEqual(await w.read('billing:a'), read, 'the job, its cursor and its window are untouched')
    assert.equal(await w.store.prune({ before: START, limit: 100 }), 0)
  },

  'events that happened before the instant go': async (w) => {
    const notes = [-1, 0, 1].map((ms) => event(`e${ms}`, 'billing:a', { kind: 'defined', at: START + ms }))
    await w.won(change('c1', await w.job('billing:a'), { events: notes }))
    assert.equal(await w.store.prune({ before: START, limit: 100 }), 1)
    assert.deepEqual(
      (await w.store.events({ limit: 9 })).map((note) => note.id),
      ['e1', 'e0'],
    )
  },

  'at most so many rows go at once': async (w) => {
    const rows = Array.from({ length: 10 }, (_, i) =>
      queued('billing:a', `k${i}`, { state: 'failed', endedAt: START - 1 }),
    )
    await w.job('billing:a', {}, rows)
    const counts = [4, 4, 4, 4].map(() => () => w.store.prune({ before: START, limit: 4 }))
    const seen: number[] = []
    for (const prune of counts) seen.push(await prune())
    assert.deepEqual(seen, [4, 4, 2, 0])
  },

  'manual and backfill runs and requests stay for seven days whatever is asked': async (w) => {
    const causes = ['manual', 'backfill', 'schedule', 'catch-up'] as const
    const rows = causes.map((cause) => queued('billing:a', cause, { cause, state: 'succeeded', endedAt: START - 1 }))
    const kinds = ['triggered', 'paused', 'cancelled', 'defined', 'redefined'] as const
    const notes = kinds.map((kind) => event(kind, 'billing:a', { kind, at: START - 1 }))
    await w.won(change('c1', await w.job('billing:a', {}, rows), { events: notes }))
    assert.equal(await w.store.prune({ before: START + 99 * DAY, limit: 100 }), 4)
    assert.deepEqual((await w.store.runs({ limit: 9 })).map((run) => run.cause).toSorted(), ['backfill', 'manual'])
    const left = async () => (await w.store.events({ limit: 9 })).map((note) => note.id).toSorted()
    assert.deepEqual(await left(), ['cancelled', 'paused', 'triggered'])
    w.pass(7 * DAY - 1)
    assert.equal(await w.store.prune({ before: START + 99 * DAY, limit: 100 }), 1, 'the founder’s session, no request')
    w.pass(1)
    assert.equal(await w.store.prune({ before: START + 99 * DAY, limit: 100 }), 5)
    assert.deepEqual([await left(), await w.store.runs({ limit: 9 })], [[], []])
  },

  'the row that a job may still extend stays, so that extending it never fails': async (w) => {
    const fate = queued('billing:a', 'fate', { state: 'skipped', endedAt: START - DAY, reason: 'overlap' })
    const older = queued('billing:a', 'older', { state: 'skipped', endedAt: START - DAY, reason: 'overlap' })
    const read = await w.job('billing:a', { lastFate: { key: 'fate', run: fate } }, [fate, older])
    assert.equal(await w.store.prune({ before: START, limit: 100 }), 1)
    const longer = { ...fate, covers: { from: 'fate', to: 'next', count: 2 }, endedAt: START }
    await w.won(change('c1', read, { head: { lastFate: null }, runs: [over(fate, longer)] }))
    assert.deepEqual(await w.run('billing:a', 'fate'), longer)
    assert.equal(await w.store.prune({ before: START + 1, limit: 100 }), 1)
  },

  'a node stays an hour, and for as long as its session holds runs': async (w) => {
    const [holder, gone, seen] = [await w.begin(), await w.begin(), await w.begin()]
    const run = await w.running(holder, 'billing:a')
    const rows = async () => (await w.store.load({ nodes: true })).nodes.map((node) => node.session)
    w.pass(HOUR)
    await w.beat(seen)
    await w.beat(await w.founder())
    assert.equal(await w.store.prune({ before: w.now + DAY, limit: 100 }), 0, 'seen an hour ago to the millisecond')
    w.pass(1)
    assert.equal(await w.store.prune({ before: w.now - MINUTE, limit: 100 }), 1)
    assert.equal((await rows()).includes(gone.id), false)
    assert.equal((await rows()).includes(holder.id), true)
    assert.deepEqual(await w.store.settle([settlement(run, w.now)]), ['settled'])
    assert.equal(await w.store.prune({ before: w.now - MINUTE, limit: 100 }), 1)
    assert.equal((await rows()).includes(holder.id), false)
    assert.deepEqual((await w.beat(gone)).known, false)
  },

  'definitions are never pruned': async (w) => {
    await w.job('billing:a')
    w.pass(99 * DAY)
    await w.store.prune({ before: w.now, limit: 100 })
    assert.equal((await w.store.load({ jobs: ['billing:a'] })).definitions.get('billing:a')?.length, 1)
  },
}
