import { describe, expect, it } from 'vitest'
import { count, FleetWorld, job, lasting, START, untilSignal } from './fleet/world.js'

describe('the loop', () => {
  it('runs each occurrence once among three nodes, in two round trips after it is due', async () => {
    const world = new FleetWorld()
    const seen: string[] = []
    const starts: number[] = []
    const minute = job('minute', (run) => {
      seen.push(run.key)
      starts.push(world.clock.now - run.scheduledAt.getTime())
    })
    const nodes = ['a', 'b', 'c'].map((name) => world.node(name, [minute]))
    await world.started(...nodes)
    await world.until(5 * 60_000)
    expect(seen).toEqual([1, 2, 3, 4, 5].map((m) => `2026-11-29T12:0${m}Z`))
    expect((await world.runs()).map((run) => run.state)).toEqual(Array(5).fill('succeeded'))
    // Two round trips of 2 ms each, and what clocks and timers round up.
    expect(Math.max(...starts)).toBeLessThanOrEqual(7)
  })

  it('asks the store six times a minute while nothing is due, however many jobs there are', async () => {
    const world = new FleetWorld()
    const yearly = { schedule: { cron: '0 0 1 1 *', timeZone: 'UTC', dstGap: 'next' } } as const
    const many = Array.from({ length: 1_000 }, (_, i) => job(`job-${i}`, () => undefined, yearly))
    const [a, b] = [world.node('a', many), world.node('b', many)]
    await world.started(a, b)
    await world.until(60_000)
    const before = [a.calls.length, b.calls.length]
    await world.until(11 * 60_000)
    const after = [a.calls.length, b.calls.length].map((calls, i) => calls - (before[i] ?? 0))
    expect(Math.max(...after)).toBeLessThanOrEqual(61)
    expect(Math.min(...after)).toBeGreaterThanOrEqual(59)
    expect(count(a, 'beat') + count(b, 'beat')).toBeGreaterThan(100)
  })

  it('attends once at a beat, not in a loop, for a due job that nobody hosts', async () => {
    const world = new FleetWorld()
    const gone = world.node('gone', [job('orphan', () => undefined)])
    await world.started(gone)
    void gone.node.stop()
    await world.pass(1_000)
    const seen: string[] = []
    const a = world.node('a', [job('mine', (run) => seen.push(run.key))])
    await world.started(a)
    await world.until(10 * 60_000)
    expect(seen).toHaveLength(10)
    // Ten for its own occurrences and after each end, six beats a minute that show the orphan, and the timers between.
    expect(count(a, 'attend', 60_000)).toBeLessThan(120)
    expect((await world.runs('orphan')).length).toBe(0)
  })

  it('takes as many runs as it has room for, and the rest as places become free', async () => {
    const world = new FleetWorld()
    const a: ReturnType<FleetWorld['node']> = world.node(
      'a',
      Array.from({ length: 10 }, (_, i) =>
        job(
          `job-${i}`,
          lasting(() => a.process, 5_000),
        ),
      ),
      { options: { maxRuns: 4 } },
    )
    await world.started(a)
    await world.until(31_000)
    expect(a.node.health().running).toHaveLength(4)
    await world.until(36_000)
    expect(a.node.health().running).toHaveLength(4)
    await world.until(46_000)
    const runs = await world.runs()
    expect(runs.filter((run) => run.state === 'succeeded')).toHaveLength(10)
  })

  it('leaves to another node what it has no room for', async () => {
    const world = new FleetWorld()
    const jobs = Array.from({ length: 6 }, (_, i) => job(`job-${i}`, untilSignal))
    const a = world.node('a', jobs, { options: { maxRuns: 2 } })
    const b = world.node('b', jobs, { options: { maxRuns: 10 } })
    await world.started(a, b)
    await world.until(42_000)
    expect(a.node.health().running.length + b.node.health().running.length).toBe(6)
    expect(a.node.health().running.length).toBeLessThanOrEqual(2)
  })

  it('is called full when it has had no room for two seconds, so that a burst is divided as ever', async () => {
    const world = new FleetWorld()
    const a: ReturnType<FleetWorld['node']> = world.node(
      'a',
      [
        job('short', () => undefined),
        job(
          'long',
          lasting(() => a.process, 12_000),
          { schedule: { cron: '2 * * * *', timeZone: 'UTC', dstGap: 'next' } },
        ),
      ],
      { options: { maxRuns: 1, leaseMs: 3_000 } },
    )
    await world.started(a)
    const full: number[] = []
    for (let at = 0; at < 150_000; at += 200) {
      await world.until(at)
      const { nodes } = await world.store.load({ nodes: true })
      if (nodes.some(({ room }) => !room)) full.push(at)
    }
    // Due after 90 s; a beat each second while it is held, each three seconds after it.
    expect(full[0]).toBeGreaterThanOrEqual(92_000)
    expect(full[0]).toBeLessThan(93_500)
    expect(full.at(-1)).toBeGreaterThan(101_000)
    expect(full.at(-1)).toBeLessThan(106_000)
  })

  it('parks a job that cannot be decided and goes on with the others', async () => {
    const world = new FleetWorld()
    const seen: string[] = []
    const a = world.node('a', [job('good', (run) => seen.push(run.key)), job('bad', () => undefined)], {
      options: {
        zones: () => ({ offsetAt: () => 0, nextChange: () => null }),
      },
    })
    await world.started(a)
    const { jobs } = await world.store.load({ jobs: ['app:bad'] })
    const bad = jobs.get('app:bad')
    if (bad === undefined) throw new Error('the job is not there')
    // Somebody with a newer version stored what this one cannot read.
    const content = { ...bad.definition, schedule: { lunar: 'full moon' } as never }
    const hello = { label: 'x', services: ['app'], attends: false, manifest: {}, zoneData: '', release: null }
    const other = { id: 'x', node: 'x', leaseMs: 10_000 }
    await world.store.attend(other, { hello, services: ['app'], buckets: new Set(), graceMs: 0, limit: 0 })
    await world.store.commit(other, world.clock.now, [
      {
        id: 'strange',
        job: 'app:bad',
        expect: { version: bad.version, settled: 0 },
        header: { ...bad.header, definition: 'strange', definitionSeq: 2, wakeAt: world.clock.now },
        failures: 'keep',
        runs: [],
        definition: { hash: 'strange', content, seq: 2, enteredAt: world.clock.now, release: null },
        events: [],
      },
    ])
    await world.until(4 * 60_000)
    expect(seen).toHaveLength(4)
    expect(a.node.health().parked.map(({ job: parked }) => parked)).toEqual(['app:bad'])
    expect(a.lines.some((line) => line.includes("job 'app:bad' cannot be looked after"))).toBe(true)
  })

  it('goes on when the store comes back, and runs what came due meanwhile', async () => {
    const world = new FleetWorld()
    const seen: number[] = []
    const a = world.node('a', [job('minute', () => seen.push(world.clock.elapsed))])
    await world.started(a)
    a.fate = (_, at) => (at > 20_000 && at < 75_000 ? { refused: true } : null)
    await world.until(40_000)
    expect(a.node.health().ready).toBe(false)
    expect(a.node.health().store.awayMs).toBeGreaterThan(5_000)
    await world.until(100_000)
    expect(a.node.health().ready).toBe(true)
    expect(seen).toHaveLength(2)
    expect(seen[0]).toBeLessThan(81_000)
    expect(await world.rows('minute')).toEqual(['12:01Z succeeded/1', '12:02Z succeeded/1'])
  })

  it('starts as soon as the store can be reached', async () => {
    const world = new FleetWorld()
    const a = world.node('a', [job('minute', () => undefined)])
    a.fate = (_, at) => (at < 45_000 ? { refused: true } : null)
    const started = a.node.start()
    await world.until(60_000)
    await started
    expect(a.node.health().state).toBe('running')
    await world.until(95_000)
    expect(await world.rows('minute')).toEqual(['12:02Z succeeded/1'])
  })

  it('refuses to start on a store that is newer than it knows', async () => {
    const world = new FleetWorld()
    const a = world.node('a', [], {
      options: {
        store: {
          ...world.store,
          open: () => Promise.reject(Object.assign(new Error('newer'), { code: 'STORE_NEWER' })),
        },
      },
    })
    await expect(a.node.start()).rejects.toThrow('newer')
  })

  it('is the same from the same seeds', async () => {
    const once = async () => {
      const world = new FleetWorld()
      const nodes = ['a', 'b', 'c'].map((name) =>
        world.node(name, [job('x', () => undefined), job('y', () => undefined)]),
      )
      await world.started(...nodes)
      await world.until(3 * 60_000)
      return nodes.map(({ calls, lines }) => ({ calls, lines }))
    }
    expect(await once()).toEqual(await once())
    expect(START % 60_000).toBe(30_000)
  })
})
