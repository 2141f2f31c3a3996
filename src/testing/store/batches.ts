import assert from 'node:assert/strict'
import {
  change,
  creation,
  DAY,
  event,
  fresh,
  granted,
  header,
  over,
  queued,
  START,
  settlement,
  stored,
} from './builders.js'
import { type Cases, outcomes } from './world.js'

/** Changes that come twice, together, or with settlements in between; what a commit writes. */
export const BATCHES: Cases = {
  'a change that comes again counts as won and is applied once': async (w) => {
    const session = await w.begin()
    const read = await w.job('billing:a', {}, [queued('billing:a', 'k')])
    const [run] = read.runs
    assert.ok(run)
    const mine = granted(run, { session: session.id, attemptId: 'c1.1', token: START * 1_000, at: w.now })
    const claim = change('c1', read, { runs: [over(run, mine)], events: [event('e1', 'billing:a')], failures: 'count' })
    assert.deepEqual(outcomes(await w.commit(session, claim)), ['won'])
    assert.deepEqual(outcomes(await w.commit(session, claim)), ['won'])
    assert.deepEqual(outcomes(await w.commit(session, claim, claim)), ['won', 'won'])
    const after = await w.read('billing:a')
    assert.deepEqual([after.version, after.tally.failures, after.runs], ['c1', 1, [mine]])
    assert.equal((await w.store.events({ limit: 10 })).length, 1)
  },

  'a change that comes again after its run was settled does not bring the run back': async (w) => {
    const session = await w.begin()
    const read = await w.job('billing:a', {}, [queued('billing:a', 'k')])
    const [run] = read.runs
    assert.ok(run)
    const mine = granted(run, { session: session.id, attemptId: 'c1.1', token: START * 1_000, at: w.now })
    const claim = change('c1', read, { runs: [over(run, mine)] })
    await w.commit(session, claim)
    assert.deepEqual(await w.store.settle([settlement(mine, w.now)]), ['settled'])
    assert.deepEqual(outcomes(await w.commit(session, claim)), ['won'])
    assert.equal((await w.run('billing:a', 'k'))?.state, 'succeeded')
    assert.equal((await w.read('billing:a')).tally.settled, 1)
  },

  'a change that comes again after another one is stale and changes nothing': async (w) => {
    const read = await w.job('billing:a')
    const first = change('c1', read, { head: { lastToken: 1 } })
    await w.won(first)
    await w.won(change('c2', await w.read('billing:a'), { head: { lastToken: 2 } }))
    assert.deepEqual(outcomes(await w.commit(await w.founder(), first)), ['stale'])
    assert.equal((await w.read('billing:a')).header.lastToken, 2)
  },

  'of two changes of one job in a batch the second is judged after the first': async (w) => {
    const read = await w.job('billing:a')
    const first = change('c1', read, { head: { lastToken: 1 } })
    const onIt = change('c2', { ...read, version: 'c1' }, { head: { lastToken: 2 } })
    const besideIt = change('c3', read, { head: { lastToken: 3 } })
    const committed = await w.commit(await w.founder(), first, onIt, besideIt)
    assert.deepEqual(outcomes(committed), ['won', 'won', 'stale'])
    assert.equal((await w.read('billing:a')).header.lastToken, 2)
  },

  'results stand in the order of the changes, and one loser does not hold up the others': async (w) => {
    const [a, b, c] = [await w.job('billing:a'), await w.job('billing:b'), await w.job('billing:c')]
    await w.won(change('before', b))
    const committed = await w.commit(await w.founder(), change('c3', c), change('c2', b), change('c1', a))
    assert.ok(!committed.expired)
    assert.deepEqual(committed.results, [
      { job: 'billing:c', outcome: 'won' },
      { job: 'billing:b', outcome: 'stale' },
      { job: 'billing:a', outcome: 'won' },
    ])
  },

  'a change that names a run, an event or an attempt twice is refused alone': async (w) => {
    const [a, b] = [await w.job('billing:a'), await w.job('billing:b')]
    const run = queued('billing:a', 'k')
    const twins = [1, 2].map((n) => queued('billing:a', `k${n}`, { attemptId: 'same.1' }))
    const broken = [
      { runs: [fresh(run), fresh({ ...run, data: '1' })] },
      { events: [event('e', 'billing:a'), event('e', 'billing:a', { by: 'eve' })] },
      { runs: twins.map(fresh) },
    ]
    for (const [i, part] of broken.entries()) {
      const good = change(`good${i}`, await w.read('billing:b'))
      const committed = await w.commit(await w.founder(), change(`bad${i}`, a, part), good)
      assert.deepEqual(outcomes(committed), ['refused', 'won'])
      assert.ok(!committed.expired && committed.results[0]?.outcome === 'refused')
      assert.ok(committed.results[0].why.length > 10, 'a refusal says why')
    }
    assert.deepEqual(await w.read('billing:a'), a)
    assert.notDeepEqual(await w.read('billing:b'), b)
    assert.deepEqual(await w.store.runs({ limit: 10 }), [])
  },

  'the same key in two jobs is two runs, also in one batch': async (w) => {
    const [a, b] = [await w.job('billing:a'), await w.job('billing:b')]
    await w.won(
      change('c1', a, { runs: [fresh(queued('billing:a', 'k', { data: '"a"' }))] }),
      change('c2', b, { runs: [fresh(queued('billing:b', 'k', { data: '"b"' }))] }),
    )
    assert.equal((await w.run('billing:a', 'k'))?.data, '"a"')
    assert.equal((await w.run('billing:b', 'k'))?.data, '"b"')
  },

  'an empty batch is an empty answer': async (w) => {
    assert.deepEqual(await w.commit(await w.founder()), { expired: false, now: w.now, results: [] })
  },

  'a job follows only a definition that the store knows': async (w) => {
    const read = await w.job('billing:a')
    const lost = change('c1', read, { head: { definition: 'hash-unknown' } })
    const orphan = creation('c2', 'billing:b', { definition: null })
    assert.deepEqual(outcomes(await w.commit(await w.founder(), lost, orphan)), ['refused', 'refused'])
    assert.deepEqual(await w.read('billing:a'), read)
  },

  'definitions are known by hash, in the order in which they were last entered': async (w) => {
    const read = await w.job('billing:a')
    const second = stored({ hash: 'hash-2', seq: 2, enteredAt: START + 1, release: 'v2' })
    const anew = stored({ seq: 3, enteredAt: START + 2, release: 'v3' })
    await w.won(change('c1', read, { definition: second, head: { definition: 'hash-2', definitionSeq: 2 } }))
    const { header: head, definition } = await w.read('billing:a')
    assert.deepEqual([head.definition, definition], ['hash-2', second.content])
    await w.won(change('c2', await w.read('billing:a'), { definition: anew, head: { definition: 'hash-1' } }))
    const { definitions } = await w.store.load({ jobs: ['billing:a'] })
    assert.deepEqual(definitions.get('billing:a'), [second, anew])
  },

  'a settlement between reading and commit makes the job due now, and nothing else': async (w) => {
    const session = await w.begin()
    const run = await w.running(session, 'billing:a')
    const read = await w.read('billing:a')
    await w.store.settle([settlement(run, w.now, { failures: 'count', succeededUntil: START, tokenFloor: 77 })])
    w.pass(10)
    await w.won(change('c1', read, { head: { wakeAt: START + DAY, lastToken: run.token + 1 } }))
    const after = await w.read('billing:a')
    assert.deepEqual([after.header.wakeAt, after.header.lastToken], [w.now, run.token + 1])
    assert.deepEqual(after.tally, { settled: 1, failures: 1, succeededUntil: START, tokenFloor: 77 })
    await w.won(change('c2', after, { head: { wakeAt: START + DAY } }))
    assert.equal((await w.read('billing:a')).header.wakeAt, START + DAY)
  },

  'failures in a row are counted, reset and left alone as the change says': async (w) => {
    await w.job('billing:a')
    const seen: number[] = []
    for (const failures of ['count', 'count', 'keep', 'reset'] as const) {
      await w.won(change(w.id('change'), await w.read('billing:a'), { failures }))
      seen.push((await w.read('billing:a')).tally.failures)
    }
    assert.deepEqual(seen, [1, 2, 2, 0])
  },

  'every field of a header comes back': async (w) => {
    const skipped = queued('billing:a', 'k', { state: 'skipped', endedAt: START, reason: 'overlap' })
    const full = header('billing:a', {
      name: 'Invoices',
      bucket: 255,
      cursor: { instant: START + 1, label: '2026-11-29T02:00:01' },
      wakeAt: START + DAY,
      lastToken: Number.MAX_SAFE_INTEGER,
      waiting: { schedule: 1, manual: 2, backlog: 3 },
      turn: 'backlog',
      position: 12_345,
      pause: { since: START, until: null, by: 'ada', why: 'month end' },
      retired: true,
      lastFate: { key: 'k', run: skipped },
    })
    assert.deepEqual((await w.job('billing:a', full, [skipped])).header, full)
  },
}
