import { describe, expect, it } from 'vitest'
import type { EffectOrigin, Effects } from '../src/effect/port.js'
import type { Run } from '../src/fleet/run.js'
import type { Definition } from '../src/ledger/types.js'
import { FleetWorld, job, lasting, type TestNode } from './fleet/world.js'

const MINUTE = 60_000

/** Nobody of these reaches the store between two instants after the start of the world. */
function away(nodes: readonly TestNode[], from: number, to: number): void {
  for (const node of nodes) node.fate = (_, at) => (at >= from && at < to ? { refused: true } : null)
}

/** Nodes with one job that runs on in an outage, and what was called: `a 12:01Z unowned +10`, seconds after its instant. */
function fleet(names: readonly string[], terms: Partial<Definition> = {}, handler?: (run: Run<never>) => unknown) {
  const world = new FleetWorld()
  const seen: string[] = []
  const bound: EffectOrigin[] = []
  const effects = {
    ensure: async () => [],
    raise: async () => ({ raised: true }) as const,
    bind: (origin: EffectOrigin) => {
      bound.push(origin)
      return { once: async () => 'once' }
    },
  } as unknown as Effects
  const nodes: TestNode[] = names.map((name) => {
    const handle = (run: Run<never>) => {
      const late = Math.round((world.clock.now - run.scheduledAt.getTime()) / 1_000)
      seen.push(`${name} ${run.key.slice(11)} ${run.owned ? 'owned' : 'unowned'} +${late}`)
      return handler?.(run)
    }
    return world.node(name, [job('it', handle, terms, { onOutage: 'run' })], { effects })
  })
  return { world, nodes, seen, bound }
}

async function unownedRows(world: FleetWorld): Promise<string[]> {
  const rows = await world.runs('it')
  return rows
    .filter((run) => run.key.startsWith('outage:'))
    .map((run) => `${run.covers?.from.slice(11)} ${run.state} ${run.cause} ${run.attempts[0]?.node}`)
    .sort()
}

describe("onOutage: 'run'", () => {
  it('runs on every node what comes due once the store has been away for a lease, and records it afterwards', async () => {
    const { world, nodes, seen, bound } = fleet(['a', 'b'], {}, (run) => run.once('k', () => {}))
    await world.started(...nodes)
    away(nodes, 20_000, 4 * MINUTE)
    await world.until(4 * MINUTE - 1)
    const minutes = ['01', '02', '03', '04']
    expect(seen.sort()).toEqual(
      ['a', 'b'].flatMap((name) => minutes.map((minute) => `${name} 12:${minute}Z unowned +0`)),
    )
    expect(bound.map(({ fence, token }) => [fence, token])).toEqual(Array(8).fill([false, 0]))
    expect(nodes.map(({ node }) => node.health().unsettled)).toEqual([4, 4])
    expect(await world.runs('it')).toEqual([])
    await world.until(4 * MINUTE + 20_000)
    expect(await unownedRows(world)).toEqual(
      minutes.flatMap((minute) => ['a', 'b'].map((name) => `12:${minute}Z succeeded manual ${name}`)),
    )
    expect(nodes.map(({ node }) => node.health().unsettled)).toEqual([0, 0])
    // The occurrences themselves are decided as if nothing had been done.
    const rows = (await world.runs('it')).filter((run) => !run.key.startsWith('outage:'))
    expect(rows.reduce((sum, run) => sum + (run.covers?.count ?? 0), 0)).toBe(4)
    expect(new Set(rows.map((run) => run.state))).toEqual(new Set(['succeeded']))
    expect(seen.filter((line) => line.includes(' owned'))).toHaveLength(1)
  })

  it('runs late, within the grace, what was due when the store fell silent', async () => {
    const { world, nodes, seen } = fleet(['a'])
    await world.started(...nodes)
    away(nodes, 29_000, 80_000)
    await world.until(80_000)
    expect(seen).toEqual(['a 12:01Z unowned +10'])
  })

  it('runs nothing that was due before, which others may have, and nothing in a short outage', async () => {
    const { world, nodes, seen } = fleet(['a', 'b'])
    await world.started(...nodes)
    away(nodes, 30_500, 85_000)
    await world.until(85_000)
    expect(seen).toEqual([expect.stringMatching(/^[ab] 12:01Z owned \+0$/)])
    away(nodes, 88_000, 96_000)
    await world.until(110_000)
    expect(seen.filter((line) => line.includes('unowned'))).toEqual([])
    expect(seen.filter((line) => line.includes('12:02Z owned'))).toHaveLength(1)
  })

  it('never runs what it has claimed in doubt, and goes on with what follows', async () => {
    const { world, nodes, seen } = fleet(['a'])
    const [a] = nodes as [TestNode]
    await world.started(a)
    let claims = 0
    a.fate = (call, at) => {
      if (call === 'commit' && at > 29_000 && claims++ === 0) return { lost: 'reply', deadlineMs: 3_000 }
      return claims > 0 && at < 200_000 ? { refused: true } : null
    }
    await world.until(199_000)
    expect(seen).toEqual(['a 12:02Z unowned +0', 'a 12:03Z unowned +0'])
    await world.until(260_000)
    // The claim had been applied: it is taken up again, once.
    expect(seen.filter((line) => line.startsWith('a 12:01Z'))).toHaveLength(1)
    expect((await world.rows('it')).filter((row) => row.startsWith('12:01Z'))).toEqual([
      expect.stringMatching(/^12:01Z succeeded/),
    ])
  })

  it('leaves alone what it knows as paused or retired, and what nobody asked to run on', async () => {
    const world = new FleetWorld()
    const seen: string[] = []
    const note = (run: Run<never>) => void seen.push(run.job)
    const jobs = ['paused', 'retired', 'resumed'].map((name) => job(name, note, {}, { onOutage: 'run' }))
    const a = world.node('a', [...jobs, job('waits', note)])
    const b = world.node('b', [job('other', () => undefined)])
    await world.started(a, b)
    const asked = [
      a.node.commands.pause('app:paused'),
      b.node.commands.retire('app:retired'),
      b.node.commands.pause('app:resumed', { until: world.clock.now + 100_000 }),
    ]
    await world.until(25_000)
    await Promise.all(asked)
    // What others asked for is seen within a minute.
    await world.until(85_000)
    seen.length = 0
    away([a], 85_000, 5 * MINUTE)
    await world.until(4 * MINUTE)
    expect(new Set(seen)).toEqual(new Set(['resumed']))
  })

  it('has as many places on a node as the job has, and a time limit', async () => {
    const { world, nodes } = fleet(['a'], { timeoutMs: 100_000 }, (run) =>
      lasting(() => (nodes[0] as TestNode).process, 10 * MINUTE)(run),
    )
    await world.started(...nodes)
    away(nodes, 20_000, 6 * MINUTE)
    await world.until(100_000)
    expect(nodes[0]?.node.health().unowned).toMatchObject([
      { job: 'app:it', forMs: expect.toSatisfy((ms) => ms > 60_000) },
    ])
    await world.until(6 * MINUTE + 30_000)
    // 12:02 found the place taken; 12:03 had it after the time limit.
    expect(await unownedRows(world)).toEqual(['12:01Z', '12:03Z', '12:05Z'].map((key) => `${key} failed manual a`))
    const [row] = (await world.runs('it')).filter((run) => run.key.startsWith('outage:'))
    expect([row?.reason, row?.error?.name]).toEqual(['timeout', expect.any(String)])
  })

  it('records what threw as failed, and loses no outcome when the store goes away again', async () => {
    const { world, nodes } = fleet(['a'], {}, () => {
      throw new TypeError('no paper')
    })
    const [a] = nodes as [TestNode]
    await world.started(a)
    a.fate = (call, at) => {
      if (at >= 20_000 && at < 100_000) return { refused: true }
      return call === 'commit' && at < 150_000 ? { lost: 'reply', deadlineMs: 1_000 } : null
    }
    await world.until(5 * MINUTE)
    expect((await unownedRows(world)).slice(0, 2)).toEqual(['12:01Z failed manual a', '12:02Z failed manual a'])
    expect(await unownedRows(world)).toHaveLength(2)
    const row = (await world.runs('it')).find((run) => run.key.startsWith('outage:'))
    expect([row?.reason, row?.error?.message, row?.token]).toEqual(['error', 'no paper', 0])
    expect(a.node.health().unsettled).toBe(0)
  })

  it('ends with its node: the handler is told, and what it did is recorded if the store is there', async () => {
    const { world, nodes } = fleet(['a'], {}, (run) => lasting(() => (nodes[0] as TestNode).process, 10 * MINUTE)(run))
    const [a] = nodes as [TestNode]
    await world.started(a)
    away([a], 20_000, 55_000)
    await world.until(60_000)
    let stopped = false
    void a.node.stop({ graceMs: 5_000 }).then(() => {
      stopped = true
    })
    await world.until(64_000)
    expect(stopped).toBe(false)
    await world.until(70_000)
    expect(stopped).toBe(true)
    expect(await unownedRows(world)).toEqual(['12:01Z failed manual a'])
  })
})
