import { describe, expect, it } from 'vitest'
import type { Fate, StoreCall } from '../src/testing/faulty-store.js'
import { count, FleetWorld, job, START, type TestNode, untilSignal } from './fleet/world.js'

/** A node with one minute job; the first commit after 29 s (that of 12:01) meets `fate`. */
async function commitMeets(fate: Partial<Fate>, more: (node: TestNode, world: FleetWorld) => void = () => {}) {
  const world = new FleetWorld()
  const starts: { key: string; at: number }[] = []
  const a = world.node('a', [
    job('minute', (run) => {
      starts.push({ key: run.key.slice(11), at: world.clock.elapsed })
    }),
  ])
  await world.started(a)
  let met = false
  a.fate = (call, at) => {
    if (call !== 'commit' || at < 29_000 || met) return null
    met = true
    return fate
  }
  more(a, world)
  await world.until(55_000)
  return { world, a, starts }
}

describe('a commit of unknown outcome', () => {
  it('is read back and started once, when its reply was lost', async () => {
    const { world, a, starts } = await commitMeets({ lost: 'reply', deadlineMs: 2_000 })
    expect(starts.map(({ key }) => key)).toEqual(['12:01Z'])
    expect(starts[0]?.at).toBeGreaterThan(31_000)
    expect(await world.rows('minute')).toEqual(['12:01Z succeeded/1'])
    expect(count(a, 'load', 29_000)).toBeGreaterThanOrEqual(1)
  })

  it('is decided again when the request was lost', async () => {
    const { world, starts } = await commitMeets({ lost: 'request', deadlineMs: 2_000 })
    expect(starts.map(({ key }) => key)).toEqual(['12:01Z'])
    expect(await world.rows('minute')).toEqual(['12:01Z succeeded/1'])
  })

  it('is overtaken by a later decision, or overtakes it, when it is late within the tenth of the lease', async () => {
    const { world, starts } = await commitMeets({ requestMs: 900, deadlineMs: 100 })
    expect(starts).toHaveLength(1)
    expect(await world.rows('minute')).toEqual(['12:01Z succeeded/1'])
  })

  it('is refused by the store when it comes later than a tenth of the lease, and decided again (F24)', async () => {
    const { world, starts } = await commitMeets({ requestMs: 3_000, deadlineMs: 100 })
    expect(starts.map(({ key }) => key)).toEqual(['12:01Z'])
    expect(await world.rows('minute')).toEqual(['12:01Z succeeded/1'])
  })

  it('is applied once when its request comes twice', async () => {
    const { world, starts } = await commitMeets({ againMs: 400 })
    expect(starts.map(({ key }) => key)).toEqual(['12:01Z'])
    expect(await world.rows('minute')).toEqual(['12:01Z succeeded/1'])
  })

  it('comes back as a stray when it cannot be read back either, and is done on another attempt', async () => {
    const { world, a, starts } = await commitMeets({ lost: 'reply', deadlineMs: 1_000 }, (node) => {
      const before = node.fate
      let refusals = 0
      node.fate = (call, at) => {
        if (call !== 'load' || at < 29_000 || refusals === 3) return before(call, at)
        refusals += 1
        return { refused: true }
      }
    })
    await world.until(80_000)
    expect(starts.filter(({ key }) => key === '12:01Z')).toHaveLength(1)
    expect((await world.rows('minute'))[0]).toBe('12:01Z succeeded/2')
    expect(a.lines.some((line) => line.includes('never learned of'))).toBe(true)
    const [first] = (await world.runs('minute')).at(-1)?.attempts ?? []
    expect(first?.outcome).toBe('handed-back')
    // Beats 3.3 s apart: the first that shows it is not believed yet.
    expect(first?.endedAt).toBeGreaterThan(START + 36_000)
    expect(first?.endedAt).toBeLessThan(START + 38_000)
  })
})

describe('a commit in doubt while the clock of the store is set back', () => {
  it('is read back soon all the same', async () => {
    const { world, starts } = await commitMeets({ lost: 'reply', deadlineMs: 1_000 }, (node, there) => {
      const before = node.fate
      node.fate = (call, at) => {
        if (at > 30_500) there.storeOffsetMs = -120_000
        return before(call, at)
      }
    })
    expect(starts.map(({ key }) => key)).toEqual(['12:01Z'])
    expect(starts[0]?.at).toBeLessThan(40_000)
    expect(await world.rows('minute')).toEqual(['12:01Z succeeded/1'])
  })
})

describe('a grant', () => {
  it('is not used when belief has ended before its commit was answered', async () => {
    const world = new FleetWorld()
    const started: string[] = []
    const handler = job('minute', (run) => {
      started.push(run.node)
    })
    const [a, b] = [world.node('a', [handler]), world.node('b', [handler])]
    await world.started(a)
    a.fate = (call, at) => {
      if (at < 30_005 && call === 'attend') return null
      if (at < 29_000 || at > 50_000) return null
      return call === 'commit' ? { replyMs: 9_500 } : { refused: true }
    }
    await world.until(31_000)
    void b.node.start()
    await world.until(60_000)
    expect(started).toEqual(['b'])
    expect((await world.rows('minute'))[0]).toBe('12:01Z succeeded/2')
  })

  it('that the process slept through is not used', async () => {
    const world = new FleetWorld()
    const started: number[] = []
    const a = world.node('a', [job('minute', () => started.push(world.clock.elapsed))])
    await world.started(a)
    a.fate = (call, at) => (call === 'commit' && at > 29_000 && at < 31_000 ? { replyMs: 50 } : null)
    await world.until(30_020)
    a.process.suspend()
    await world.pass(20_000)
    a.process.resume()
    await world.until(75_000)
    expect(started).toHaveLength(1)
    expect(started[0]).toBeGreaterThan(50_000)
  })

  it('of an old session does not disturb the run of the new one', async () => {
    const world = new FleetWorld()
    const attempts: number[] = []
    const a = world.node('a', [
      job('long', (run) => {
        attempts.push(run.attempt)
        return untilSignal(run)
      }),
    ])
    await world.started(a)
    await world.until(31_000)
    a.fate = (call: StoreCall, at: number) => (at < 45_000 && call !== 'settle' ? { refused: true } : null)
    await world.until(70_000)
    expect(attempts).toEqual([1, 2])
    expect(a.node.health().running.map(({ attempt }) => attempt)).toEqual([2])
  })
})

describe('what a node runs and what the ledger says', () => {
  it('a run that the ledger gave away loses its signal at the next beat', async () => {
    const world = new FleetWorld()
    const fired: string[] = []
    const a = world.node('a', [
      job('long', (run) => {
        run.signal.addEventListener('abort', () => fired.push(run.signal.reason.why))
        return untilSignal(run)
      }),
    ])
    await world.started(a)
    await world.until(31_000)
    const snapshot = world.store.snapshot()
    await world.until(33_000)
    const [run] = await world.runs('long')
    if (run === undefined) throw new Error('there is no run')
    const { settleRun } = await import('../src/ledger/index.js')
    const { jobs } = await world.store.load({ jobs: ['app:long'] })
    const definition = jobs.get('app:long')?.definition
    if (definition === undefined) throw new Error('there is no job')
    await world.store.settle([settleRun(run, definition, { kind: 'returned', result: null }, world.clock.now)])
    await world.until(38_000)
    expect(fired).toEqual(['lost'])
    expect(snapshot).toBeDefined()
    // The handler threw its signal's reason; what it offers is no longer its to say.
    expect((await world.rows('long'))[0]).toBe('12:01Z succeeded/1')
  })

  it('an outcome whose settling is not answered is neither lost nor taken for a stray', async () => {
    const world = new FleetWorld()
    const calls: number[] = []
    const a = world.node('a', [job('minute', (run) => calls.push(run.attempt))])
    await world.started(a)
    a.fate = (call, at) => (call === 'settle' && at > 29_000 && at < 55_000 ? { refused: true } : null)
    await world.until(54_000)
    expect(a.node.health().unsettled).toBe(1)
    expect((await world.runs())[0]?.state).toBe('running')
    await world.until(60_000)
    expect(a.node.health().unsettled).toBe(0)
    expect(calls).toEqual([1])
    expect(await world.rows('minute')).toEqual(['12:01Z succeeded/1'])
  })

  it('an outcome survives the loss of its session, and counts if nobody recovered the run', async () => {
    const world = new FleetWorld()
    const calls: number[] = []
    const a = world.node('a', [job('minute', (run) => calls.push(run.attempt))])
    await world.started(a)
    a.fate = (_, at) => (at > 30_003 && at < 58_000 ? { refused: true } : null)
    await world.until(59_500)
    const [run] = await world.runs('minute')
    // Settled late, or recovered by the new session first: one of both, and the work was called as often as the row says.
    expect(run?.state).toBe('succeeded')
    expect(calls).toHaveLength(run?.attempt ?? 0)
  })

  it('a store restored to an earlier state gives the runs back', async () => {
    const world = new FleetWorld()
    const calls: string[] = []
    const a = world.node('a', [job('minute', (run) => calls.push(run.key.slice(11)))])
    const empty = world.store.snapshot()
    await world.started(a)
    await world.until(40_000)
    world.store.restore(empty)
    await world.until(160_000)
    expect(calls).toEqual(['12:01Z', '12:02Z', '12:03Z'])
    expect(a.node.health().ready).toBe(true)
  })

  it('a store set back to before its jobs were defined, with sessions that live on, is told of them again', async () => {
    const world = new FleetWorld()
    const calls: string[] = []
    const a = world.node('a', [job('minute', (run) => calls.push(run.key.slice(11)))])
    await world.started(a)
    await world.until(40_000)
    const { tables } = world.store.snapshot()
    world.store.restore({ tables: { ...tables, jobs: [], events: [] } })
    world.storeOffsetMs = -2_000
    await world.until(160_000)
    expect(calls).toEqual(['12:01Z', '12:02Z', '12:03Z'])
    expect(world.store.sessions()).toHaveLength(1)
  })

  it('a wiped store is noticed, told, and filled again from code (F56)', async () => {
    const world = new FleetWorld()
    const calls: string[] = []
    const a = world.node('a', [job('minute', (run) => calls.push(run.key.slice(11)))])
    await world.started(a)
    const replaced = a.node.events.once('store-replaced')
    await world.until(40_000)
    world.store.wipe()
    await world.until(160_000)
    expect((await replaced).before).not.toBe((await replaced).after)
    expect(calls).toEqual(['12:01Z', '12:02Z', '12:03Z'])
    expect(a.lines.some((line) => line.includes('the store is another one'))).toBe(true)
  })
})
