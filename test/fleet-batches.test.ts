import { describe, expect, it } from 'vitest'
import type { Store } from '../src/store/port.js'
import { FleetWorld, job } from './fleet/world.js'

describe('a backlog of many jobs', () => {
  it('is committed in batches of at most 1,000 rows, and decided once', async () => {
    const world = new FleetWorld()
    const jobs = Array.from({ length: 24 }, (_, i) =>
      job(`job-${i}`, () => undefined, { catchUp: { policy: 'each', withinMs: 86_400_000, most: 100 }, graceMs: 0 }),
    )
    const a = world.node('a', jobs)
    await world.started(a)
    void a.node.stop()
    await world.until(3 * 3_600_000)
    const sizes: number[] = []
    const commit: Store['commit'] = (session, now, changes) => {
      sizes.push(changes.reduce((sum, change) => sum + 1 + change.runs.length, 0))
      return world.store.commit(session, now, changes)
    }
    const b = world.node('b', jobs, { options: { store: { ...world.store, commit } } })
    await world.started(b)
    expect(Math.max(...sizes)).toBeLessThanOrEqual(1_000)
    expect(sizes.filter((size) => size > 900).length).toBeGreaterThanOrEqual(2)
    const runs = await world.store.runs({ limit: 100_000 })
    expect(runs.filter((run) => run.cause === 'catch-up')).toHaveLength(24 * 100)
    expect(new Set(runs.map((run) => `${run.job} ${run.key}`)).size).toBe(runs.length)
  })

  it('goes on with what is left when its commits take long', async () => {
    const world = new FleetWorld()
    const jobs = Array.from({ length: 30 }, (_, i) =>
      job(`job-${i}`, () => undefined, { catchUp: { policy: 'each', withinMs: 86_400_000, most: 100 }, graceMs: 0 }),
    )
    const a = world.node('a', jobs)
    await world.started(a)
    void a.node.stop()
    await world.until(3 * 3_600_000)
    const b = world.node('b', jobs)
    // Each commit takes 400 ms on its way back: of a lease of 10 s a second is a commit's time.
    b.fate = (call) => (call === 'commit' ? { replyMs: 400 } : null)
    await world.started(b)
    await world.pass(25_000)
    const runs = await world.store.runs({ limit: 100_000 })
    expect(runs.filter((run) => run.cause === 'catch-up')).toHaveLength(30 * 100)
    expect(b.node.health().parked).toEqual([])
  })
})
