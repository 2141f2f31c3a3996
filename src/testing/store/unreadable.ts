import assert from 'node:assert/strict'
import type { Attendance } from '../../store/port.js'
import { LEASE_MS, MINUTE, queued, START, settlement } from './builders.js'
import type { Cases, SpoiltRow, World } from './world.js'

const ROWS: readonly SpoiltRow[] = ['definition', 'header', 'run']

/** A row that cannot be read is named, and costs nobody but its job. */
export const UNREADABLE: Cases = {
  'a due job of which a row cannot be read is named, and the rest of the page is given': async (w) => {
    const session = await w.begin()
    for (const job of ['billing:1', 'billing:9']) await w.job(job, { wakeAt: START })
    for (const row of ROWS) await dueWithRun(w, `billing:${row}`)
    const healthy = await w.attend(session)
    assert.deepEqual([healthy.jobs.length, healthy.unreadable], [5, []])
    for (const row of ROWS) await w.spoil(`billing:${row}`, row)
    const seen = await w.attend(session)
    assert.deepEqual([seen.alive, seen.after, names(seen)], [true, null, ['billing:1', 'billing:9']])
    assert.deepEqual(bad(seen), ['billing:definition', 'billing:header', 'billing:run'])
    for (const { job, why } of seen.unreadable) {
      assert.match(why, /\w+ .{5,}/, `a sentence says what is wrong with ${job}`)
      assert.doesNotMatch(why, /secret/, 'and not what the row holds')
    }
    assert.deepEqual((await w.attend(session)).unreadable, seen.unreadable, 'the same words each time')
  },

  'it takes its place on a page, so that pages come to an end and hide nothing': async (w) => {
    const session = await w.begin()
    const jobs = ['billing:1', 'billing:2', 'billing:3', 'billing:4']
    for (const job of jobs) await dueWithRun(w, job)
    for (const job of ['billing:1', 'billing:3']) await w.spoil(job, 'header')
    const pages: Attendance[] = []
    for (let after: string | null | undefined; after !== null; after = pages.at(-1)?.after ?? null) {
      pages.push(await w.attend(session, { limit: 1, ...(after === undefined ? {} : { after }) }))
      assert.ok(pages.length < 9, 'the pages come to an end')
    }
    assert.deepEqual(pages.flatMap(names), ['billing:2', 'billing:4'])
    assert.deepEqual(pages.flatMap(bad), ['billing:1', 'billing:3'])
    for (const { nextWakeAt, nextOtherWakeAt } of pages) {
      assert.deepEqual([nextWakeAt, nextOtherWakeAt], [null, null], 'nothing is waited for that was seen already')
    }
  },

  'a lost run of such a job does not hide those that can be recovered': async (w) => {
    const [lost, session] = [await w.begin(), await w.begin()]
    for (const row of ROWS) await w.running(lost, `billing:${row}`)
    const run = await w.running(lost, 'billing:well')
    for (const row of ROWS) await w.spoil(`billing:${row}`, row)
    w.pass(LEASE_MS + 1)
    const seen = await w.attend(session)
    assert.deepEqual([names(seen), bad(seen)], [['billing:well'], ROWS.map((row) => `billing:${row}`).sort()])
    assert.equal(seen.ended.get(run.session ?? '')?.node, lost.node)
    assert.deepEqual(names(await w.attend(session, { limit: 1 })).length + 1, 1, 'the first by name is spoilt')
  },

  'loading names it, and gives the others': async (w) => {
    for (const row of ROWS) await dueWithRun(w, `billing:${row}`)
    const read = await w.job('billing:well')
    for (const row of ROWS) await w.spoil(`billing:${row}`, row)
    const jobs = ['billing:well', 'billing:none', ...ROWS.map((row) => `billing:${row}`)]
    const keys = [...jobs, 'billing:run'].map((job) => ({ job, key: 'k' }))
    const loaded = await w.store.load({ jobs, keys, nodes: true })
    assert.deepEqual([...loaded.jobs], [['billing:well', read]])
    assert.deepEqual([...loaded.definitions.keys()], ['billing:well'])
    assert.deepEqual(loaded.unreadable.map(({ job }) => job).sort(), ROWS.map((row) => `billing:${row}`).sort())
    assert.deepEqual(loaded.runs.map((run) => run.job).sort(), ['billing:definition', 'billing:header'])
    assert.equal(loaded.nodes.length, 1)
    const one = await w.store.load({ keys: [{ job: 'billing:run', key: 'k' }] })
    assert.deepEqual([one.runs, one.unreadable.map(({ job }) => job)], [[], ['billing:run']])
  },

  'beats and settlements of its holder go on': async (w) => {
    const session = await w.begin()
    const [a, b] = [await w.running(session, 'billing:a'), await w.running(session, 'billing:b')]
    await w.spoil('billing:a', 'definition')
    await w.spoil('billing:b', 'run')
    const well = await w.running(session, 'billing:well')
    const attempts = [a, b].map((run) => run.attemptId ?? '')
    const reply = await w.beat(session, { attempts })
    assert.deepEqual([reply.alive, reply.gone, reply.strays], [true, [], [well]])
    const none = await w.beat(session)
    assert.deepEqual(none.strays.map((run) => run.job).sort(), ['billing:a', 'billing:well'])
    assert.deepEqual(await w.store.settle([settlement(a, w.now), settlement(well, w.now)]), ['settled', 'settled'])
  },

  'pages for people pass over what cannot be read, and only the last one is short': async (w) => {
    const jobs = ['billing:1', 'billing:2', 'billing:3', 'billing:4']
    for (const job of jobs) await dueWithRun(w, job)
    await w.spoil('billing:2', 'header')
    await w.spoil('billing:2', 'run')
    const list = async (after: string) => (await w.store.jobs({ after, limit: 2 })).map((job) => job.header.job)
    assert.deepEqual(await list(''), ['billing:1', 'billing:3'])
    assert.deepEqual(await list('billing:3'), ['billing:4'])
    const runs = await w.store.runs({ limit: 3 })
    assert.deepEqual(runs.map((run) => run.job).sort(), ['billing:1', 'billing:3', 'billing:4'])
    assert.deepEqual(await w.store.runs({ job: 'billing:2', limit: 3 }), [])
  },

  'pruning goes on beside it': async (w) => {
    const old = queued('billing:1', 'old', { state: 'succeeded', endedAt: START - MINUTE })
    await w.job('billing:1', {}, [old])
    for (const row of ROWS) await dueWithRun(w, `billing:${row}`)
    for (const row of ROWS) await w.spoil(`billing:${row}`, row)
    w.pass(25 * 60 * MINUTE)
    assert.ok((await w.store.prune({ before: START, limit: 100 })) >= 1)
    assert.equal(await w.run('billing:1', 'old'), undefined)
  },
}

async function dueWithRun(w: World, job: string): Promise<void> {
  await w.job(job, { wakeAt: START }, [queued(job, 'k', { data: '"secret"' })])
}

function names(seen: Attendance): string[] {
  return seen.jobs.map((job) => job.header.job)
}

function bad(seen: Attendance): string[] {
  return seen.unreadable.map((each) => each.job).sort()
}
