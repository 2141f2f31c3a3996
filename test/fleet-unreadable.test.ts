import { describe, expect, it } from 'vitest'
import type { Store } from '../src/store/port.js'
import { FleetWorld, job } from './fleet/world.js'

/** A store in which some jobs cannot be read, as a store says it whose rows were spoilt. */
function spoilt(inner: Store, reasons: ReadonlyMap<string, string>): Store {
  const named = (jobs: readonly string[]) => jobs.filter((name) => reasons.has(name)).map(unreadable)
  const unreadable = (name: string) => ({ job: name, why: reasons.get(name) ?? '' })
  return {
    ...inner,
    attend: async (session, query) => {
      const seen = await inner.attend(session, query)
      const jobs = seen.jobs.filter(({ header }) => !reasons.has(header.job))
      return { ...seen, jobs, unreadable: named(seen.jobs.map(({ header }) => header.job)) }
    },
    load: async (query) => {
      const loaded = await inner.load(query)
      const jobs = new Map([...loaded.jobs].filter(([name]) => !reasons.has(name)))
      return { ...loaded, jobs, unreadable: named([...loaded.jobs.keys()]) }
    },
  }
}

function nodeThatMeets(reasons: ReadonlyMap<string, string>) {
  const world = new FleetWorld()
  const told: string[] = []
  let looks = 0
  const store = spoilt(world.store, reasons)
  const attend: Store['attend'] = (...args) => {
    looks += 1
    return store.attend(...args)
  }
  const jobs = ['bad', 'good'].map((name) => job(name, () => undefined))
  const a = world.node('a', jobs, { options: { store: { ...store, attend } } })
  a.node.events.on('job-unreadable', ({ job: name, why }) => void told.push(`${name}: ${why}`))
  return { world, a, told, looks: () => looks }
}

describe('a job whose rows cannot be read', () => {
  it('is left alone and told once for each reason, while the others go on', async () => {
    const reasons = new Map<string, string>()
    const { world, a, told, looks } = nodeThatMeets(reasons)
    await world.started(a)
    await world.until(60_000)
    reasons.set('app:bad', 'its header is not JSON')
    const before = looks()
    await world.until(6 * 60_000)
    expect(told).toEqual(['app:bad: its header is not JSON'])
    expect(a.node.health().parked).toEqual([{ job: 'app:bad', error: 'its header is not JSON' }])
    expect(a.lines.filter((line) => line.includes('cannot be read'))).toHaveLength(1)
    expect(await world.rows('good')).toHaveLength(6)
    expect(await world.rows('bad')).toHaveLength(1)
    // Its own occurrences and ends, and one look at each beat that shows what is due: it does not spin.
    expect(looks() - before).toBeLessThan(5 * (2 + 6) + 5)
    reasons.set('app:bad', 'its definition is missing')
    await world.until(7 * 60_000)
    expect(told).toHaveLength(2)
  })

  it('is looked after as soon as it can be read again', async () => {
    const reasons = new Map([['app:bad', 'its header is not JSON']])
    const { world, a, told } = nodeThatMeets(reasons)
    await world.started(a)
    await world.until(125_000)
    // The node defined it, and has not been able to read it since.
    expect(told).toEqual(['app:bad: its header is not JSON'])
    reasons.clear()
    await world.until(140_000)
    expect(a.node.health().parked).toEqual([])
    expect(await world.rows('bad')).toHaveLength(1)
    reasons.set('app:bad', 'its header is not JSON')
    await world.until(240_000)
    expect(told).toHaveLength(2)
  })

  it('answers who asks about it with a sentence', async () => {
    const reasons = new Map<string, string>()
    const { world, a } = nodeThatMeets(reasons)
    await world.started(a)
    reasons.set('app:bad', 'its header is not JSON')
    const asked = expect(a.node.commands.trigger('app:bad')).rejects.toMatchObject({
      code: 'JOB_UNREADABLE',
      message: expect.stringContaining("Job 'app:bad' cannot be read: its header is not JSON."),
    })
    await world.pass(1_000)
    await asked
    expect(await a.node.commands.pause('app:good').then(() => 'done')).toBe('done')
  })

  it('is not entered anew over what is there when its node starts', async () => {
    const reasons = new Map<string, string>()
    const { world, a } = nodeThatMeets(reasons)
    await world.started(a)
    await world.until(5_000)
    reasons.set('app:bad', 'its definition is missing')
    const told: string[] = []
    const changed = job('bad', () => undefined, { queue: 7 })
    const b = world.node('b', [changed], { options: { store: spoilt(world.store, reasons) } })
    b.node.events.on('job-unreadable', ({ job: name }) => void told.push(name))
    await world.started(b)
    expect(b.node.health().state).toBe('running')
    expect(told).toEqual(['app:bad'])
    const { jobs } = await world.store.load({ jobs: ['app:bad'] })
    expect(jobs.get('app:bad')?.definition.queue).toBe(100)
  })
})
