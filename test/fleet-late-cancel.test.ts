import { describe, expect, it } from 'vitest'
import { FleetWorld, job, type TestNode } from './fleet/world.js'

describe('a cancel that comes just before an attempt fails', () => {
  it.each([
    ['the node that holds the run', 0],
    ['another node', 1],
  ])('asked of %s: the run does not keep its place until its retry', async (_, index) => {
    const world = new FleetWorld()
    const retry = { limit: 3, delayMs: 3_600_000, factor: 1, maxDelayMs: 3_600_000 }
    let fail = () => {}
    const it = job('it', () => new Promise((_, reject) => (fail = () => reject(new Error('no')))), { retry })
    const nodes: TestNode[] = ['a', 'b'].map((name) => world.node(name, [it]))
    await world.started(...nodes)
    await world.until(31_000)
    const [run] = await world.runs('it')
    expect(run?.state).toBe('running')
    // Its holder learns of it with a beat: none comes between the commit and the end of the handler.
    for (const node of nodes) node.fate = (call) => (call === 'beat' ? { requestMs: 2_000 } : null)
    const cancelled = nodes[index]?.node.commands.cancel({ job: 'app:it', key: run?.key ?? '' })
    await world.pass(100)
    await cancelled
    expect((await world.runs('it'))[0]).toMatchObject({ state: 'running', stop: { kind: 'cancel' } })
    fail()
    await world.pass(1_000)
    expect((await world.rows('it')).at(0)).toBe('12:01Z cancelled/1')
    await world.until(95_000)
    expect(await world.rows('it')).toEqual(['12:01Z cancelled/1', '12:02Z running/1'])
  })
})
