import assert from 'node:assert/strict'
import { buckets, change, DAY, granted, hello, LEASE_MS, over, SECOND, SERVICE, START, settlement } from './builders.js'
import type { Cases } from './world.js'

/** What a beat compares, and what it tells to wait for. */
export const BEAT: Cases = {
  'runs are compared both ways: what is running here, and what the ledger says': async (w) => {
    const [session, other] = [await w.begin(), await w.begin()]
    const mine = await w.running(session, 'billing:a')
    const stray = await w.running(session, 'billing:b')
    const foreign = await w.running(other, 'billing:c')
    const attempts = [mine, foreign].map((run) => run.attemptId ?? '').concat('never.1')
    const { alive, known, gone, strays, now } = await w.beat(session, { attempts })
    assert.deepEqual([alive, known, now], [true, true, w.now])
    assert.deepEqual(gone, [
      { attemptId: foreign.attemptId, stop: null },
      { attemptId: 'never.1', stop: null },
    ])
    assert.deepEqual(strays, [stray])
  },

  'an attempt that was settled is gone': async (w) => {
    const session = await w.begin()
    const run = await w.running(session, 'billing:a')
    await w.store.settle([settlement(run, w.now)])
    const { gone, strays } = await w.beat(session, { attempts: [run.attemptId ?? ''] })
    assert.deepEqual([gone, strays], [[{ attemptId: run.attemptId, stop: null }], []])
  },

  'an attempt whose run was recovered is gone, and the run is no stray of its old session': async (w) => {
    const [lost, other] = [await w.begin(), await w.begin()]
    const run = await w.running(lost, 'billing:a')
    w.pass(LEASE_MS + 1)
    await w.attend(other)
    const again = granted(run, { session: other.id, attemptId: 'again.1', token: run.token + 1, at: w.now })
    await w.commit(other, change('again', await w.read('billing:a'), { runs: [over(run, again)] }))
    const old = await w.beat(lost, { attempts: [run.attemptId ?? ''] })
    assert.deepEqual([old.alive, old.known], [false, true])
    assert.deepEqual([old.gone, old.strays], [[{ attemptId: run.attemptId, stop: null }], []])
    assert.deepEqual((await w.beat(other, { attempts: ['again.1'] })).gone, [])
  },

  'an attempt of a session that ended is still its own until it is recovered': async (w) => {
    const [lost, other] = [await w.begin(), await w.begin()]
    const run = await w.running(lost, 'billing:a')
    w.pass(LEASE_MS + 1)
    await w.attend(other)
    assert.deepEqual((await w.beat(lost, { attempts: [run.attemptId ?? ''] })).gone, [])
  },

  'who asked a run to stop is told at every beat until it is settled': async (w) => {
    const session = await w.begin()
    const run = await w.running(session, 'billing:a')
    const stop = { kind: 'replace', at: w.now, by: 'schedule', why: null } as const
    await w.won(change('c1', await w.read('billing:a'), { runs: [over(run, { ...run, stop })] }))
    const attempts = [run.attemptId ?? '']
    for (let i = 0; i < 2; i++) {
      assert.deepEqual((await w.beat(session, { attempts })).gone, [{ attemptId: run.attemptId, stop }])
    }
    await w.store.settle([settlement(run, w.now)])
    assert.deepEqual((await w.beat(session, { attempts })).gone, [{ attemptId: run.attemptId, stop: null }])
  },

  'a session that the store does not know has lost all its attempts': async (w) => {
    const run = await w.running(await w.begin(), 'billing:a')
    const unknown = { id: 'unknown', node: 'n', leaseMs: LEASE_MS }
    const reply = await w.beat(unknown, { attempts: [run.attemptId ?? '', 'x.1'] })
    assert.deepEqual([reply.alive, reply.known, reply.strays], [false, false, []])
    assert.deepEqual(
      reply.gone.map((gone) => gone.attemptId),
      [run.attemptId, 'x.1'],
    )
    assert.equal(
      (await w.store.load({ nodes: true })).nodes.some((node) => node.session === 'unknown'),
      false,
    )
  },

  'a beat against settlements and a recovery at once: each run is either gone or settled, never both': async (w) => {
    const session = await w.begin()
    const other = await w.begin()
    const far = await w.connect()
    for (let i = 0; i < 20; i++) {
      const run = await w.running(session, `billing:${i}`)
      const stay = await w.running(session, `billing:stay${i}`)
      const attempts = [run, stay].map((each) => each.attemptId ?? '')
      const [reply, settled] = await Promise.all([
        w.beat(session, { attempts }),
        far.settle([settlement(run, w.now)]),
        w.attend(other, {}, far),
      ])
      assert.deepEqual(settled, ['settled'])
      const gone = reply.gone.map((each) => each.attemptId)
      assert.ok(gone.length === 0 || (gone.length === 1 && gone[0] === run.attemptId))
      assert.deepEqual(
        reply.strays.map((each) => each.job).filter((job) => !job.startsWith('billing:stay')),
        [],
      )
      assert.equal(reply.alive, true)
      assert.deepEqual((await w.beat(session, { attempts })).gone, [{ attemptId: run.attemptId, stop: null }])
    }
  },

  'the next wake-ups are told by bucket, past ones too, and of the services asked for': async (w) => {
    const session = await w.begin()
    const none = await w.beat(session)
    assert.deepEqual([none.nextWakeAt, none.nextOtherWakeAt], [null, null])
    await w.job('billing:mine', { bucket: 3, wakeAt: START - DAY })
    await w.job('billing:later', { bucket: 3, wakeAt: START + DAY })
    await w.job('billing:theirs', { bucket: 4, wakeAt: START + SECOND })
    await w.job('billing:never', { bucket: 4, wakeAt: null })
    await w.job('mail:a', { bucket: 3, service: 'mail', wakeAt: START - 2 * DAY })
    const ask = async (own: Set<number>, services = [SERVICE]) => {
      const { nextWakeAt, nextOtherWakeAt } = await w.beat(session, { buckets: own, services })
      return [nextWakeAt, nextOtherWakeAt]
    }
    assert.deepEqual(await ask(new Set([3])), [START - DAY, START + SECOND])
    assert.deepEqual(await ask(buckets(3)), [START + SECOND, START - DAY])
    assert.deepEqual(await ask(new Set()), [null, START - DAY])
    assert.deepEqual(await ask(buckets()), [START - DAY, null])
    assert.deepEqual(await ask(buckets(), [SERVICE, 'mail']), [START - 2 * DAY, null])
    assert.deepEqual(await ask(buckets(), []), [null, null])
  },

  'nodes are listed while they were seen within 90 s, ended ones too': async (w) => {
    const first = await w.begin({ node: 'n1', label: 'one#1' })
    w.pass(80 * SECOND)
    const second = await w.begin({ node: 'n2', label: 'two#2' })
    await w.beat(second, { room: false, end: true })
    const { nodes } = await w.beat(first, { room: false })
    const [a, b] = nodes
    assert.ok(a && b && nodes.length === 2)
    const said = { services: [SERVICE], attends: true, room: false, zoneData: '2026a' }
    const { manifestId: _, ...one } = a
    assert.deepEqual(one, { session: first.id, node: 'n1', label: 'one#1', ...said, seenAt: w.now, endedAt: null })
    assert.deepEqual([b.session, b.room, b.endedAt], [second.id, false, w.now])
    w.pass(90 * SECOND)
    assert.equal((await w.beat(first)).nodes.length, 2)
    w.pass(1)
    assert.deepEqual(
      (await w.beat(first)).nodes.map((node) => node.session),
      [first.id],
    )
  },

  'a manifest is known by a word that changes with its content only': async (w) => {
    const session = await w.begin()
    const word = async () => (await w.beat(session)).nodes[0]?.manifestId
    const said = async (manifest: Record<string, string>) => {
      await w.attend(session, { hello: hello({ manifest }) })
      return word()
    }
    const words = [await said({}), await said({ a: '1' }), await said({ a: '2' }), await said({ a: '2', b: '1' })]
    assert.equal(new Set(words).size, 4)
    await w.attend(session)
    assert.equal(await word(), words[3])
    assert.equal(await said({ a: '2', b: '1' }), words[3])
  },

  'attend, load, beat and opening tell the same incarnation': async (w) => {
    const session = await w.begin()
    const { incarnation } = await (await w.connect()).open()
    assert.ok(incarnation.length > 0)
    assert.equal((await w.beat(session)).incarnation, incarnation)
    assert.equal((await w.attend(session)).incarnation, incarnation)
    assert.equal((await w.beat({ ...session, id: 'unknown' })).incarnation, incarnation)
  },
}
