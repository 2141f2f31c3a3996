import assert from 'node:assert/strict'
import type { Run } from '../../ledger/types.js'
import { change, event, granted, LEASE_MS, over, queued, START, settlement } from './builders.js'
import type { Cases, World } from './world.js'

/** Reading back what one is in doubt about, and pages for people. */
export const READS: Cases = {
  'a run is read back by its attempt in whatever state it is': async (w) => {
    const session = await w.begin()
    const ends = ['queued', 'succeeded', 'failed', 'cancelled'] as const
    const found: (Run | undefined)[] = []
    const attempt = async (id: string | null) => (await w.store.load({ attempts: [id ?? ''] })).runs
    for (const state of ends) {
      const run = await w.running(session, `billing:${state}`)
      assert.deepEqual(await attempt(run.attemptId), [run])
      const after = { ...run, state, place: state === 'queued', endedAt: state === 'queued' ? null : w.now }
      await w.store.settle([settlement(run, w.now, { run: after })])
      assert.deepEqual(await attempt(run.attemptId), [after])
      found.push(after)
    }
    const attempts = found.map((run) => run?.attemptId ?? '')
    const keys = ends.map((state) => ({ job: `billing:${state}`, key: 'k' }))
    const both = await w.store.load({ attempts: [...attempts, 'never.1'], keys: [...keys, { job: 'x', key: 'k' }] })
    assert.deepEqual(byJob(both.runs), byJob(found.flatMap((run) => run ?? [])), 'each run once')
  },

  'an attempt that was followed by another is found no more by its id': async (w) => {
    const [lost, other] = [await w.begin(), await w.begin()]
    const run = await w.running(lost, 'billing:a')
    w.pass(LEASE_MS + 1)
    await w.attend(other)
    const again = granted(run, { session: other.id, attemptId: 'again.1', token: run.token + 1, at: w.now })
    await w.commit(other, change('again', await w.read('billing:a'), { runs: [over(run, again)] }))
    assert.deepEqual((await w.store.load({ attempts: [run.attemptId ?? ''] })).runs, [])
    assert.deepEqual((await w.store.load({ attempts: ['again.1'] })).runs, [again])
  },

  'tokens are kept to the last digit': async (w) => {
    const read = await w.job('billing:a', { lastToken: 1_764_374_400_123_457 }, [queued('billing:a', 'k')])
    assert.equal(read.header.lastToken, 1_764_374_400_123_457)
    const [run] = read.runs
    assert.ok(run)
    const token = Number.MAX_SAFE_INTEGER
    const mine = granted(run, { session: (await w.begin()).id, attemptId: 'c1.1', token, at: w.now })
    await w.won(change('c1', read, { head: { lastToken: token }, runs: [over(run, mine)] }))
    assert.equal((await w.read('billing:a')).header.lastToken, token)
    assert.deepEqual(await w.store.settle([settlement({ ...mine, token: token - 1 }, w.now)]), ['lost'])
    assert.deepEqual(await w.store.settle([settlement(mine, w.now)]), ['settled'])
  },

  'requests are read back by id': async (w) => {
    const note = event('request-1', 'billing:a', { kind: 'paused', why: 'month end', data: '{"until":null}' })
    await w.won(change('c1', await w.job('billing:a'), { events: [note] }))
    const { events } = await w.store.load({ requests: ['request-1', 'request-2', 'request-1'] })
    assert.deepEqual(events, [note])
  },

  'jobs are paged by name': async (w) => {
    for (const job of ['billing:c', 'billing:a', 'billing:d', 'billing:b']) await w.job(job)
    await w.job('mail:a', { service: 'mail' })
    const list = async (query: Parameters<World['store']['jobs']>[0]) =>
      (await w.store.jobs(query)).map((job) => job.header.job)
    assert.deepEqual(await list({ limit: 2 }), ['billing:a', 'billing:b'])
    assert.deepEqual(await list({ limit: 9, after: 'billing:b' }), ['billing:c', 'billing:d', 'mail:a'])
    assert.deepEqual(await list({ limit: 9, service: 'mail' }), ['mail:a'])
    assert.deepEqual(await w.store.jobs({ limit: 1 }), [await w.read('billing:a')])
  },

  'runs are paged from the newest, also where many were made at one instant': async (w) => {
    const jobs = ['billing:a', 'billing:b', 'billing:c']
    const all: Run[] = []
    for (const job of jobs) {
      const runs = ['k1', 'k2', 'k3'].map((key, i) => {
        const state = i === 0 ? ('skipped' as const) : ('queued' as const)
        return queued(job, key, { position: i, state, createdAt: START + (i === 2 ? 5 : 0), endedAt: i ? null : START })
      })
      await w.job(job, {}, runs)
      all.push(...runs)
    }
    const place = (run: Run) => `${run.createdAt} ${run.key} ${run.job}`
    const expected = all.toSorted((a, b) => (place(a) < place(b) ? 1 : -1))
    for (const limit of [1, 2, 4, 100]) {
      assert.deepEqual(await allRuns(w, { limit }), expected)
      const [, job = ''] = jobs
      assert.deepEqual(
        await allRuns(w, { limit, job }),
        expected.filter((run) => run.job === job),
      )
      assert.deepEqual(
        await allRuns(w, { limit, states: ['skipped', 'failed'] }),
        expected.filter((run) => run.state === 'skipped'),
      )
    }
    const [first] = expected
    const onlyOlder = await w.store.runs({
      job: 'billing:a',
      before: { createdAt: START, key: 'k2', job: 'billing:b' },
      limit: 9,
    })
    assert.deepEqual(
      onlyOlder.map((run) => run.key),
      ['k2', 'k1'],
    )
    assert.equal(first?.key, 'k3')
  },

  'events are paged from the newest, also where many happened at one instant': async (w) => {
    const notes = [1, 2, 3, 4, 5].map((i) => event(`e${i}`, 'billing:a', { at: START + (i > 3 ? 1 : 0) }))
    await w.won(change('c1', await w.job('billing:a'), { events: notes }))
    const other = event('f', 'billing:b', { at: START + 2 })
    await w.won(change('c2', await w.job('billing:b'), { events: [other] }))
    assert.deepEqual(await w.store.events({ limit: 2 }), [other, notes[4]])
    assert.deepEqual(await w.store.events({ limit: 9, before: { at: START + 1, id: 'e4' } }), [
      notes[2],
      notes[1],
      notes[0],
    ])
    assert.deepEqual(await w.store.events({ limit: 9, job: 'billing:b' }), [other])
    const page = await w.store.events({ limit: 1, job: 'billing:a', before: { at: START, id: 'e2' } })
    assert.deepEqual(page, [notes[0]])
  },
}

function byJob(runs: readonly Run[]): Run[] {
  return runs.toSorted((a, b) => (a.job < b.job ? -1 : 1))
}

/** Every run that the pages give, one page after the other. */
async function allRuns(w: World, query: Parameters<World['store']['runs']>[0]): Promise<Run[]> {
  const found: Run[] = []
  for (;;) {
    const before = found.at(-1)
    const page = await w.store.runs({ ...query, ...(before && { before }) })
    found.push(...page)
    if (page.length < query.limit) return found
  }
}
