import assert from 'node:assert/strict'
import { change, creation, event, fresh, granted, header, over, queued, START, settlement, stored } from './builders.js'
import { type Cases, outcomes } from './world.js'

/** Who wins, and that whoever loses has changed nothing. */
export const CLAIMS: Cases = {
  'a new job is loaded as it was committed': async (w) => {
    const first = creation('c1', 'billing:a', { runs: [fresh(queued('billing:a', 'k'))] })
    assert.deepEqual(await w.commit(await w.founder(), first), {
      expired: false,
      now: w.now,
      results: [{ job: 'billing:a', outcome: 'won' }],
    })
    assert.deepEqual(await w.read('billing:a'), {
      header: first.header,
      tally: { settled: 0, failures: 0, succeededUntil: null, tokenFloor: 0 },
      version: 'c1',
      definition: first.definition?.content,
      runs: [queued('billing:a', 'k')],
    })
  },

  'a job that does not exist is absent': async (w) => {
    const loaded = await w.store.load({ jobs: ['billing:none'], keys: [{ job: 'billing:none', key: 'k' }] })
    assert.equal(loaded.now, w.now)
    assert.deepEqual([loaded.jobs.size, loaded.definitions.size, loaded.runs.length], [0, 0, 0])
  },

  'of two changes of one reading the second is stale and changes nothing': async (w) => {
    const read = await w.job('billing:a')
    const first = change('c1', read, { head: { lastToken: 5 } })
    const second = change('c2', read, {
      head: { lastToken: 9 },
      runs: [fresh(queued('billing:a', 'k'))],
      events: [event('e1', 'billing:a')],
      definition: stored({ hash: 'hash-2', seq: 2 }),
    })
    const founder = await w.founder()
    assert.deepEqual(outcomes(await w.commit(founder, first)), ['won'])
    assert.deepEqual(outcomes(await w.commit(founder, second)), ['stale'])
    const { header: head, version, runs } = await w.read('billing:a')
    assert.deepEqual([head.lastToken, version, runs.length], [5, 'c1', 0])
    const loaded = await w.store.load({ jobs: ['billing:a'], requests: ['e1'] })
    assert.deepEqual(loaded.events, [])
    assert.equal(loaded.definitions.get('billing:a')?.length, 1)
  },

  'of twenty claims at once, over several connections, exactly one is won': async (w) => {
    const read = await w.job('billing:a', {}, [queued('billing:a', 'k')])
    const [run] = read.runs
    assert.ok(run)
    const stores = [w.store, await w.connect(), await w.connect(), await w.connect()]
    const claims = Array.from({ length: 20 }, async (_, i) => {
      const session = await w.begin()
      const attemptId = `c${i}.1`
      const mine = granted(run, { session: session.id, attemptId, token: START * 1_000 + i, at: w.now })
      const store = stores[i % stores.length] ?? w.store
      const committed = await store.commit(session, w.now, [change(`c${i}`, read, { runs: [over(run, mine)] })])
      return { attemptId, outcome: outcomes(committed)[0] }
    })
    const results = await Promise.all(claims)
    const winners = results.filter((result) => result.outcome === 'won')
    assert.equal(winners.length, 1)
    assert.equal(results.filter((result) => result.outcome === 'stale').length, 19)
    assert.equal((await w.run('billing:a', 'k'))?.attemptId, winners[0]?.attemptId)
  },

  'a job that exists is not created again': async (w) => {
    await w.job('billing:a', { lastToken: 5 })
    assert.deepEqual(outcomes(await w.commit(await w.founder(), creation('c9', 'billing:a'))), ['stale'])
    assert.equal((await w.read('billing:a')).header.lastToken, 5)
  },

  'a change of a job that does not exist is stale': async (w) => {
    const read = await w.job('billing:a')
    const other = { ...change('c1', read), job: 'billing:b', header: header('billing:b') }
    assert.deepEqual(outcomes(await w.commit(await w.founder(), other)), ['stale'])
    assert.equal((await w.store.load({ jobs: ['billing:b'] })).jobs.size, 0)
  },

  'a key that is taken by a waiting run is a clash, and nothing of the change is applied': async (w) => {
    const read = await w.job('billing:a', {}, [queued('billing:a', 'k')])
    const late = change('c1', read, {
      head: { lastToken: 9 },
      runs: [fresh(queued('billing:a', 'j')), fresh(queued('billing:a', 'k', { data: '"other"' }))],
      events: [event('e1', 'billing:a')],
    })
    assert.deepEqual(await w.commit(await w.founder(), late), {
      expired: false,
      now: w.now,
      results: [{ job: 'billing:a', outcome: 'clash', keys: ['k'] }],
    })
    assert.deepEqual(await w.read('billing:a'), read)
    assert.equal(await w.run('billing:a', 'j'), undefined)
    assert.deepEqual((await w.store.load({ requests: ['e1'] })).events, [])
  },

  'a key that is taken by a terminal row is a clash, in every terminal state': async (w) => {
    const states = ['succeeded', 'failed', 'cancelled', 'skipped', 'missed'] as const
    const rows = states.map((state) => queued('billing:a', state, { state, endedAt: START, reason: 'overlap' }))
    const read = await w.job('billing:a', {}, rows)
    assert.deepEqual(read.runs, [])
    const again = rows.map((row) => fresh(queued('billing:a', row.key)))
    const committed = await w.commit(await w.founder(), change('c1', read, { runs: again }))
    assert.ok(!committed.expired)
    const [result] = committed.results
    assert.ok(result?.outcome === 'clash')
    assert.deepEqual([...result.keys].sort(), [...states].sort())
    for (const row of rows) assert.deepEqual(await w.run('billing:a', row.key), row)
  },

  'an event that exists, of any job, is a clash by its id': async (w) => {
    const read = await w.job('billing:a')
    const other = await w.job('billing:b')
    await w.won(change('c1', other, { events: [event('request', 'billing:b')] }))
    const committed = await w.commit(
      await w.founder(),
      change('c2', read, { runs: [fresh(queued('billing:a', 'k'))], events: [event('request', 'billing:a')] }),
    )
    assert.ok(!committed.expired)
    assert.deepEqual(committed.results, [{ job: 'billing:a', outcome: 'clash', keys: ['request'] }])
    assert.equal(await w.run('billing:a', 'k'), undefined)
  },

  'a run that is not in the state, or has not the token, that the change expects makes it stale': async (w) => {
    const session = await w.begin()
    const run = await w.running(session, 'billing:a')
    const read = await w.read('billing:a')
    const wrong = [
      { state: 'queued', token: run.token },
      { state: 'running', token: run.token - 1 },
      { state: 'running', token: run.token + 1 },
      { state: 'succeeded', token: run.token },
    ] as const
    for (const [i, expect] of wrong.entries()) {
      const stopped = { ...run, data: '"overwritten"' }
      const late = change(`c${i}`, read, { runs: [{ run: stopped, expect }] })
      assert.deepEqual(outcomes(await w.commit(session, late)), ['stale'])
    }
    const missing = { run: queued('billing:a', 'none'), expect: { state: 'queued', token: 0 } } as const
    assert.deepEqual(outcomes(await w.commit(session, change('c9', read, { runs: [missing] }))), ['stale'])
    assert.deepEqual(await w.run('billing:a', 'k'), run)
    assert.equal(await w.run('billing:a', 'none'), undefined)
  },

  'a run that was settled between reading and commit keeps its end': async (w) => {
    const session = await w.begin()
    const run = await w.running(session, 'billing:a')
    const read = await w.read('billing:a')
    await w.store.settle([settlement(run, w.now)])
    const again = granted(run, { session: session.id, attemptId: 'again.1', token: run.token + 1, at: w.now })
    assert.deepEqual(outcomes(await w.commit(session, change('c1', read, { runs: [over(run, again)] }))), ['stale'])
    assert.equal((await w.run('billing:a', 'k'))?.state, 'succeeded')
  },

  'a clash is told where another guard of the change fails too': async (w) => {
    const read = await w.job('billing:a', {}, [queued('billing:a', 'k')])
    const wrong = { run: queued('billing:a', 'none'), expect: { state: 'queued', token: 0 } } as const
    const late = change('c1', read, { runs: [wrong, fresh(queued('billing:a', 'k'))] })
    assert.deepEqual(outcomes(await w.commit(await w.founder(), late)), ['clash'])
  },

  'an attempt id belongs to one run for ever': async (w) => {
    const session = await w.begin()
    const run = await w.running(session, 'billing:a')
    const other = await w.job('billing:b', {}, [queued('billing:b', 'k')])
    const [waiting] = other.runs
    assert.ok(waiting && run.attemptId)
    const same = granted(waiting, { session: session.id, attemptId: run.attemptId, token: 1, at: w.now })
    const committed = await w.commit(session, change('c1', other, { runs: [over(waiting, same)] }))
    assert.deepEqual(outcomes(committed), ['refused'])
    assert.deepEqual(await w.read('billing:b'), other)
  },
}
