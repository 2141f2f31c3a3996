import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { count, FleetWorld, job, lasting, type TestNode } from './fleet/world.js'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

/** The store cannot be reached between two instants after the start of the world. */
function away(node: TestNode, from: number, to: number): void {
  node.fate = (_, at) => (at >= from && at < to ? { refused: true } : null)
}

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

function heapBytes(): number {
  collect()
  return process.memoryUsage().heapUsed
}

describe('a store that cannot be reached', () => {
  it('at the start is waited for, with growing pauses, and the node starts by itself', async () => {
    const world = new FleetWorld()
    const a = world.node('a', [job('it', () => undefined)])
    away(a, 0, HOUR)
    let started = false
    void a.node.start().then(() => {
      started = true
    })
    await world.until(HOUR - MINUTE)
    const { ready, state, store } = a.node.health()
    expect([ready, state, started]).toEqual([false, 'starting', false])
    expect(store.awayMs).toBeGreaterThan(HOUR - 2 * MINUTE)
    expect(store.error).toContain('nobody listens')
    expect(count(a, 'open')).toBeLessThan(HOUR / 5_000)
    await world.until(HOUR + 12_000)
    expect([started, a.node.health().ready, a.node.health().store.awayMs]).toEqual([true, true, null])
    await world.until(HOUR + 5 * MINUTE)
    // It was not defined before: nothing of the outage is due.
    expect((await world.rows('it')).length).toBe(5)
  })

  it('for an hour costs few attempts and no memory, and every occurrence of it is decided afterwards', async () => {
    const world = new FleetWorld()
    const nodes = ['a', 'b'].map((name) => world.node(name, [job('it', () => undefined)]))
    await world.started(...nodes)
    await world.until(5 * MINUTE)
    for (const node of nodes) away(node, 5 * MINUTE, 65 * MINUTE + 30_000)
    await world.until(15 * MINUTE)
    const before = { heap: heapBytes(), waiting: world.clock.pending }
    await world.until(65 * MINUTE)
    const after = { heap: heapBytes(), waiting: world.clock.pending }
    expect(after.heap - before.heap).toBeLessThan(2_000_000)
    expect(after.waiting - before.waiting).toBeLessThan(20)
    for (const node of nodes) {
      const calls = node.calls.filter(({ at }) => at >= 15 * MINUTE && at < 65 * MINUTE)
      // A look every 2.5 to 5 s, and a beat: nothing spins, and what comes back is noticed within seconds.
      expect(calls.length).toBeLessThan((50 * MINUTE) / 1_250)
      expect(calls.length).toBeGreaterThan((50 * MINUTE) / 10_000)
      expect(node.node.health().store.awayMs).toBeGreaterThan(59 * MINUTE)
      expect(node.lines.filter((line) => line.includes('the store is away'))).toHaveLength(1)
    }
    const [first, second] = nodes.map(
      (node) => new Set(node.calls.filter(({ at }) => at > 15 * MINUTE).map(({ at }) => at)),
    )
    const together = [...(first ?? [])].filter((at) => second?.has(at))
    expect(together.length).toBeLessThan(20)
    await world.until(67 * MINUTE)
    const rows = await world.store.runs({ limit: 1_000 })
    const decided = rows.reduce((sum, run) => sum + (run.covers?.count ?? 0), 0)
    expect(decided).toBe(67)
    expect(rows.filter((run) => run.state !== 'succeeded' && run.state !== 'missed')).toEqual([])
    expect(nodes.map((node) => node.node.health().store.awayMs)).toEqual([null, null])
  })

  it('while a handler runs: what it did is kept, and settled when it can be', async () => {
    const world = new FleetWorld()
    const ended: string[] = []
    const a: TestNode = world.node('a', [
      job('it', async (run) => {
        await lasting(() => a.process, 8_000)(run)
        ended.push(run.key)
        return 'done'
      }),
    ])
    a.node.events.on('run-settled', ({ result }) => void ended.push(result))
    await world.started(a)
    away(a, 32_000, 20 * MINUTE)
    await world.until(19 * MINUTE)
    expect(ended).toEqual(['2026-11-29T12:01Z'])
    expect(a.node.health().unsettled).toBe(1)
    expect(count(a, 'settle', 10 * MINUTE, 15 * MINUTE)).toBeLessThan((5 * MINUTE) / 2_500 + 1)
    await world.until(21 * MINUTE)
    // Nobody else was there to mark its session as ended: it counts, and is not repeated.
    expect(ended.slice(0, 2)).toEqual(['2026-11-29T12:01Z', 'settled'])
    const [run] = (await world.runs('it')).filter(({ key }) => key === '2026-11-29T12:01Z')
    expect([run?.state, run?.attempt, run?.result]).toEqual(['succeeded', 1, '"done"'])
    expect(a.node.health().unsettled).toBe(0)
  })

  it('at the settling of a hundred runs keeps a hundred outcomes, and no more', async () => {
    const world = new FleetWorld()
    const many = Array.from({ length: 100 }, (_, i) => job(`job-${i}`, () => undefined))
    const a = world.node('a', many)
    await world.started(a)
    a.fate = (call, at) => (call === 'settle' && at < 20 * MINUTE ? { refused: true } : null)
    await world.until(19 * MINUTE)
    expect(a.node.health().unsettled).toBe(100)
    await world.until(22 * MINUTE)
    expect(a.node.health().unsettled).toBe(0)
    const runs = await world.store.runs({ limit: 10_000 })
    expect(runs.filter((run) => run.state === 'running' || run.state === 'queued')).toEqual([])
  })
})
