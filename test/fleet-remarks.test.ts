import { describe, expect, it } from 'vitest'
import { FleetWorld, job, untilSignal } from './fleet/world.js'

describe('what is worth mending', () => {
  it('is said once: a clock that is far off, and zone data that differs', async () => {
    const world = new FleetWorld()
    const a = world.node('a', [job('it', () => undefined)], { options: { zoneData: '2026a' } })
    const b = world.node('b', [job('it', () => undefined)], { options: { zoneData: '2025c' } })
    a.process.stepWall(-600_000)
    await world.started(a, b)
    await world.until(180_000)
    const clock = a.lines.filter((line) => line.includes("this host's clock is 600 s behind the store's"))
    const zones = a.lines.filter((line) => line.includes('time zone data 2026a, node b has 2025c'))
    expect([clock.length, zones.length]).toEqual([1, 1])
    expect(b.lines.filter((line) => line.includes("host's clock"))).toEqual([])
    expect(await world.rows('it')).toEqual(['12:01Z succeeded/1', '12:02Z succeeded/1', '12:03Z succeeded/1'])
  })

  it("is a jump of the store's clock, which neither repeats nor loses an occurrence", async () => {
    const world = new FleetWorld()
    const seen: string[] = []
    const a = world.node('a', [job('it', (run) => seen.push(run.key.slice(11)))])
    await world.started(a)
    await world.until(95_000)
    world.storeOffsetMs = -120_000
    await world.until(240_000)
    expect(seen).toEqual(['12:01Z', '12:02Z', '12:03Z'].slice(0, seen.length))
    expect(a.lines.some((line) => /clock has jumped byMs=-1(20000|1999\d)/.test(line))).toBe(true)
    world.storeOffsetMs = 0
    await world.until(331_000)
    expect(new Set(seen).size).toBe(seen.length)
    const rows = await world.runs('it')
    expect(rows.reduce((sum, run) => sum + (run.covers?.count ?? 0), 0)).toBe(6)
  })
})

describe('one application that was taken for two services', () => {
  it.each([true, false])('is said once, where the service was named after a folder: %s', async (serviceDefaulted) => {
    const world = new FleetWorld()
    const jobs = [job('invoices', () => undefined), job('reports', () => undefined)]
    const web = world.node('web', jobs, { options: { service: 'web' } })
    await world.started(web)
    const worker = world.node('worker', jobs.slice(0, 1), { options: { service: 'worker', serviceDefaulted } })
    await world.started(worker)
    await world.until(200_000)
    const said = worker.lines.filter((line) => line.includes("node web declares 'invoices' too, for service 'web'"))
    expect(said).toHaveLength(serviceDefaulted ? 1 : 0)
    expect(said.every((line) => line.includes("service: 'web'"))).toBe(true)
  })
})

describe('a short lease', () => {
  it.each([2_000, 3_000, 5_000])('of %i ms has a run taken over within it and a second', async (leaseMs) => {
    const world = new FleetWorld()
    const started: [string, number][] = []
    const handler = job('it', (run) => {
      started.push([run.node, world.clock.elapsed])
      return untilSignal(run)
    })
    const nodes = ['a', 'b', 'c'].map((name) => world.node(name, [handler], { leaseMs }))
    await world.started(...nodes)
    await world.until(30_200)
    const [first] = started
    nodes.find(({ name }) => name === first?.[0])?.process.kill()
    await world.until(30_200 + leaseMs + 1_000)
    expect(started).toHaveLength(2)
  })
})
