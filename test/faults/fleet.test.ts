import Database from 'better-sqlite3'
import { describe, expect, test } from 'vitest'
import type { Effects } from '../../src/effect/port.js'
import { sqlite } from '../../src/effect/sqlite/index.js'
import type { Run } from '../../src/fleet/run.js'
import type { Store } from '../../src/store/port.js'
import { count, FleetWorld, job, lasting, type TestNode } from '../fleet/world.js'

/** Fleets as others have seen them fail: `test/cases/faults.json`. */
const MINUTE = 60_000
const HOUR = 60 * MINUTE
const daily = (time: string) => {
  const [hour, minute] = time.split(':')
  return { schedule: { cron: `${minute} ${hour} * * *`, timeZone: 'UTC', dstGap: 'next' } } as const
}

describe('F06 a node whose clock is behind by more than a handler takes', () => {
  test.each([-5_000, 5_000, -3_600_000])('%i ms: finds the occurrence done, and runs it no second time', async (ms) => {
    const world = new FleetWorld()
    const jobs = [job('it', () => undefined)]
    const [a, b] = [world.node('a', jobs), world.node('b', jobs)]
    b.process.stepWall(ms)
    await world.started(a, b)
    await world.until(10 * MINUTE)
    expect(await world.rows('it')).toEqual(Array.from({ length: 10 }, (_, i) => `12:${two(i + 1)}Z succeeded/1`))
  })
})

describe('F08 a machine that sleeps across its slots', () => {
  test.each([true, false])('goes on by policy, and is on time after it (it can tell: %s)', async (knowsSuspend) => {
    const world = new FleetWorld()
    const startedAt: string[] = []
    const tell = (run: Run<never>) => void startedAt.push(`${run.key} at ${new Date(world.clock.now).toISOString()}`)
    const jobs = [job('one', tell, daily('13:00')), job('nightly', tell, daily('03:00'))]
    const a = world.node('a', jobs, { knowsSuspend })
    await world.started(a)
    await world.until(10 * HOUR)
    a.process.suspend()
    await world.until(21 * HOUR)
    a.process.resume()
    await world.until(26 * HOUR)
    const [first, nightly, second, ...more] = startedAt
    expect(more).toEqual([])
    expect([first, second]).toEqual([
      expect.stringMatching(/^2026-11-29T13:00 at 2026-11-29T13:00:00/),
      expect.stringMatching(/^2026-11-30T13:00 at 2026-11-30T13:00:00/),
    ])
    // It woke at 09:00:30; within a beat the run that was missed is caught up with, under its own date.
    expect(nightly).toMatch(/^2026-11-30T03:00 at 2026-11-30T09:00:[34]/)
  })
})

describe('F21 the holder of a lock that has expired', () => {
  test('takes nothing from its successor when it lets go, and lets nobody in', async () => {
    const world = new FleetWorld()
    const started: string[] = []
    const nodes: TestNode[] = []
    for (const name of ['a', 'b', 'c']) {
      const handler = (run: Run<never>) => {
        started.push(name)
        return lasting(() => (nodes.find((node) => node.name === name) as TestNode).process, 50_000)(run)
      }
      nodes.push(world.node(name, [job('it', handler, { overlap: 'wait' })]))
    }
    await world.started(...nodes)
    await world.until(31_000)
    const holder = nodes.find(({ name }) => name === started[0]) as TestNode
    holder.process.pause()
    await world.until(50_000)
    const [recovered] = await world.runs('it')
    expect(recovered).toMatchObject({ state: 'running', attempt: 2 })
    holder.process.resume()
    await world.until(80_000)
    const [still] = await world.runs('it')
    expect(still).toMatchObject({ state: 'running', attempt: 2, token: recovered?.token, session: recovered?.session })
    expect(started.length).toBe(2)
    await world.until(100_000)
    expect((await world.rows('it')).slice(0, 1)).toEqual(['12:01Z succeeded/2'])
  })
})

describe('F29 two processes that share a name', () => {
  test('are two nodes: one row for each occurrence, one run of each, and no word about it', async () => {
    const world = new FleetWorld()
    const jobs = [job('it', () => undefined)]
    const twins = ['a', 'b'].map((name) => world.node(name, jobs, { options: { label: 'web-1#1' } }))
    await world.started(...twins)
    await world.until(30 * MINUTE)
    const rows = await world.rows('it')
    expect(rows).toEqual(Array.from({ length: 30 }, (_, i) => `12:${two(i + 1)}Z succeeded/1`))
    expect(twins.flatMap(({ lines }) => lines.filter((line) => /error|conflict|clash|stale/i.test(line)))).toEqual([])
  })
})

describe('F55 a store that was away for ten seconds', () => {
  test('is come back to by itself: the next slot, two minutes later, is on time, and health shows the gap', async () => {
    const world = new FleetWorld()
    const everyTwo = { schedule: { cron: '*/2 * * * *', timeZone: 'UTC', dstGap: 'next' } } as const
    const a = world.node('a', [job('it', () => undefined, everyTwo)])
    await world.started(a)
    await world.until(95_000)
    a.fate = () => ({ refused: true })
    await world.until(104_000)
    expect(a.node.health().store.awayMs).toBeGreaterThan(0)
    a.fate = () => null
    await world.until(4 * MINUTE)
    expect(a.node.health().store.awayMs).toBeNull()
    const [run] = await world.runs('it')
    expect(run).toMatchObject({ key: '2026-11-29T12:04Z', state: 'succeeded' })
    expect((run?.startedAt ?? 0) - Date.parse('2026-11-29T12:04:00Z')).toBeLessThan(100)
  })
})

describe('a business database that was wiped', () => {
  test('has its tables again at the next run, without a restart', async () => {
    const world = new FleetWorld()
    const database = new Database(':memory:')
    const effects = sqlite(database) as unknown as Effects
    const made: string[] = []
    const handler = (run: Run<never>) => run.once(`k ${run.key}`, () => void made.push(run.key))
    const a = world.node('a', [job('it', handler)], { effects })
    await world.started(a)
    await world.until(60_000)
    database.exec('DROP TABLE fleetcron_effect; DROP TABLE fleetcron_fence')
    await world.until(3 * MINUTE)
    expect(await world.rows('it')).toEqual(['12:01Z succeeded/1', '12:02Z succeeded/1', '12:03Z succeeded/1'])
    expect(made.length).toBe(3)
    expect(database.prepare('SELECT count(*) FROM fleetcron_effect').pluck().get()).toBe(2)
  })
})

describe('F79 a loop that meets an error which nobody foresaw', () => {
  test('is alive again, and health is red meanwhile', async () => {
    const world = new FleetWorld()
    let broken = false
    const attend: Store['attend'] = async (...query) => {
      if (broken) throw new TypeError('rows.map is not a function')
      return world.store.attend(...query)
    }
    const plan = { options: { store: { ...world.store, attend } } }
    const a = world.node('a', [job('it', () => undefined)], plan)
    await world.started(a)
    await world.until(40_000)
    broken = true
    await world.until(2 * MINUTE)
    // Beats go on, and are answered: that alone makes nobody ready.
    for (let second = 0; second < 60; second++) {
      expect(a.node.health()).toMatchObject({ state: 'running', ready: false })
      await world.pass(1_000)
    }
    expect(a.lines.join('\n')).toContain('rows.map is not a function')
    broken = false
    await world.until(8 * MINUTE)
    expect(a.node.health()).toMatchObject({ state: 'running', ready: true })
    expect((await world.rows('it')).at(-1)).toBe('12:08Z succeeded/1')
    expect((await world.rows('it')).filter((row) => row.includes('running'))).toEqual([])
  })
})

describe('F82 an instance without CPU at its slot', () => {
  test('finds the slot when it wakes, whoever wakes it', async () => {
    const world = new FleetWorld()
    const a = world.node('a', [job('nightly', () => undefined, daily('13:00'))])
    await world.started(a)
    await world.until(55 * MINUTE)
    a.process.pause()
    await world.until(100 * MINUTE)
    a.process.resume()
    await world.pass(15_000)
    const [run] = await world.runs('nightly')
    expect(run).toMatchObject({ key: '2026-11-29T13:00', cause: 'catch-up', state: 'succeeded', attempt: 1 })
  })

  test('which is not there at all leaves it to the next that is', async () => {
    const world = new FleetWorld()
    const jobs = [job('nightly', () => undefined, daily('13:00'))]
    const a = world.node('a', jobs)
    await world.started(a)
    await world.until(55 * MINUTE)
    a.process.kill()
    await world.until(95 * MINUTE)
    const b = world.node('b', jobs)
    await world.started(b)
    await world.pass(15_000)
    expect(await world.rows('nightly')).toEqual(['13:00 succeeded/1'])
    expect(count(b, 'attend')).toBeLessThan(10)
  })
})

function two(n: number): string {
  return String(n).padStart(2, '0')
}
