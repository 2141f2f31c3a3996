import assert from 'node:assert/strict'
import type { Run } from '../../ledger/types.js'
import { change, DAY, granted, header, LEASE_MS, over, queued, SECOND, START, settlement } from './builders.js'
import { type Cases, outcomes, type World } from './world.js'

/** The end of an attempt: guarded by its run alone, told once, and never in the way of a decision. */
export const SETTLE: Cases = {
  'a settlement ends the run, counts, and leaves the version alone': async (w) => {
    const session = await w.begin()
    const run = await w.running(session, 'billing:a')
    const before = await w.read('billing:a')
    w.pass(SECOND)
    const done = settlement(run, w.now, { tokenFloor: run.token + 5 })
    assert.deepEqual(await w.store.settle([done]), ['settled'])
    assert.deepEqual(await w.run('billing:a', 'k'), done.run)
    const after = await w.read('billing:a')
    assert.deepEqual([after.version, after.header, after.runs], [before.version, before.header, []])
    assert.deepEqual(after.tally, { settled: 1, failures: 0, succeededUntil: START, tokenFloor: run.token + 5 })
  },

  'a settlement with another token, attempt, key or job is lost and changes nothing': async (w) => {
    const run = await w.running(await w.begin(), 'billing:a')
    const read = await w.read('billing:a')
    const right = settlement(run, w.now)
    const wrong = [
      { ...right, token: run.token - 1 },
      { ...right, token: run.token + 1 },
      { ...right, attemptId: 'other.1' },
      { ...right, key: 'none' },
      { ...right, job: 'billing:none' },
    ]
    assert.deepEqual(
      await w.store.settle(wrong),
      wrong.map(() => 'lost'),
    )
    assert.deepEqual(await w.read('billing:a'), read)
    assert.deepEqual(await w.store.settle([right]), ['settled'])
  },

  'a run that waits or has ended is not settled': async (w) => {
    const runs = [queued('billing:a', 'waits'), queued('billing:a', 'skipped', { state: 'skipped', endedAt: START })]
    await w.job('billing:a', {}, runs)
    const settlements = runs.map((run) => settlement({ ...run, attemptId: 'x.1' }, w.now))
    assert.deepEqual(await w.store.settle(settlements), ['lost', 'lost'])
    for (const run of runs) assert.deepEqual(await w.run('billing:a', run.key), run)
  },

  'a settlement that comes again has the same answer and counts once': async (w) => {
    const run = await w.running(await w.begin(), 'billing:a')
    const done = settlement(run, w.now, { failures: 'count' })
    assert.deepEqual(await w.store.settle([done]), ['settled'])
    w.pass(DAY)
    assert.deepEqual(await w.store.settle([done, done]), ['settled', 'settled'])
    assert.deepEqual((await w.read('billing:a')).tally.settled, 1)
    assert.deepEqual((await w.read('billing:a')).tally.failures, 1)
    const other = { ...done, run: { ...done.run, state: 'failed' as const } }
    assert.deepEqual(await w.store.settle([other]), ['settled'])
    assert.equal((await w.run('billing:a', 'k'))?.state, 'succeeded', 'a terminal row does not change')
  },

  'it has the same answer also when the run was given on and settled again': async (w) => {
    const session = await w.begin()
    const first = await w.running(session, 'billing:a')
    const retry = settlement(first, w.now, { run: { ...first, state: 'queued', readyAt: w.now } })
    assert.deepEqual(await w.store.settle([retry]), ['settled'])
    const second = await w.grant(session, 'billing:a', 'k')
    assert.deepEqual(await w.store.settle([retry]), ['settled'])
    assert.deepEqual(await w.run('billing:a', 'k'), second)
    const done = settlement(second, w.now)
    assert.deepEqual(await w.store.settle([done]), ['settled'])
    assert.deepEqual(await w.store.settle([retry, done]), ['settled', 'settled'])
    assert.deepEqual((await w.read('billing:a')).tally.settled, 2)
  },

  'a settlement after the session ended, before anybody recovered, is late': async (w) => {
    const [lost, other] = [await w.begin(), await w.begin()]
    const run = await w.running(lost, 'billing:a')
    w.pass(LEASE_MS + 1)
    await w.attend(other)
    const done = settlement(run, w.now)
    assert.deepEqual(await w.store.settle([done]), ['late'])
    assert.deepEqual(await w.store.settle([done]), ['late'])
    assert.equal((await w.run('billing:a', 'k'))?.state, 'succeeded')
    assert.deepEqual((await w.attend(other)).jobs, [], 'nothing is left to recover')
  },

  'a settlement after the lease has passed, before anybody marked it, counts as any other': async (w) => {
    const run = await w.running(await w.begin(), 'billing:a')
    w.pass(LEASE_MS + 1)
    assert.deepEqual(await w.store.settle([settlement(run, w.now)]), ['settled'])
  },

  'a settlement after the run was recovered is lost, and the new attempt settles': async (w) => {
    const [lost, other] = [await w.begin(), await w.begin()]
    const run = await w.running(lost, 'billing:a')
    w.pass(LEASE_MS + 1)
    await w.attend(other)
    const again = granted(run, { session: other.id, attemptId: 'again.1', token: run.token + 1, at: w.now })
    await w.commit(other, change('again', await w.read('billing:a'), { runs: [over(run, again)] }))
    assert.deepEqual(await w.store.settle([settlement(run, w.now)]), ['lost'])
    assert.deepEqual(await w.run('billing:a', 'k'), again)
    assert.deepEqual(await w.store.settle([settlement(again, w.now)]), ['settled'])
  },

  'the same token with another attempt is not the same attempt': async (w) => {
    const run = await w.running(await w.begin(), 'billing:a')
    const twin = { ...settlement(run, w.now), attemptId: 'restored.1' }
    assert.deepEqual(await w.store.settle([twin]), ['lost'])
    assert.equal((await w.run('billing:a', 'k'))?.state, 'running')
  },

  'a stop that was asked for while the handler ran stays in the row': async (w) => {
    const session = await w.begin()
    const run = await w.running(session, 'billing:a')
    const stop = { kind: 'cancel', at: w.now, by: 'ada', why: 'wrong month' } as const
    await w.won(change('c1', await w.read('billing:a'), { runs: [over(run, { ...run, stop })] }))
    assert.deepEqual((await w.read('billing:a')).runs[0]?.stop, stop)
    await w.store.settle([settlement(run, w.now)])
    assert.deepEqual((await w.run('billing:a', 'k'))?.stop, stop)
  },

  'a run that is settled to a retry keeps its place and is ready when it says': async (w) => {
    const session = await w.begin()
    const run = await w.running(session, 'billing:a')
    const readyAt = w.now + DAY
    const retry = settlement(run, w.now, {
      run: { ...run, state: 'queued', readyAt },
      wakeAt: readyAt,
      failures: 'keep',
    })
    await w.store.settle([retry])
    const { runs, header: head } = await w.read('billing:a')
    assert.deepEqual(runs, [retry.run])
    assert.equal(head.wakeAt, readyAt)
    w.pass(LEASE_MS * 2)
    assert.equal((await w.beat(session)).alive, true, 'its session holds no run any more')
  },

  'a settlement moves the wake-up earlier, never later': async (w) => {
    const session = await w.begin()
    const times = [
      { before: START + DAY, settled: START + SECOND, after: START + SECOND },
      { before: START + SECOND, settled: START + DAY, after: START + SECOND },
      { before: START + SECOND, settled: null, after: START + SECOND },
      { before: null, settled: START + SECOND, after: START + SECOND },
      { before: null, settled: null, after: null },
    ]
    for (const [i, { before, settled, after }] of times.entries()) {
      const run = await w.running(session, `billing:${i}`, { wakeAt: before })
      await w.store.settle([settlement(run, w.now, { wakeAt: settled })])
      assert.equal((await w.read(`billing:${i}`)).header.wakeAt, after, `case ${i}`)
    }
  },

  'where runs wait, a settlement makes the job due now': async (w) => {
    const session = await w.begin()
    const waiting = { schedule: 0, manual: 0, backlog: 1 }
    const run = await w.running(session, 'billing:a', { wakeAt: START + DAY, waiting })
    w.pass(SECOND)
    await w.store.settle([settlement(run, w.now, { wakeAt: START + 2 * DAY })])
    assert.equal((await w.read('billing:a')).header.wakeAt, w.now)
  },

  'what counts is how many runs wait by the last commit': async (w) => {
    const session = await w.begin()
    const none = { schedule: 0, manual: 0, backlog: 0 }
    for (const [i, lane] of (['schedule', 'manual', 'backlog'] as const).entries()) {
      const job = `billing:${i}`
      const run = await w.running(session, job, { wakeAt: START + DAY, waiting: none })
      await w.won(change(w.id('change'), await w.read(job), { head: { waiting: { ...none, [lane]: 1 } } }))
      await w.store.settle([settlement(run, w.now)])
      assert.equal((await w.read(job)).header.wakeAt, w.now, 'a run has come to wait')
    }
    const run = await w.running(session, 'billing:a', { wakeAt: START + DAY, waiting: { ...none, manual: 1 } })
    await w.won(change(w.id('change'), await w.read('billing:a'), { head: { waiting: none } }))
    await w.store.settle([settlement(run, w.now)])
    assert.equal((await w.read('billing:a')).header.wakeAt, START + DAY, 'none waits any more')
  },

  'the tally counts failures, and only grows in what succeeded and which token was seen': async (w) => {
    const session = await w.begin()
    const steps = [
      { failures: 'count', succeededUntil: null, tokenFloor: null },
      { failures: 'count', succeededUntil: START + 5, tokenFloor: 50 },
      { failures: 'keep', succeededUntil: START, tokenFloor: 40 },
      { failures: 'reset', succeededUntil: START + 9, tokenFloor: Number.MAX_SAFE_INTEGER },
    ] as const
    await w.job(
      'billing:a',
      {},
      steps.map((_, i) => queued('billing:a', `k${i}`, { position: i })),
    )
    const seen: unknown[] = []
    for (const [i, step] of steps.entries()) {
      await w.store.settle([settlement(await w.grant(session, 'billing:a', `k${i}`), w.now, step)])
      const { failures, succeededUntil, tokenFloor } = (await w.read('billing:a')).tally
      seen.push([failures, succeededUntil, tokenFloor])
    }
    assert.deepEqual(seen, [
      [1, null, 0],
      [2, START + 5, 50],
      [2, START + 5, 50],
      [0, START + 9, Number.MAX_SAFE_INTEGER],
    ])
  },

  'grants and a far pause are committed while the job is settled without end': async (w) => {
    const session = await w.begin()
    const far = await w.connect()
    const count = 2_000
    const runs = await manyRunning(w, session.id, 'billing:busy', count)
    const per = 10
    for (let done = 0; done < count; done += per) {
      const read = await w.read('billing:busy', far)
      const part = runs.slice(done, done + per)
      const settled = await w.store.settle(part.map((run) => settlement(run, w.now)))
      assert.ok(settled.every((result) => result === 'settled'))
      const pause = { since: w.now, until: null, by: 'ada', why: `after ${done}` }
      const far0 = await far.commit(session, w.now, [change(`pause${done}`, read, { head: { pause } })])
      assert.deepEqual(outcomes(far0), ['won'], `after ${done} settlements`)
    }
    const { tally, runs: left, header: head } = await w.read('billing:busy')
    assert.deepEqual([tally.settled, left.length, head.wakeAt], [count, 0, w.now])
  },

  'settlements of one job over several connections at once are all counted': async (w) => {
    const session = await w.begin()
    const stores = [w.store, await w.connect(), await w.connect()]
    const runs = await manyRunning(w, session.id, 'billing:busy', 60)
    const results = await Promise.all(
      runs.map((run, i) =>
        (stores[i % stores.length] ?? w.store).settle([settlement(run, w.now, { failures: 'count' })]),
      ),
    )
    assert.ok(results.flat().every((result) => result === 'settled'))
    assert.deepEqual((await w.read('billing:busy')).tally.settled, 60)
    assert.deepEqual((await w.read('billing:busy')).tally.failures, 60)
  },
}

/** A job with many running runs of one session, made in two commits. */
async function manyRunning(w: World, session: string, job: string, count: number): Promise<Run[]> {
  const waiting = Array.from({ length: count }, (_, i) => queued(job, `k${i}`, { position: i }))
  const read = await w.job(job, header(job), waiting)
  const runs = waiting.map((run, i) => granted(run, { session, attemptId: `many.${i}`, token: i + 1, at: w.now }))
  await w.won(change('many', read, { runs: runs.map((run, i) => over(waiting[i] ?? run, run)) }))
  return runs
}
