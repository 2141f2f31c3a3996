import { describe, expect, it } from 'vitest'
import type { NodeOptions } from '../src/fleet/node.js'
import type { PruneQuery, Store } from '../src/store/port.js'
import { count, FleetWorld, job, type TestNode } from './fleet/world.js'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** A fleet with an hourly job, whose nodes keep what has ended for a day. */
function fleet(names: readonly string[], options: Partial<NodeOptions> = {}) {
  const world = new FleetWorld()
  const hourly = { schedule: { cron: '0 * * * *', timeZone: 'UTC', dstGap: 'next' } } as const
  const jobs = [job('hourly', () => undefined, hourly)]
  const nodes = names.map((name) => world.node(name, jobs, { options: { retentionMs: DAY, ...options } }))
  return { world, nodes, first: nodes[0] as TestNode }
}

/** A node whose store answers to pruning as it is told, without a network in between. */
function fleetThatPrunes(retentionMs: number | null, answer: (query: PruneQuery) => number) {
  const { world } = fleet([])
  const asked: (PruneQuery & { readonly at: number })[] = []
  const prune: Store['prune'] = async (query) => {
    asked.push({ ...query, at: world.clock.elapsed })
    return answer(query)
  }
  const a = world.node('a', [], { options: { retentionMs, store: { ...world.store, prune } } })
  return { world, a, asked }
}

function prunes(node: TestNode): number[] {
  return node.calls.filter(({ call }) => call === 'prune').map(({ at }) => at)
}

describe('retention', () => {
  it('removes what is older once an hour, by one node, and repeats no occurrence', async () => {
    const { world, nodes } = fleet(['a', 'b'])
    await world.started(...nodes)
    await world.until(40 * HOUR)
    const [busy, idle] = nodes.map((node) => prunes(node).length).sort((a, b) => b - a)
    expect([busy, idle]).toEqual([expect.toSatisfy((times: number) => times === 39 || times === 40), 0])
    const rows = await world.runs()
    expect(Math.min(...rows.map((run) => run.createdAt))).toBeGreaterThan(world.clock.now - DAY - 2 * HOUR)
    expect(rows.length).toBeLessThan(27)
    expect(new Set(rows.map((run) => run.key)).size).toBe(rows.length)
    expect(new Set(rows.map((run) => `${run.state}/${run.attempt}`))).toEqual(new Set(['succeeded/1']))
  })

  it('begins within an hour of the start, not at once', async () => {
    for (let fleets = 0; fleets < 5; fleets++) {
      const { world, first } = fleet(['a'])
      await world.started(first)
      await world.until(HOUR + MINUTE)
      const [at = 0, ...more] = prunes(first)
      expect(at).toBeGreaterThan(4 * MINUTE)
      expect(more.length).toBe(0)
    }
  })

  it('is taken over by another node when the one has gone', async () => {
    const { world, nodes } = fleet(['a', 'b'])
    await world.started(...nodes)
    await world.until(2 * HOUR)
    const one = nodes.find((node) => prunes(node).length > 0) as TestNode
    const other = nodes.find((node) => node !== one) as TestNode
    void one.node.stop()
    await world.until(4 * HOUR)
    expect(prunes(other).length).toBeGreaterThanOrEqual(1)
  })

  it('works a backlog off in batches, with rests between them', async () => {
    let left = 1_234
    const { world, a, asked } = fleetThatPrunes(DAY, ({ limit }) => {
      const rows = Math.min(left, limit)
      left -= rows
      return rows
    })
    const told: number[] = []
    a.node.events.on('pruned', ({ rows }) => void told.push(rows))
    await world.started(a)
    await world.until(HOUR + MINUTE)
    const [first = 0, second = 0, third = 0, ...more] = asked.map(({ at }) => at)
    expect(more).toEqual([])
    expect(Math.min(second - first, third - second)).toBeGreaterThanOrEqual(1_000)
    expect(told).toEqual([1_234])
  })

  it('leaves a store alone that is away, and goes on at the next hour', async () => {
    const { world, first } = fleet(['a'])
    await world.started(first)
    await world.until(MINUTE)
    first.fate = () => ({ refused: true })
    await world.until(2 * HOUR)
    expect(prunes(first)).toEqual([])
    first.fate = () => null
    await world.until(4 * HOUR)
    expect(prunes(first).length).toBeGreaterThanOrEqual(1)
  })

  it('is not told of as an error of the node when the store refuses it once', async () => {
    const { world, first } = fleet(['a'])
    await world.started(first)
    first.fate = (call) => (call === 'prune' ? { lost: 'reply', deadlineMs: 40_000 } : null)
    await world.until(3 * HOUR)
    expect(count(first, 'prune')).toBeGreaterThanOrEqual(2)
    expect(first.node.health().state).toBe('running')
    expect((await world.rows('hourly')).length).toBe(3)
  })

  it('keeps the history for good where it is asked to, and only tidies up', async () => {
    const { world, a, asked } = fleetThatPrunes(null, () => 0)
    await world.started(a)
    await world.until(3 * HOUR)
    expect(asked.map(({ before }) => before)).toEqual([0, 0, 0].slice(0, asked.length))
    expect(asked.length).toBeGreaterThanOrEqual(2)
  })
})
