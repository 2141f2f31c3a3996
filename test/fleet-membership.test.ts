import { describe, expect, it } from 'vitest'
import { Membership } from '../src/fleet/membership.js'
import { bucketOf } from '../src/ledger/index.js'
import type { NodeRow, NodeSummary } from '../src/store/port.js'
import { count, FleetWorld, job } from './fleet/world.js'

const summary = (node: string, more: Partial<NodeSummary> = {}): NodeSummary => ({
  session: `session of ${node}`,
  node,
  label: node,
  services: ['app'],
  attends: true,
  room: true,
  manifestId: 'same',
  zoneData: '',
  seenAt: 100_000,
  endedAt: null,
  ...more,
})

const row = (node: string, jobs: readonly string[]): NodeRow => ({
  session: `session of ${node}`,
  node,
  hello: {
    label: node,
    services: ['app'],
    attends: true,
    manifest: Object.fromEntries(jobs.map((id) => [id, 'hash'])),
    zoneData: '',
    release: null,
  },
  room: true,
  startedAt: 0,
  seenAt: 100_000,
  leaseEnd: 110_000,
  endedAt: null,
})

const NAMES = ['a', 'b', 'c', 'd', 'e']
const JOBS = Array.from({ length: 300 }, (_, i) => `app:job-${i}`)

function members(nodes: readonly NodeSummary[], names = NAMES, jobs = JOBS): Membership[] {
  return names.map((name) => {
    const membership = new Membership(name, 'app', new Map(jobs.map((id) => [id, true])))
    membership.update(nodes, 100_000)
    return membership
  })
}

describe('the buckets of a service', () => {
  it('are divided among its live nodes: each has one owner, and nobody has far more than the others', () => {
    const shares = members(NAMES.map((name) => summary(name))).map((one) => one.mine().buckets)
    const all = shares.flatMap((buckets) => [...buckets])
    expect([...all].sort((x, y) => x - y)).toEqual(Array.from({ length: 256 }, (_, i) => i))
    expect(Math.max(...shares.map(({ size }) => size))).toBeLessThan(90)
    expect(Math.min(...shares.map(({ size }) => size))).toBeGreaterThan(20)
  })

  it('move only from the node that goes', () => {
    const before = members(NAMES.map((name) => summary(name)))
    const after = members(NAMES.filter((name) => name !== 'c').map((name) => summary(name)))
    for (const [i, membership] of before.entries()) {
      if (NAMES[i] === 'c') continue
      const kept = [...membership.mine().buckets].filter((bucket) => after[i]?.mine().buckets.has(bucket))
      expect(kept.length).toBe(membership.mine().buckets.size)
    }
  })

  it.each<[string, Partial<NodeSummary>]>([
    ['has no room', { room: false }],
    ['was not seen for 26 s', { seenAt: 74_000 }],
    ['has ended', { endedAt: 99_000 }],
    ['runs nothing', { attends: false }],
    ['belongs to another service', { services: ['other'] }],
  ])('leave out a node that %s', (_, more) => {
    const nodes = NAMES.map((name) => summary(name, name === 'c' ? more : {}))
    const shares = members(nodes).filter((_, i) => NAMES[i] !== 'c')
    expect(shares.reduce((sum, one) => sum + one.mine().buckets.size, 0)).toBe(256)
  })

  it('belong to all when nobody has room, and to a node that nobody has heard of too', () => {
    const shares = members(NAMES.map((name) => summary(name, { room: false })))
    expect(shares.reduce((sum, one) => sum + one.mine().buckets.size, 0)).toBe(256)
    const [fresh] = members([summary('b')], ['new'])
    expect(fresh?.mine().buckets.size).toBeGreaterThan(50)
    expect(new Membership('alone', 'app', new Map()).mine().buckets.size).toBe(256)
  })

  it('are watched by three nodes, one after another', () => {
    const shares = members(NAMES.map((name) => summary(name))).map((one) => one.mine())
    expect(shares.map(({ rank }) => rank).sort()).toEqual([0, 1, 2, 3, 4])
    expect(shares.filter(({ isWatcher }) => isWatcher)).toHaveLength(3)
    expect(new Set(shares.map(({ graceMs }) => graceMs)).size).toBe(5)
  })

  it('are watched by each of two for the other without standing in line', () => {
    const two = ['a', 'b']
    const shares = two.map((name) => {
      const membership = new Membership(name, 'app', new Map())
      membership.update(
        two.map((one) => summary(one)),
        100_000,
      )
      return membership.mine()
    })
    expect(shares.map(({ graceMs, isWatcher }) => [graceMs, isWatcher])).toEqual([
      [200, true],
      [200, true],
    ])
    expect(shares.map(({ rank }) => rank).sort()).toEqual([0, 1])
  })
})

describe('a job that not every node carries', () => {
  it('belongs to the one that does, whoever owns its bucket', () => {
    const nodes = NAMES.map((name) => summary(name, { manifestId: name === 'e' ? 'new' : 'old' }))
    const [e] = members(nodes, ['e'])
    expect(e?.wantsManifests).toBe(true)
    const few = JOBS.slice(0, 100)
    e?.learn(
      NAMES.filter((name) => name !== 'e').map((name) => row(name, few)),
      100_000,
    )
    expect(e?.wantsManifests).toBe(false)
    for (const id of JOBS.slice(100)) expect(e?.mine().buckets.has(bucketOf(id))).toBe(true)
    // What was learned of one manifest holds for whoever comes with it.
    e?.update([...nodes, summary('f', { manifestId: 'old' })], 100_000)
    expect(e?.wantsManifests).toBe(false)
    for (const id of JOBS.slice(100)) expect(e?.mine().buckets.has(bucketOf(id))).toBe(true)
  })

  it('starts on time where one of six nodes carries it', async () => {
    const world = new FleetWorld()
    const late: number[] = []
    const common = job('common', () => undefined)
    const nodes = ['a', 'b', 'c', 'd', 'e'].map((name) => world.node(name, [common]))
    await world.started(...nodes)
    const fresh = Array.from({ length: 8 }, (_, i) =>
      job(`new-${i}`, (run) => late.push(world.clock.now - run.scheduledAt.getTime())),
    )
    await world.started(world.node('f', [common, ...fresh]))
    await world.until(5 * 60_000 + 1_000)
    expect(late).toHaveLength(40)
    expect(Math.max(...late)).toBeLessThan(20)
    // Each of the others looks at the new manifest once.
    expect(nodes.every((node) => count(node, 'load', 20_000) <= 1)).toBe(true)
  })

  it('is found at a beat by whoever carries it, where the others do not say what they carry', async () => {
    const world = new FleetWorld()
    const seen: string[] = []
    const nodes = ['a', 'b', 'c', 'd', 'e'].map((name) => world.node(name, []))
    await world.started(...nodes)
    const only = world.node('f', [job('only', (run) => seen.push(run.key))])
    only.fate = (call, at) => (call === 'load' && at > 4_000 ? { refused: true } : null)
    await world.started(only)
    await world.until(3 * 60_000 + 15_000)
    expect(seen.length).toBeGreaterThanOrEqual(2)
  })
})
