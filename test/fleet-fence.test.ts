import Database from 'better-sqlite3'
import { describe, expect, it } from 'vitest'
import type { Effects } from '../src/effect/port.js'
import { sqlite } from '../src/effect/sqlite/index.js'
import { FleetWorld, job, type TestNode, untilSignal } from './fleet/world.js'

/** A business database whose connection may be away, and what was asked of its fences. */
function business() {
  const database = new Database(':memory:')
  database.exec('CREATE TABLE invoice (customer TEXT, period TEXT)')
  const inner = sqlite(database)
  const raised: [string, number][] = []
  const state = { away: false, silent: false }
  const meet = <T>(act: () => Promise<T>): Promise<T> => {
    if (state.silent) return new Promise(() => {})
    return state.away ? Promise.reject(new Error('connection refused')) : act()
  }
  const effects: Effects = {
    ...(inner as unknown as Effects),
    ensure: () => meet(() => inner.ensure()),
    raise: (resource, token) =>
      meet(() => {
        raised.push([resource, token])
        return inner.raise(resource, token)
      }),
  }
  const invoices = () => database.prepare('SELECT customer, period FROM invoice').all()
  return { database, effects, raised, state, invoices }
}

function invoice(run: Parameters<Parameters<typeof job>[1]>[0]): Promise<unknown> {
  return run.once(`invoice:1:${run.key}`, (tx) =>
    (tx as unknown as Database.Database).prepare('INSERT INTO invoice VALUES (?, ?)').run('1', run.key),
  )
}

describe('an attempt with a business database', () => {
  it('raises the fence of the resource that its job names', async () => {
    const world = new FleetWorld()
    const { effects, raised, invoices, database } = business()
    const tokens: number[] = []
    const handler = async (run: Parameters<Parameters<typeof job>[1]>[0]) => {
      tokens.push(run.token)
      expect(run.resource).toBe('accounts/main')
      await invoice(run)
    }
    await world.started(world.node('a', [job('it', handler, { resource: 'accounts/main' })], { effects }))
    await world.until(40_000)
    expect(raised).toEqual(tokens.map((token) => ['accounts/main', token]))
    expect(database.prepare('SELECT resource FROM fleetcron_fence').pluck().all()).toEqual(['accounts/main'])
    expect(invoices()).toHaveLength(1)
  })

  it('raises the fence to its token before the handler is called', async () => {
    const world = new FleetWorld()
    const { effects, raised, invoices } = business()
    const seen: number[] = []
    const a = world.node(
      'a',
      [
        job('it', async (run) => {
          seen.push(run.token)
          expect(raised.at(-1)).toEqual(['test/app:it', run.token])
          await invoice(run)
        }),
      ],
      { effects },
    )
    await world.started(a)
    await world.until(100_000)
    expect(raised).toEqual(seen.map((token) => ['test/app:it', token]))
    expect(invoices()).toEqual([
      { customer: '1', period: '2026-11-29T12:01Z' },
      { customer: '1', period: '2026-11-29T12:02Z' },
    ])
  })

  it('raises none where the job leaves it to the keys', async () => {
    const world = new FleetWorld()
    const { effects, raised, invoices } = business()
    await world.started(world.node('a', [job('it', invoice, { fence: false })], { effects }))
    await world.until(40_000)
    expect(raised).toEqual([])
    expect(invoices()).toHaveLength(1)
  })

  it.each(['away', 'silent'] as const)('waits for a database that is %s, and starts when it is back', async (how) => {
    const world = new FleetWorld()
    const { effects, state } = business()
    const at: number[] = []
    await world.started(world.node('a', [job('it', () => at.push(world.clock.elapsed))], { effects }))
    state[how] = true
    await world.until(40_000)
    expect(at).toEqual([])
    state[how] = false
    await world.until(58_000)
    expect(at).toHaveLength(1)
    expect((await world.rows('it'))[0]).toBe('12:01Z succeeded/1')
  })

  it('is handed back uncharged after half a minute, as often as it takes, and never fails for it', async () => {
    const world = new FleetWorld()
    const { effects, state } = business()
    let calls = 0
    await world.started(
      world.node(
        'a',
        [
          job(
            'it',
            () => {
              calls += 1
            },
            { recover: 0 },
          ),
        ],
        { effects },
      ),
    )
    state.away = true
    await world.until(20 * 60_000)
    expect(calls).toBe(0)
    state.away = false
    await world.until(23 * 60_000)
    const run = (await world.runs('it')).at(-1)
    expect([run?.key.slice(11), run?.state, run?.repeats, run?.retries, run?.recoveries]).toEqual([
      '12:01Z',
      'succeeded',
      0,
      0,
      0,
    ])
    expect(run?.attempts.every(({ outcome }) => outcome === 'handed-back' || outcome === 'succeeded')).toBe(true)
  })

  it('with a token below what the fence shows is repeated at once with a greater one, uncharged', async () => {
    const world = new FleetWorld()
    const { effects } = business()
    const high = (world.clock.now + 3_600_000) * 1_000
    await effects.ensure()
    await effects.raise('test/app:it', high)
    const seen: number[] = []
    await world.started(world.node('a', [job('it', (run) => seen.push(run.token))], { effects }))
    await world.until(32_000)
    expect(seen).toEqual([high + 1])
    const [run] = await world.runs('it')
    expect([run?.state, run?.attempt, run?.repeats]).toEqual(['succeeded', 2, 0])
  })

  it('whose handler meets a higher fence, although its session is good, is repeated uncharged', async () => {
    const world = new FleetWorld()
    const { effects, invoices } = business()
    const attempts: number[] = []
    await world.started(
      world.node(
        'a',
        [
          job('it', async (run) => {
            attempts.push(run.attempt)
            if (run.attempt === 1) await effects.raise('test/app:it', run.token + 5)
            await invoice(run)
          }),
        ],
        { effects },
      ),
    )
    await world.until(35_000)
    expect(attempts).toEqual([1, 2])
    expect(invoices()).toHaveLength(1)
    const [run] = await world.runs('it')
    expect([run?.state, run?.retries, run?.recoveries, run?.repeats]).toEqual(['succeeded', 0, 0, 1])
  })

  it('whose handler does not obey its timeout is shut out before the place is free', async () => {
    const world = new FleetWorld()
    const { effects, raised, invoices } = business()
    let late = async () => {}
    const a = world.node(
      'a',
      [
        job(
          'it',
          (run) => {
            late = async () => void (await invoice(run))
            return new Promise(() => {})
          },
          { timeoutMs: 2_000 },
        ),
      ],
      { effects },
    )
    await world.started(a)
    await world.until(40_000)
    const [run] = await world.runs('it')
    expect([run?.state, run?.reason]).toEqual(['failed', 'timeout'])
    expect(raised.at(-1)).toEqual(['test/app:it', (run?.token ?? 0) + 1])
    await expect(late()).rejects.toThrow()
    expect(invoices()).toEqual([])
  })

  it('of a paused node writes nothing once the successor has begun (F20)', async () => {
    const world = new FleetWorld()
    const { effects, invoices } = business()
    let late: () => Promise<unknown> = async () => {}
    const handler = job('it', (run) => {
      if (run.attempt > 1) return invoice(run)
      late = () => invoice(run)
      return untilSignal(run)
    })
    const make = (name: string): TestNode => world.node(name, [handler], { effects })
    const [a, b] = [make('a'), make('b')]
    await world.started(a)
    await world.until(31_000)
    await world.started(b)
    a.process.pause()
    await world.until(45_000)
    expect(invoices()).toHaveLength(1)
    // The handler goes on before any timer of its process does.
    await expect(late()).rejects.toThrow()
    a.process.resume()
    await world.until(50_000)
    expect(invoices()).toHaveLength(1)
    expect((await world.rows('it'))[0]).toBe('12:01Z succeeded/2')
  })

  it('of a run that is given up as lost is shut out by whoever gives it up', async () => {
    const world = new FleetWorld()
    const { effects, raised } = business()
    const handler = job('it', untilSignal, { recover: 0 })
    const [a, b] = [world.node('a', [handler], { effects }), world.node('b', [handler], { effects })]
    await world.started(a)
    await world.until(31_000)
    await world.started(b)
    a.process.kill()
    await world.until(45_000)
    const [run] = await world.runs('it')
    expect([run?.state, run?.reason]).toEqual(['failed', 'lost'])
    expect(raised.at(-1)).toEqual(['test/app:it', (run?.token ?? 0) + 1])
  })
})
