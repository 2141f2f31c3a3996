import { describe, expect, it } from 'vitest'
import { definitionHash, withStoredZone } from '../src/fleet/definition-hash.js'
import { DEFAULTS } from '../src/fleet/job-options.js'
import { FleetWorld, job, type TestNode } from './fleet/world.js'

const OLD = { queue: 1 }
const NEW = { queue: 2 }

/** The queue of the definition in force tells which one it is. */
async function inForce(world: FleetWorld): Promise<number | undefined> {
  const { jobs } = await world.store.load({ jobs: ['app:it'] })
  return jobs.get('app:it')?.definition.queue
}

async function definitionsEntered(world: FleetWorld): Promise<number> {
  const events = await world.store.events({ job: 'app:it', limit: 100 })
  return events.filter(({ kind }) => kind === 'defined' || kind === 'redefined').length
}

const at = (world: FleetWorld, name: string, terms: object): TestNode =>
  world.node(name, [job('it', () => undefined, terms)])

describe('many jobs', () => {
  it('are defined a few at a time where the store takes too long for more', async () => {
    const world = new FleetWorld()
    const commit: FleetWorld['store']['commit'] = async (session, now, changes) =>
      changes.length > 100 ? { expired: true, now } : world.store.commit(session, now, changes)
    const jobs = Array.from({ length: 1_200 }, (_, n) => job(`it${n}`, () => undefined))
    await world.started(world.node('a', jobs, { options: { store: { ...world.store, commit } } }))
    expect(await world.store.jobs({ limit: 2_000 })).toHaveLength(1_200)
  })
})

describe('which definition holds', () => {
  it('a new one at first sight, while old nodes still run; an old node that restarts changes nothing', async () => {
    const world = new FleetWorld()
    const [a, b] = [at(world, 'a', OLD), at(world, 'b', OLD)]
    await world.started(a, b)
    expect(await inForce(world)).toBe(1)
    await world.started(at(world, 'c', NEW))
    expect(await inForce(world)).toBe(2)
    for (const name of ['d', 'e', 'f']) {
      const crashing = at(world, name, OLD)
      await world.started(crashing)
      crashing.process.kill()
      await world.pass(5_000)
      expect(await inForce(world)).toBe(2)
    }
    await world.pass(300_000)
    expect(await inForce(world)).toBe(2)
    expect(await definitionsEntered(world)).toBe(2)
  })

  it('the old one again, a minute after the last node with the new one has gone', async () => {
    const world = new FleetWorld()
    const a = at(world, 'a', OLD)
    await world.started(a)
    const c = at(world, 'c', NEW)
    await world.started(c)
    await world.pass(60_000)
    c.process.kill()
    await world.pass(50_000)
    expect(await inForce(world)).toBe(2)
    await world.pass(40_000)
    expect(await inForce(world)).toBe(1)
    await world.pass(300_000)
    expect(await definitionsEntered(world)).toBe(3)
  })

  it('the new one for good where it crash-loops for less than a minute at a time', async () => {
    const world = new FleetWorld()
    await world.started(at(world, 'a', OLD))
    for (const name of ['n1', 'n2', 'n3', 'n4', 'n5', 'n6']) {
      const crashing = at(world, name, NEW)
      await world.started(crashing)
      crashing.process.kill()
      await world.pass(30_000)
      expect(await inForce(world)).toBe(2)
    }
    expect(await definitionsEntered(world)).toBe(2)
  })

  it('stays where two live nodes carry different ones, without a statement more', async () => {
    const world = new FleetWorld()
    const [a, b] = [at(world, 'a', OLD), at(world, 'b', NEW)]
    await world.started(a)
    await world.started(b)
    await world.pass(200_000)
    const before = a.calls.filter(({ call }) => call === 'load').length
    await world.pass(600_000)
    expect(a.calls.filter(({ call }) => call === 'load').length - before).toBe(0)
    expect(await inForce(world)).toBe(2)
    expect(await definitionsEntered(world)).toBe(2)
  })

  it('is entered by nodes that run nothing, too', async () => {
    const world = new FleetWorld()
    const asks = world.node('asks', [job('it', () => undefined, OLD)], { options: { attends: false } })
    await world.started(asks)
    expect(await inForce(world)).toBe(1)
    const c = at(world, 'c', NEW)
    await world.started(c)
    c.process.kill()
    await world.pass(90_000)
    expect(await inForce(world)).toBe(1)
  })

  it('two nodes that start at once define a job once', async () => {
    const world = new FleetWorld()
    const nodes = ['a', 'b', 'c', 'd'].map((name) => at(world, name, OLD))
    await world.started(...nodes)
    expect(nodes.map(({ node }) => node.health().state)).toEqual(Array(4).fill('running'))
    expect(await definitionsEntered(world)).toBe(1)
  })

  it('a job missing from the code of one node goes on at the others', async () => {
    const world = new FleetWorld()
    const seen: string[] = []
    const a = world.node('a', [job('it', (run) => seen.push(run.node)), job('two', () => undefined)])
    const b = world.node('b', [job('two', () => undefined)])
    await world.started(a, b)
    await world.until(5 * 60_000)
    expect(seen).toEqual(Array(5).fill('a'))
  })

  it('two services may have a job of one name', async () => {
    const world = new FleetWorld()
    const seen: string[] = []
    const make = (name: string, service: string) =>
      world.node(name, [job('cleanup', () => seen.push(service))], { options: { service } })
    await world.started(make('a', 'shop'), make('b', 'bank'))
    await world.until(35_000)
    expect(seen.sort()).toEqual(['bank', 'shop'])
  })
})

describe('a job that is renamed through its id', () => {
  const named = (name: string) => job('it', () => undefined, {}, { name })
  const nameOf = async (world: FleetWorld) =>
    (await world.store.load({ jobs: ['app:it'] })).jobs.get('app:it')?.header.name

  it('has its new name, in the ledger of its id, and keeps its cursor', async () => {
    const world = new FleetWorld()
    await world.started(world.node('a', [named('it')]))
    await world.until(90_000)
    await world.started(world.node('b', [named('billing')]))
    expect(await nameOf(world)).toBe('billing')
    await world.until(4 * 60_000)
    expect(await world.rows('it')).toEqual(['12:01Z', '12:02Z', '12:03Z', '12:04Z'].map((key) => `${key} succeeded/1`))
  })

  it('does not get its old name back from an old node that starts again', async () => {
    const world = new FleetWorld()
    await world.started(world.node('old', [named('first')]))
    await world.started(world.node('new', [named('second')]))
    expect(await nameOf(world)).toBe('second')
    await world.started(world.node('old again', [named('first')]))
    await world.until(10 * 60_000)
    expect(await nameOf(world)).toBe('second')
  })
})

describe('a zone that nobody named', () => {
  const daily = (timeZone: string) => ({ cron: '0 0 * * *', timeZone, dstGap: 'next' }) as const

  it('follows the stored one, and does not define the job anew', async () => {
    const world = new FleetWorld()
    const schedule = daily('Europe/Helsinki')
    await world.started(world.node('a', [job('it', () => undefined, { schedule }, { zoneDefaulted: true })]))
    const other = { schedule: daily('America/New_York') }
    const b = world.node('b', [job('it', () => undefined, other, { zoneDefaulted: true })])
    await world.started(b)
    expect(await definitionsEntered(world)).toBe(1)
    const { nodes, jobs } = await world.store.load({ jobs: ['app:it'], nodes: true })
    const hashes = new Set(nodes.map(({ hello }) => hello.manifest['app:it']))
    expect([...hashes]).toEqual([jobs.get('app:it')?.header.definition])
  })

  it('gives way to one that somebody names', async () => {
    const world = new FleetWorld()
    await world.started(
      world.node('a', [job('it', () => undefined, { schedule: daily('Europe/Helsinki') }, { zoneDefaulted: true })]),
    )
    const named = { schedule: daily('America/New_York') }
    await world.started(world.node('b', [job('it', () => undefined, named, { zoneDefaulted: false })]))
    const { jobs } = await world.store.load({ jobs: ['app:it'] })
    expect(jobs.get('app:it')?.definition.schedule).toMatchObject({ timeZone: 'America/New_York' })
  })

  it('is its own where the stored schedule has none', () => {
    const mine = { ...DEFAULTS, schedule: daily('Europe/Helsinki') }
    const stored = { ...DEFAULTS, schedule: { every: 60_000 } }
    expect(withStoredZone(mine, true, stored)).toBe(mine)
    expect(withStoredZone(mine, true, undefined)).toBe(mine)
    expect(withStoredZone(mine, false, { ...mine, schedule: daily('UTC') })).toBe(mine)
    expect(withStoredZone(mine, true, { ...mine, schedule: daily('UTC') }).schedule).toEqual(daily('UTC'))
  })
})

describe('the hash of a definition', () => {
  it('does not depend on the order of keys, and differs with every term', () => {
    const one = { ...DEFAULTS, schedule: null }
    const turned = Object.fromEntries(Object.entries(one).reverse()) as unknown as typeof one
    expect(definitionHash(turned)).toBe(definitionHash(one))
    const others = [
      { concurrency: 2 },
      { retry: { ...DEFAULTS.retry, limit: 1 } },
      { fence: false as never },
      { timeoutMs: 5 as never },
    ]
    expect(new Set(others.map((terms) => definitionHash({ ...one, ...terms }))).size).toBe(4)
  })
})
