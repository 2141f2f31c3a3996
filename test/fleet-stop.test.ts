import { describe, expect, it } from 'vitest'
import { FleetWorld, job, lasting, type TestNode, untilSignal } from './fleet/world.js'

describe('stopping a node', () => {
  it('lets handlers end within the grace, keeps the session meanwhile, and takes nothing new', async () => {
    const world = new FleetWorld()
    const a: TestNode = world.node('a', [
      job(
        'it',
        lasting(() => a.process, 25_000),
      ),
      job('other', () => undefined),
    ])
    await world.started(a)
    await world.until(31_000)
    const session = a.node.health().session.id
    let stopped = false
    void a.node.stop({ graceMs: 60_000 }).then(() => {
      stopped = true
    })
    await world.until(50_000)
    expect(a.node.health().state).toBe('stopping')
    expect(a.node.health().ready).toBe(false)
    expect(a.node.health().session.id).toBe(session)
    expect(stopped).toBe(false)
    await world.until(56_000)
    expect(stopped).toBe(true)
    expect(await world.rows('it')).toEqual(['12:01Z succeeded/1'])
    await world.until(130_000)
    expect(await world.rows('other')).toEqual(['12:01Z succeeded/1'])
    const { nodes } = await world.store.load({ nodes: true })
    expect(nodes.map(({ endedAt }) => endedAt === null)).toEqual([false])
    expect(a.calls.at(-1)?.call).toBe('close')
  })

  it.each([0, 1, 2, 3, 4, 5])(
    'hands on within a second whichever of six nodes it is that stops (%i)',
    async (which) => {
      const world = new FleetWorld()
      const begun: { node: string; at: number }[] = []
      const names = ['a', 'b', 'c', 'd', 'e', 'f']
      const nodes = names.map((name) =>
        world.node(name, [
          job(
            'it',
            (run) => {
              begun.push({ node: name, at: world.clock.now })
              return untilSignal(run)
            },
            { schedule: null },
          ),
        ]),
      )
      await world.started(...nodes)
      await world.until(15_000)
      // Looks of the others take too long, so that this one has the run.
      const holder = nodes[which] as TestNode
      const others = nodes.filter((node) => node !== holder)
      for (const node of others) node.fate = (call) => (call === 'attend' ? { requestMs: 20_000 } : null)
      void holder.node.commands.trigger('app:it')
      await world.pass(3_000)
      for (const node of others) node.fate = () => null
      expect(begun.map(({ node }) => node)).toEqual([holder.name])
      await world.pass(25_000)
      void holder.node.stop({ graceMs: 0 })
      const told = world.clock.now
      await world.pass(2_000)
      expect(begun).toHaveLength(2)
      expect((begun[1]?.at ?? 0) - told).toBeLessThan(1_000)
    },
  )

  it('hands back after the grace, and another node goes on within a second', async () => {
    const world = new FleetWorld()
    const attempts: string[] = []
    const handler = job('it', (run) => {
      attempts.push(`${run.node}${run.attempt}`)
      return untilSignal(run)
    })
    const [a, b] = [world.node('a', [handler]), world.node('b', [handler])]
    await world.started(a)
    await world.until(31_000)
    await world.started(b)
    void a.node.stop({ graceMs: 5_000 })
    await world.until(38_050)
    expect(attempts).toEqual(['a1'])
    await world.until(39_000)
    expect(attempts).toEqual(['a1', 'b2'])
    const [run] = await world.runs('it')
    expect([run?.retries, run?.recoveries, run?.repeats]).toEqual([0, 0, 1])
    expect(a.node.health().state).toBe('stopped')
  })

  it('does not wait for ever for a handler that ignores its signal', async () => {
    const world = new FleetWorld()
    const attempts: string[] = []
    const handler = job('it', (run) => {
      attempts.push(run.node)
      return new Promise(() => {})
    })
    const [a, b] = [world.node('a', [handler]), world.node('b', [handler])]
    await world.started(a)
    await world.until(31_000)
    await world.started(b)
    let stopped = 0
    void a.node.stop({ graceMs: 1_000 }).then(() => {
      stopped = world.clock.elapsed
    })
    await world.until(45_000)
    expect(stopped).toBeGreaterThan(38_000)
    expect(stopped).toBeLessThan(40_000)
    expect(attempts).toEqual(['a', 'b'])
    expect(a.node.health().abandoned).toHaveLength(1)
  })

  it('ends while the node still waits for its store', async () => {
    const world = new FleetWorld()
    const a = world.node('a', [job('it', () => undefined)])
    // To close what is not open needs no store.
    a.fate = (call) => (call === 'close' ? null : { refused: true })
    const started = a.node.start().catch((error) => error.code)
    await world.until(5_000)
    let stopped = false
    void a.node.stop().then(() => {
      stopped = true
    })
    await world.until(20_000)
    expect(stopped).toBe(true)
    expect(await started).toBe('NOT_STARTED')
    expect(a.calls.at(-1)?.call).toBe('close')
    expect(a.lines.filter((line) => /the store is (away|back)/.test(line))).toEqual([
      expect.stringContaining('the store is away'),
    ])
    await expect(a.node.start()).rejects.toMatchObject({ code: 'NOT_STARTED' })
  })

  it('ends although the store never answers again; the runs go to others when the lease is over', async () => {
    const world = new FleetWorld()
    const a: TestNode = world.node('a', [
      job(
        'it',
        lasting(() => a.process, 5_000),
      ),
    ])
    const b = world.node('b', [job('it', () => undefined)])
    await world.started(a)
    await world.until(31_000)
    await world.started(b)
    a.fate = () => ({ lost: 'request' })
    let stopped = false
    void a.node.stop().then(() => {
      stopped = true
    })
    await world.until(100_000)
    expect(stopped).toBe(true)
    expect((await world.rows('it'))[0]).toBe('12:01Z succeeded/2')
  })

  it('is one stop however often it is asked for, before a start too', async () => {
    const world = new FleetWorld()
    const a = world.node('a', [])
    expect(a.node.stop()).toBe(a.node.stop())
    await a.node.stop()
    expect(a.calls).toEqual([])
    expect(a.node.health().state).toBe('stopped')
  })

  it('hands back a grant whose commit was answered while it stopped', async () => {
    const world = new FleetWorld()
    const started: string[] = []
    const handler = job('it', (run) => started.push(run.node))
    const [a, b] = [world.node('a', [handler]), world.node('b', [handler])]
    await world.started(a)
    a.fate = (call, at) => (call === 'commit' && at > 29_000 ? { replyMs: 500 } : null)
    await world.until(30_100)
    void a.node.stop()
    void b.node.start()
    await world.until(50_000)
    expect(started).toEqual(['b'])
    expect(a.node.health().state).toBe('stopped')
    const [run] = await world.runs('it')
    expect(run?.attempts.map(({ outcome }) => outcome)).toEqual(['handed-back', 'succeeded'])
    expect(run?.repeats).toBe(0)
  })
})
