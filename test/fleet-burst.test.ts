import { describe, expect, it } from 'vitest'
import { count, FleetWorld, job } from './fleet/world.js'

describe('a thousand jobs due at one instant', () => {
  it('are started by three nodes within a few round trips, each once, without racing each other', async () => {
    const world = new FleetWorld()
    const starts: number[] = []
    const jobs = Array.from({ length: 1_000 }, (_, i) =>
      job(`job-${i}`, (run) => starts.push(world.clock.now - run.scheduledAt.getTime())),
    )
    const nodes = ['a', 'b', 'c'].map((name) => world.node(name, jobs, { options: { maxRuns: 1_000 } }))
    await world.started(...nodes)
    await world.until(12_000)
    await world.until(29_000)
    const before = nodes.map((node) => node.calls.length)
    await world.until(32_000)
    expect(starts).toHaveLength(1_000)
    expect(Math.max(...starts)).toBeLessThanOrEqual(20)
    expect(
      (await world.store.runs({ limit: 2_000 })).every(({ state, attempt }) => state === 'succeeded' && attempt === 1),
    ).toBe(true)
    for (const node of nodes) expect(count(node, 'load', 29_000)).toBe(0)
    const calls = nodes.map((node, i) => node.calls.length - (before[i] ?? 0))
    // Two pages each of attend, commit and settle, a beat, and the looks that follow.
    expect(Math.max(...calls)).toBeLessThanOrEqual(20)
  })
})
