import assert from 'node:assert/strict'
import { change, DAY, fresh, granted, HOUR, hello, LEASE_MS, over, queued, SECOND, SERVICE, START } from './builders.js'
import { type Cases, outcomes } from './world.js'

/** When a session is alive, by the store's clock alone, and what its end means for a commit. */
export const SESSIONS: Cases = {
  'a session that the store does not know is not alive, and is told nothing': async (w) => {
    await w.job('billing:a', { wakeAt: START })
    const { incarnation } = await w.attend(await w.begin())
    assert.deepEqual(await w.attend({ id: 'unknown', node: 'n', leaseMs: LEASE_MS }), {
      now: w.now,
      alive: false,
      jobs: [],
      unreadable: [],
      ended: new Map(),
      after: null,
      nextWakeAt: null,
      nextOtherWakeAt: null,
      nextEndAt: null,
      incarnation,
    })
    assert.equal((await w.store.load({ nodes: true })).nodes.length, 2)
  },

  'a load gives the nodes seen within the last 90 s, so that a thousand old ones cost nothing': async (w) => {
    const [old, other] = [await w.begin(), await w.begin()]
    w.pass(90 * SECOND)
    await w.beat(other)
    const listed = async () => (await w.store.load({ nodes: true })).nodes.map((node) => node.session)
    assert.deepEqual(await listed(), [old.id, other.id])
    w.pass(1)
    assert.deepEqual(await listed(), [other.id])
    assert.deepEqual((await w.store.load({})).nodes, [])
  },

  'a session begins with what its node says of itself, and each renewal counts from the store’s now': async (w) => {
    const said = hello({
      manifest: { 'billing:a': 'hash-1' },
      release: 'v1',
      attends: false,
      services: [SERVICE, 'mail'],
    })
    const session = { id: 's', node: 'n', leaseMs: LEASE_MS }
    assert.equal((await w.attend(session, { hello: said })).alive, true)
    const row = { session: 's', node: 'n', hello: said, room: true, startedAt: START, endedAt: null }
    const nodes = async () => (await w.store.load({ nodes: true })).nodes
    assert.deepEqual(await nodes(), [{ ...row, seenAt: START, leaseEnd: START + LEASE_MS }])
    w.pass(SECOND)
    await w.attend(session)
    assert.deepEqual(await nodes(), [{ ...row, seenAt: w.now, leaseEnd: w.now + LEASE_MS }])
    w.pass(SECOND)
    await w.beat(session, { room: false })
    assert.deepEqual(await nodes(), [{ ...row, room: false, seenAt: w.now, leaseEnd: w.now + LEASE_MS }])
    const anew = hello({ manifest: { 'billing:a': 'hash-2' }, release: 'v2' })
    await w.attend(session, { hello: anew })
    assert.deepEqual((await nodes())[0]?.hello, anew)
    assert.equal((await nodes())[0]?.startedAt, START)
  },

  'a session that holds a run is alive until its lease has passed, and then ended for good': async (w) => {
    const session = await w.begin()
    await w.running(session, 'billing:a')
    w.pass(LEASE_MS)
    assert.equal((await w.attend(session)).alive, true, 'alive at the last instant of its lease')
    w.pass(LEASE_MS + 1)
    assert.equal((await w.attend(session)).alive, false, 'run out an instant later')
    assert.equal((await w.attend(session, { hello: hello() })).alive, false, 'a greeting does not revive it')
    assert.equal((await w.beat(session)).alive, false, 'nor does a beat')
    const [row] = (await w.store.load({ nodes: true })).nodes.filter((node) => node.session === session.id)
    assert.deepEqual([row?.endedAt, row?.leaseEnd], [w.now, w.now - 1])
    w.clock.now = START
    assert.equal((await w.attend(session)).alive, false, 'nor does a clock that is set back')
  },

  'a beat after the lease has passed renews nothing: the run can be recovered': async (w) => {
    const [lost, other] = [await w.begin(), await w.begin()]
    await w.running(lost, 'billing:a')
    w.pass(LEASE_MS + 1)
    const reply = await w.beat(lost)
    assert.deepEqual([reply.alive, reply.known], [false, true])
    const { ended } = await w.attend(other)
    assert.deepEqual([...ended.keys()], [lost.id])
  },

  'a beat renews: nobody recovers from a node that beats': async (w) => {
    const [session, other] = [await w.begin(), await w.begin()]
    const run = await w.running(session, 'billing:a')
    for (let i = 0; i < 5; i++) {
      w.pass(LEASE_MS - 1)
      assert.equal((await w.beat(session, { attempts: [run.attemptId ?? ''] })).alive, true)
      const { jobs, ended } = await w.attend(other)
      assert.deepEqual([jobs.length, ended.size], [0, 0])
    }
  },

  'a session that holds no run does not run out': async (w) => {
    const session = await w.begin()
    await w.job('billing:a', {}, [queued('billing:a', 'k')])
    w.pass(DAY)
    assert.equal((await w.beat(session)).alive, true)
    w.pass(DAY)
    assert.equal((await w.attend(session)).alive, true)
    w.pass(DAY)
    await w.attend(await w.begin())
    assert.equal(
      (await w.store.load({ nodes: true })).nodes.some((node) => node.endedAt !== null),
      false,
    )
    assert.deepEqual(outcomes(await w.commit(session, change('c1', await w.read('billing:a')))), ['won'])
  },

  'a beat ends its session: the runs that it still holds are there to recover at once': async (w) => {
    const [leaving, other] = [await w.begin(), await w.begin()]
    await w.running(leaving, 'billing:a')
    await w.beat(leaving, { end: true })
    assert.equal((await w.beat(leaving)).alive, false)
    const { jobs, ended } = await w.attend(other)
    assert.deepEqual(
      jobs.map((job) => job.header.job),
      ['billing:a'],
    )
    assert.equal(ended.get(leaving.id)?.endedAt, w.now)
    assert.deepEqual(outcomes(await w.commit(leaving, change('c1', await w.read('billing:a')))), 'expired')
  },

  'the first attendance marks what ran out, and tells whose it was': async (w) => {
    const [lost, kept, other] = [await w.begin({ node: 'lost' }), await w.begin(), await w.begin()]
    await w.running(lost, 'billing:a')
    await w.running(kept, 'billing:b')
    w.pass(SECOND)
    await w.beat(kept)
    w.pass(LEASE_MS - SECOND + 1)
    const seen = await w.attend(other)
    assert.deepEqual(
      seen.jobs.map((job) => job.header.job),
      ['billing:a'],
    )
    assert.deepEqual(
      [...seen.ended.values()],
      [{ session: lost.id, node: 'lost', leaseEnd: START + LEASE_MS, endedAt: w.now, returned: false }],
    )
    const markedAt = w.now
    w.pass(SECOND)
    const again = await w.attend(other)
    assert.equal(again.ended.get(lost.id)?.endedAt, markedAt, 'the mark stays as it is')
  },

  'a node that has begun another session since is told apart, whatever the clock did': async (w) => {
    const lost = await w.begin({ node: 'back' })
    const other = await w.begin()
    await w.running(lost, 'billing:a')
    w.pass(LEASE_MS + 1)
    assert.equal((await w.attend(other)).ended.get(lost.id)?.returned, false)
    w.clock.now = START - HOUR
    await w.begin({ node: 'back' })
    w.clock.now = START + LEASE_MS + 2
    assert.equal((await w.attend(other)).ended.get(lost.id)?.returned, true)
  },

  'an earlier session of a node does not count as its return': async (w) => {
    await w.begin({ node: 'twice' })
    const lost = await w.begin({ node: 'twice' })
    const other = await w.begin()
    await w.running(lost, 'billing:a')
    w.pass(LEASE_MS + 1)
    assert.equal((await w.attend(other)).ended.get(lost.id)?.returned, false)
  },

  'a run of an ended session is found under any hand until it is recovered': async (w) => {
    const [lost, other] = [await w.begin(), await w.begin()]
    const run = await w.running(lost, 'billing:a')
    w.pass(LEASE_MS + 1)
    await w.attend(other)
    const third = await w.begin()
    assert.deepEqual(
      (await w.attend(third, { buckets: new Set() })).jobs.map((job) => job.header.job),
      ['billing:a'],
    )
    const taken = granted(run, { session: third.id, attemptId: 'again.1', token: run.token + 1, at: w.now })
    const recovery = change('again', await w.read('billing:a'), { runs: [over(run, taken)] })
    assert.deepEqual(outcomes(await w.commit(third, recovery)), ['won'])
    assert.deepEqual((await w.attend(other)).jobs, [])
  },

  'jobs of other services are not recovered here': async (w) => {
    const [lost, other] = [await w.begin(), await w.begin()]
    await w.running(lost, 'mail:a', { service: 'mail' })
    w.pass(LEASE_MS + 1)
    assert.deepEqual((await w.attend(other)).jobs, [])
    assert.equal((await w.attend(other, { services: ['mail', SERVICE] })).jobs.length, 1)
  },

  'a beat that ends a session whose lease has passed marks it at once': async (w) => {
    const [lost, other] = [await w.begin(), await w.begin()]
    await w.running(lost, 'billing:a')
    w.pass(LEASE_MS + 1)
    assert.equal((await w.beat(lost, { end: true })).alive, false)
    const markedAt = w.now
    w.pass(SECOND)
    await w.beat(lost, { end: true })
    const { ended } = await w.attend(other)
    assert.equal(ended.get(lost.id)?.endedAt, markedAt, 'the first mark stays as it is')
  },

  'the next end is the earliest lease end of another session that holds runs': async (w) => {
    const [first, second, idle] = [await w.begin(), await w.begin(), await w.begin()]
    assert.equal((await w.attend(idle)).nextEndAt, null)
    await w.running(first, 'billing:a')
    w.pass(SECOND)
    await w.beat(second)
    await w.running(second, 'billing:b')
    const ends = { first: START + LEASE_MS, second: w.now + LEASE_MS }
    assert.equal((await w.attend(idle)).nextEndAt, ends.first)
    assert.equal((await w.beat(idle)).nextEndAt, ends.first)
    await w.beat(first, { end: true })
    assert.equal((await w.attend(idle)).nextEndAt, ends.second, 'not that of an ended one')
    const short = await w.begin({ leaseMs: SECOND })
    await w.running(short, 'billing:c')
    assert.equal((await w.beat(short)).nextEndAt, ends.second, 'not its own')
    assert.equal((await w.attend(short)).nextEndAt, ends.second, 'not its own')
    assert.equal((await w.attend(idle)).nextEndAt, w.now + SECOND)
  },
}

/** A commit that comes too late, or from a session that is not alive, is dead for certain. */
export const EXPIRY: Cases = {
  'a commit is in time until a tenth of the lease has passed since the reading': async (w) => {
    const session = await w.begin()
    const read = await w.job('billing:a')
    const before = w.now
    w.pass(LEASE_MS / 10)
    const inTime = change('c1', read)
    assert.deepEqual(outcomes(await w.store.commit(session, before, [inTime])), ['won'])
    w.pass(1)
    const late = change('c2', await w.read('billing:a'), { runs: [fresh(queued('billing:a', 'k'))] })
    assert.deepEqual(await w.store.commit(session, before, [late]), { expired: true, now: w.now })
    assert.equal(await w.run('billing:a', 'k'), undefined)
    assert.equal((await w.read('billing:a')).version, 'c1')
  },

  'a commit of a session that is unknown, ended or run out is expired as a whole': async (w) => {
    const [ended, outrun] = [await w.begin(), await w.begin()]
    await w.running(outrun, 'billing:a')
    const target = await w.job('billing:b')
    await w.beat(ended, { end: true })
    w.pass(LEASE_MS + 1)
    const unknown = { id: 'unknown', node: 'n', leaseMs: LEASE_MS }
    for (const [i, session] of [ended, outrun, unknown].entries()) {
      const changes = [change(`c${i}`, target), change(`d${i}`, await w.read('billing:a'))]
      assert.deepEqual(await w.commit(session, ...changes), { expired: true, now: w.now })
    }
    assert.deepEqual(await w.read('billing:b'), target)
  },

  'a session that ran out stays out for its commits when the store’s clock is set back after the mark': async (w) => {
    const [session, other] = [await w.begin(), await w.begin()]
    await w.running(session, 'billing:a')
    w.pass(LEASE_MS + 1)
    await w.attend(other)
    w.clock.now = START
    assert.deepEqual(outcomes(await w.commit(session, change('c1', await w.read('billing:a')))), 'expired')
  },

  'a commit of a change that was applied before is expired too, once it is late': async (w) => {
    const session = await w.begin()
    const read = await w.job('billing:a')
    const before = w.now
    await w.commit(session, change('c1', read))
    w.pass(LEASE_MS)
    assert.deepEqual(await w.store.commit(session, before, [change('c1', read)]), { expired: true, now: w.now })
  },
}
