import assert from 'node:assert/strict'
import type { Run } from '../../ledger/types.js'
import { change, creation, DAY, event, HOUR, header, over, queued, START, settlement, stored } from './builders.js'
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
    w.pass(DAY)
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
    w.pass(DAY)
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
    w.pass(DAY)
    const counts = [4, 4, 4, 4].map(() => () => w.store.prune({ before: START, limit: 4 }))
    const seen: number[] = []
    for (const prune of counts) seen.push(await prune())
    assert.deepEqual(seen, [4, 4, 2, 0])
  },

  'nothing younger than a day goes, whatever is asked': async (w) => {
    const ends = [START - 1, START] as const
    const rows = ends.map((endedAt) => queued('billing:a', `${endedAt}`, { state: 'missed', endedAt }))
    const notes = ends.map((at) => event(`e${at}`, 'billing:a', { kind: 'defined', at }))
    await w.won(change('c1', await w.job('billing:a', {}, rows), { events: notes }))
    w.pass(DAY - 1)
    assert.equal(await w.store.prune({ before: START + 99 * DAY, limit: 100 }), 0)
    w.pass(1)
    assert.equal(await w.store.prune({ before: START + 99 * DAY, limit: 100 }), 2)
    assert.deepEqual(
      [await w.store.runs({ limit: 9 }), (await w.store.events({ limit: 9 })).map((note) => note.id)],
      [[rows[1]], [`e${START}`]],
    )
  },

  'manual and backfill runs and requests stay for seven days whatever is asked': async (w) => {
    const causes = ['manual', 'backfill', 'schedule', 'catch-up'] as const
    const rows = causes.map((cause) => queued('billing:a', cause, { cause, state: 'succeeded', endedAt: START - 1 }))
    const kinds = ['triggered', 'paused', 'cancelled', 'defined', 'redefined'] as const
    const notes = kinds.map((kind) => event(kind, 'billing:a', { kind, at: START - 1 }))
    await w.won(change('c1', await w.job('billing:a', {}, rows), { events: notes }))
    w.pass(DAY)
    assert.equal(await w.store.prune({ before: START + 99 * DAY, limit: 100 }), 4)
    assert.deepEqual((await w.store.runs({ limit: 9 })).map((run) => run.cause).toSorted(), ['backfill', 'manual'])
    const left = async () => (await w.store.events({ limit: 9 })).map((note) => note.id).toSorted()
    assert.deepEqual(await left(), ['cancelled', 'paused', 'triggered'])
    w.pass(6 * DAY - 1)
    assert.equal(await w.store.prune({ before: START + 99 * DAY, limit: 100 }), 1, 'the founder’s session, no request')
    w.pass(1)
    assert.equal(await w.store.prune({ before: START + 99 * DAY, limit: 100 }), 5)
    assert.deepEqual([await left(), await w.store.runs({ limit: 9 })], [[], []])
  },

  'the row that a job may still extend stays, so that extending it never fails': async (w) => {
    const fate = queued('billing:a', 'fate', { state: 'skipped', endedAt: START - DAY, reason: 'overlap' })
    const older = queued('billing:a', 'older', { state: 'skipped', endedAt: START - DAY, reason: 'overlap' })
    const read = await w.job('billing:a', { lastFate: { key: 'fate', run: fate } }, [fate, older])
    w.pass(DAY)
    await w.beat(await w.founder())
    assert.equal(await w.store.prune({ before: START, limit: 100 }), 1)
    const longer = { ...fate, covers: { from: 'fate', to: 'next', count: 2 }, endedAt: START }
    await w.won(change('c1', read, { head: { lastFate: null }, runs: [over(fate, longer)] }))
    assert.deepEqual(await w.run('billing:a', 'fate'), longer)
    w.pass(1)
    assert.equal(await w.store.prune({ before: START + 1, limit: 100 }), 1)
  },

  'a session stays a day, and for as long as it holds runs': async (w) => {
    const [holder, gone, seen] = [await w.begin(), await w.begin(), await w.begin()]
    const run = await w.running(holder, 'billing:a')
    w.pass(DAY)
    await w.beat(seen)
    await w.beat(await w.founder())
    assert.equal(await w.store.prune({ before: START + 99 * DAY, limit: 100 }), 0, 'seen a day ago to the millisecond')
    w.pass(1)
    assert.equal(await w.store.prune({ before: 0, limit: 100 }), 1, 'whatever is asked')
    assert.deepEqual([(await w.beat(gone)).known, (await w.beat(holder)).known], [false, true])
    assert.deepEqual(await w.store.settle([settlement(run, w.now)]), ['settled'])
    assert.equal(await w.store.prune({ before: 0, limit: 100 }), 1)
    assert.equal((await w.beat(holder)).known, false)
    assert.equal((await w.beat(seen)).known, true)
  },

  'a definition goes when a hundred later ones are a week old, and the one in force never': async (w) => {
    const known = async () => (await w.store.load({ jobs: ['billing:a'] })).definitions.get('billing:a') ?? []
    await w.job('billing:a')
    await w.job('billing:b')
    for (let seq = 2; seq <= 103; seq++) await w.enter('billing:a', seq)
    w.pass(7 * DAY)
    assert.equal(await w.store.prune({ before: 0, limit: 100 }), 1, 'the session of who entered them')
    assert.equal((await known()).length, 103, 'a week to the millisecond')
    w.pass(1)
    assert.equal(await w.store.prune({ before: 0, limit: 2 }), 2)
    assert.equal(await w.store.prune({ before: 0, limit: 100 }), 1)
    assert.equal(await w.store.prune({ before: 0, limit: 100 }), 0)
    assert.deepEqual(
      (await known()).map(({ seq }) => seq),
      Array.from({ length: 100 }, (_, i) => i + 4),
    )
    assert.equal((await w.read('billing:a')).header.definition, 'hash-103')
    assert.equal((await w.store.load({ jobs: ['billing:b'] })).definitions.get('billing:b')?.length, 1)
  },

  'of a definition entered anew the last entry counts': async (w) => {
    await w.job('billing:a')
    for (let seq = 2; seq <= 101; seq++) await w.enter('billing:a', seq)
    await w.enter('billing:a', 102, 'hash-1')
    w.pass(8 * DAY)
    await w.store.prune({ before: 0, limit: 100 })
    const known = (await w.store.load({ jobs: ['billing:a'] })).definitions.get('billing:a') ?? []
    assert.deepEqual(
      known.map(({ hash }) => hash),
      [...Array.from({ length: 99 }, (_, i) => `hash-${i + 3}`), 'hash-1'],
    )
  },

  'a removed schedule goes when nothing of it is left; a job of the code, or one that is not retired, stays': async (
    w,
  ) => {
    const { content } = stored()
    const ofStore = stored({ content: { ...content, handler: 'digest', data: 'null' } })
    const make = async (job: string, definition: typeof ofStore, retired: boolean) =>
      w.won(creation(w.id('change'), job, { header: header(job, { retired }), definition }))
    await make('billing:gone', ofStore, true)
    await make('billing:kept', ofStore, false)
    await make('billing:code', stored(), true)
    await make('billing:history', ofStore, true)
    await make('billing:eventful', ofStore, true)
    const read = await w.read('billing:history')
    const row = queued('billing:history', 'k', { state: 'cancelled', endedAt: START })
    await w.won(change('c1', read, { runs: [{ run: row, expect: null }] }))
    const note = event('e1', 'billing:eventful', { kind: 'retired' })
    await w.won(change('c2', await w.read('billing:eventful'), { events: [note] }))
    const jobs = async () => (await w.store.jobs({ limit: 9 })).map((job) => job.header.job)
    assert.equal(await w.store.prune({ before: 0, limit: 100 }), 1)
    assert.deepEqual(await jobs(), ['billing:code', 'billing:eventful', 'billing:history', 'billing:kept'])
    assert.deepEqual([...(await w.store.load({ jobs: ['billing:gone'] })).definitions], [])
    w.pass(7 * DAY + 1)
    await w.store.prune({ before: w.now, limit: 100 })
    assert.equal(await w.store.prune({ before: w.now, limit: 100 }), 0)
    assert.deepEqual(await jobs(), ['billing:code', 'billing:kept'])
    await w.restart()
    await make('billing:gone', ofStore, false)
    assert.deepEqual((await w.read('billing:gone')).runs, [], 'its name is free again')
  },

  'a key that was pruned is known by the cursor alone, and a request by its row while that is kept': async (w) => {
    const cursor = { instant: START + HOUR, label: '2026-11-29T03:00' }
    const rows = [queued('billing:a', '2026-11-29T02:00', { state: 'succeeded', endedAt: START })]
    await w.job('billing:a', { cursor }, rows)
    w.pass(2 * DAY)
    assert.ok((await w.store.prune({ before: w.now, limit: 100 })) > 0)
    assert.deepEqual((await w.read('billing:a')).header.cursor, cursor)
  },
}
