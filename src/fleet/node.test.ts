import { describe, expect, it } from 'vitest'
import { createMemoryStore } from '../store/memory/index.js'
import { VirtualClock } from '../testing/clock.js'
import { createNode, type HostedJob } from './node.js'
import type { Run } from './run.js'

const START = Date.UTC(2026, 10, 29, 12, 0, 0)

function job(name: string, handler: (run: Run) => unknown): HostedJob {
  return {
    id: name,
    name,
    zoneDefaulted: false,
    handler: handler as never,
    definition: {
      schedule: { cron: '* * * * *', timeZone: 'UTC', dstGap: 'next' },
      concurrency: 1,
      queue: 100,
      overlap: 'skip',
      catchUp: { policy: 'merge', withinMs: null, most: 100 },
      retry: { limit: 0, delayMs: 0, factor: 2, maxDelayMs: 3_600_000 },
      recover: 3,
      timeoutMs: null,
      pauseAfter: null,
      graceMs: 60_000,
      fence: true,
    },
  }
}

describe('a node', () => {
  it('runs each occurrence once', async () => {
    const world = new VirtualClock(START)
    const store = createMemoryStore({ now: () => world.now })
    const seen: string[] = []
    const nodes = ['a', 'b', 'c'].map((name) =>
      createNode({
        fleet: 'test',
        service: 'app',
        label: name,
        store,
        clock: world.process(name),
        jobs: [job('minute', (run) => seen.push(`${run.key} ${run.node}`))],
      }),
    )
    for (const node of nodes) void node.start()
    await world.run(START + 5 * 60_000 + 500)
    expect(seen.map((line) => line.slice(0, 16))).toEqual([1, 2, 3, 4, 5].map((m) => `2026-11-29T12:0${m}`))
    const runs = await store.runs({ limit: 10 })
    expect(runs.map((run) => run.state)).toEqual(Array(5).fill('succeeded'))
    for (const node of nodes) void node.stop()
    await world.run(START + 5 * 60_000 + 1500)
    expect(nodes.map((node) => node.health().state)).toEqual(['stopped', 'stopped', 'stopped'])
  })
})
