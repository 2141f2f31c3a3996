import { describe, expect, it } from 'vitest'
import { currentRun } from '../src/fleet/run.js'
import { FleetWorld, job, lasting, outcomeOf, type TestNode, untilSignal } from './fleet/world.js'

describe('a handler that takes too long', () => {
  it('gets its signal at the timeout and has failed when it throws', async () => {
    const { run } = await outcomeOf(untilSignal, { timeoutMs: 5_000 })
    expect([run?.state, run?.reason]).toEqual(['failed', 'timeout'])
    expect((run?.endedAt ?? 0) - (run?.startedAt ?? 0)).toBeLessThan(5_010)
  })

  it('has failed although it returns after the timeout', async () => {
    const { run } = await outcomeOf((given) => untilSignal(given).catch(() => 'done anyway'), { timeoutMs: 5_000 })
    expect([run?.state, run?.reason]).toEqual(['failed', 'timeout'])
  })

  it('and does not obey loses its place after five seconds and stays visible', async () => {
    const { world, a, run } = await outcomeOf(() => new Promise(() => {}), { timeoutMs: 5_000 }, 42_000)
    expect([run?.state, run?.reason]).toEqual(['failed', 'timeout'])
    expect(a.node.health().running).toEqual([])
    expect(a.node.health().abandoned).toMatchObject([{ job: 'app:it', signal: 'timeout' }])
    expect(a.lines.some((line) => line.includes('did not end within 5 s after its signal'))).toBe(true)
    await world.until(95_000)
    // The next occurrence is another run and starts beside the abandoned handler.
    expect((await world.runs('it')).map(({ state }) => state)).toEqual(['running', 'failed'])
  })

  it('is not run again in this process while its earlier handler still runs here', async () => {
    const world = new FleetWorld()
    const attempts: string[] = []
    let release = () => {}
    const stubborn = job('it', (run) => {
      attempts.push(`${run.node}${run.attempt}`)
      if (run.attempt === 1)
        return new Promise<void>((resolve) => {
          release = resolve
        })
    })
    const a = world.node('a', [stubborn])
    await world.started(a)
    await world.until(31_000)
    a.fate = (_, at) => (at < 50_000 ? { refused: true } : null)
    await world.until(85_000)
    expect(a.node.health().abandoned).toHaveLength(1)
    expect(attempts).toEqual(['a1'])
    release()
    await world.until(100_000)
    expect(a.node.health().abandoned).toEqual([])
    const last = (await world.runs('it')).at(-1)
    expect(last?.state).toBe('succeeded')
  })
})

describe('a run that kills its node', () => {
  it('is recovered three times, then failed, while other jobs go on', async () => {
    const world = new FleetWorld()
    const nodes: TestNode[] = []
    let kills = 0
    const seen: string[] = []
    const spawn = (name: string): TestNode => {
      const node: TestNode = world.node(name, [
        job(
          'poison',
          () => {
            kills += 1
            node.process.kill()
            return new Promise(() => {})
          },
          { schedule: { at: '2026-11-29T12:01', timeZone: 'UTC', dstGap: 'next' } },
        ),
        job('good', (run) => seen.push(run.key)),
      ])
      nodes.push(node)
      void node.node.start()
      return node
    }
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) spawn(name)
    await world.until(5 * 60_000)
    expect(kills).toBe(4)
    const [run] = await world.runs('poison')
    expect([run?.state, run?.reason, run?.recoveries]).toEqual(['failed', 'lost', 3])
    expect(new Set(seen).size).toBe(5)
  })

  it('is not started again where recover is 0', async () => {
    const world = new FleetWorld()
    let calls = 0
    const make = (name: string): TestNode => {
      const node: TestNode = world.node(name, [
        job(
          'once',
          () => {
            calls += 1
            node.process.kill()
            return new Promise(() => {})
          },
          { recover: 0, schedule: { at: '2026-11-29T12:01', timeZone: 'UTC', dstGap: 'next' } },
        ),
      ])
      return node
    }
    await world.started(make('a'), make('b'))
    await world.until(60_000)
    expect(calls).toBe(1)
    expect((await world.runs('once')).map(({ state, reason }) => [state, reason])).toEqual([['failed', 'lost']])
  })
})

describe('what a handler is given', () => {
  it('says which occurrences it stands for', async () => {
    const world = new FleetWorld()
    const given: unknown[] = []
    const a: TestNode = world.node('a', [
      job(
        'it',
        (run) => {
          given.push({
            job: run.job,
            key: run.key,
            cause: run.cause,
            at: run.scheduledAt.toISOString(),
            date: run.date,
            covers: run.covers,
            occurrences: run.occurrences().map(({ key }) => key),
            since: run.since?.toISOString() ?? null,
            attempt: run.attempt,
            owned: run.owned,
            node: run.node,
            data: run.data,
            current: currentRun() === (run as unknown),
          })
          return lasting(() => a.process, 150_000)(run)
        },
        { overlap: 'merge' },
      ),
    ])
    await world.started(a)
    await world.until(6 * 60_000)
    expect(given).toEqual([
      {
        job: 'it',
        key: '2026-11-29T12:01Z',
        cause: 'schedule',
        at: '2026-11-29T12:01:00.000Z',
        date: '2026-11-29',
        covers: { from: '2026-11-29T12:01Z', to: '2026-11-29T12:01Z', count: 1 },
        occurrences: ['2026-11-29T12:01Z'],
        since: null,
        attempt: 1,
        owned: true,
        node: 'a',
        data: undefined,
        current: true,
      },
      {
        job: 'it',
        key: '2026-11-29T12:02Z',
        cause: 'schedule',
        at: '2026-11-29T12:03:00.000Z',
        date: '2026-11-29',
        covers: { from: '2026-11-29T12:02Z', to: '2026-11-29T12:03Z', count: 2 },
        occurrences: ['2026-11-29T12:02Z', '2026-11-29T12:03Z'],
        since: '2026-11-29T12:01:00.000Z',
        attempt: 1,
        owned: true,
        node: 'a',
        data: undefined,
        current: true,
      },
      expect.objectContaining({ key: '2026-11-29T12:04Z', since: '2026-11-29T12:03:00.000Z' }),
    ])
  })

  it('has no effects where the fleet has no business database', async () => {
    const { run } = await outcomeOf((given) => given.once('k', () => 1))
    expect(run?.error?.message).toContain("fleet 'test' has no business database")
  })

  it('writes one line per run, and none while idle', async () => {
    const { a } = await outcomeOf((run) => run.log('three invoices', { count: 3 }))
    const [said, ran] = a.lines.slice(-2)
    expect(said).toMatch(/three invoices count=3 job=app:it key=2026-11-29T12:01Z attempt=1 token=\d+/)
    expect(ran).toMatch(
      /^fleetcron: run date=2026-11-29 job=app:it key=2026-11-29T12:01Z attempt=1 token=\d+ outcome=succeeded durationMs=0 .*node=a$/,
    )
  })
})
