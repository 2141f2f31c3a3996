import { describe, expect, it } from 'vitest'
import { Session } from '../src/fleet/session.js'
import { RunAborted } from '../src/fleet/signal.js'
import { FleetWorld, job, type Plan, type TestNode, untilSignal } from './fleet/world.js'

/** A node that runs one handler, which ends by its signal; the run begins at 30 s and lasts. */
async function running(plan: Plan = {}, more: { readonly second?: boolean } = {}) {
  const world = new FleetWorld()
  const fired: { at: number; why: unknown; monotonic: number }[] = []
  const handler = job('long', (run) => {
    run.signal.addEventListener('abort', () => {
      const why = run.signal.reason instanceof RunAborted ? run.signal.reason.why : run.signal.reason
      fired.push({ at: world.clock.elapsed, why, monotonic: a.process.monotonic() })
    })
    return untilSignal(run)
  })
  const a = world.node('a', [handler], plan)
  const b = world.node('b', [job('long', () => undefined)], plan)
  await world.started(a)
  await world.until(31_000)
  expect(a.node.health().running).toHaveLength(1)
  if (more.second) {
    void b.node.start()
    await world.until(34_000)
  }
  return { world, a, b, fired }
}

const lost = (node: TestNode) => node.lines.filter((line) => line.includes('session lost'))

describe('belief in a session', () => {
  it('lasts while beats fail, until nine tenths of the lease after the last accepted request was sent (F25)', async () => {
    const { world, a, fired } = await running()
    await world.until(40_000)
    const lastBeat = a.calls.filter(({ call }) => call === 'beat' || call === 'attend').at(-1)?.at ?? 0
    a.fate = () => ({ refused: true })
    await world.until(lastBeat + 8_990)
    expect(fired).toEqual([])
    expect(a.node.health().session.believed).toBe(true)
    await world.until(lastBeat + 9_010)
    expect(fired).toHaveLength(1)
    expect(fired[0]?.why).toBe('session')
    expect((fired[0]?.at ?? 0) - lastBeat).toBeGreaterThanOrEqual(8_999)
    expect(lost(a)).toHaveLength(1)
  })

  it('goes on after a failed beat that another one follows (F25)', async () => {
    const { world, a, fired } = await running()
    const id = a.node.health().session.id
    a.fate = (call, at) => (call === 'beat' && at > 33_000 && at < 37_500 ? { lost: 'reply', deadlineMs: 2_000 } : null)
    await world.until(60_000)
    expect(fired).toEqual([])
    expect(a.node.health().session.id).toBe(id)
  })

  it('is not renewed by an answer that comes after its end, although it says OK', async () => {
    const { world, a, fired } = await running()
    const id = a.node.health().session.id
    a.fate = (call) => (call === 'settle' ? null : { requestMs: 10, replyMs: 9_500 })
    await world.until(60_000)
    expect(fired.map(({ why }) => why)).toEqual(['session'])
    expect(a.node.health().session.id).not.toBe(id)
  })

  it('counts from when a request was sent, not from its answer', async () => {
    const { world, a, fired } = await running({ leaseMs: 10_000 })
    let sent = 0
    a.fate = (call, at) => {
      if (call !== 'beat' || sent > 0) return at > 33_000 ? { refused: true } : null
      sent = at
      return { requestMs: 10, replyMs: 4_000 }
    }
    await world.until(60_000)
    expect(sent).toBeGreaterThan(31_000)
    expect(fired).toHaveLength(1)
    expect(fired[0]?.at).toBeLessThanOrEqual(sent + 9_005)
  })

  it('ends at once when the machine has slept', async () => {
    const { world, a, fired } = await running()
    a.process.suspend()
    await world.pass(4_000)
    a.process.resume()
    const before = a.process.monotonic()
    await world.pass(600)
    expect(fired.map(({ why }) => why)).toEqual(['suspend'])
    expect((fired[0]?.monotonic ?? 0) - before).toBeLessThanOrEqual(500)
    expect(lost(a)[0]).toContain('suspended')
  })

  it('ends at once by the wall clock where the clock cannot tell a suspend', async () => {
    const { world, a, fired } = await running({ knowsSuspend: false })
    a.process.suspend()
    await world.pass(4_000)
    a.process.resume()
    await world.pass(600)
    expect(fired.map(({ why }) => why)).toEqual(['suspend'])
  })

  it.each([true, false])(
    'counts the sleep of a machine between a request and its answer (its clock can tell: %s)',
    async (knowsSuspend) => {
      const world = new FleetWorld()
      const starts: number[] = []
      const a = world.node('a', [job('it', () => void starts.push(world.clock.elapsed))], { knowsSuspend })
      await world.started(a)
      let sent = 0
      a.fate = (call, at) => {
        if (call !== 'attend' || sent > 0 || at < 30_000) return null
        sent = at
        return { requestMs: 9_400, replyMs: 100 }
      }
      await world.until(30_100)
      expect(sent).toBeGreaterThan(30_000)
      a.process.suspend()
      await world.until(39_000)
      a.process.resume()
      await world.until(40_500)
      // An answer to a request of before the sleep is too old to act on, however new it looks to a clock that stood still.
      const after = a.calls.filter(({ at }) => at > sent && at > 39_000).map(({ call }) => call)
      expect(after.indexOf('attend')).toBeGreaterThanOrEqual(0)
      expect(after.indexOf('attend')).toBeLessThan(after.indexOf('commit'))
      expect(starts).toHaveLength(1)
    },
  )

  it.each([true, false])(
    'ends by a sleep also while nothing is held (the clock can tell: %s)',
    async (knowsSuspend) => {
      const world = new FleetWorld()
      const process = world.clock.process('a', { knowsSuspend })
      const session = new Session('s', 'n', 10_000, process)
      expect(session.accept(process.monotonic())).toBe(true)
      await world.pass(1_000)
      process.suspend()
      await world.pass(400)
      process.resume()
      expect(session.believed(), 'a nap is within the margin').toBe(true)
      process.suspend()
      await world.pass(7_700)
      process.resume()
      expect(session.believed(), 'nine seconds and a tenth').toBe(false)
      expect(session.accept(process.monotonic())).toBe(true)
      expect(session.believed()).toBe(true)
    },
  )

  it.each([3_600_000, -3_600_000])('does not notice that somebody set the wall clock by %i ms', async (by) => {
    const { world, a, fired } = await running()
    const id = a.node.health().session.id
    a.process.stepWall(by)
    await world.until(120_000)
    expect(fired).toEqual([])
    expect(a.node.health().session.id).toBe(id)
    expect(a.node.health().store.wallAheadMs).toBe(by)
  })

  it('ends when the process was stopped for longer than the lease, and says for how long', async () => {
    const { world, a, b, fired } = await running({}, { second: true })
    a.process.pause()
    await world.pass(15_000)
    const rows = await world.rows('long')
    expect(rows).toEqual(['12:01Z succeeded/2'])
    a.process.resume()
    await world.pass(100)
    expect(fired.map(({ why }) => why)).toEqual(['session'])
    expect(lost(a)[0]).toMatch(/blocked, or the process stopped, for 1[45]\.\d s \(lease 10 s\)/)
    expect(await world.rows('long')).toEqual(['12:01Z succeeded/2'])
    expect(b.lines.some((line) => line.includes('attempt=2'))).toBe(true)
  })

  it('is looked at by a handler that goes on before any timer', async () => {
    const world = new FleetWorld()
    const seen: boolean[] = []
    let resume = () => {}
    const handler = job('blocks', async (run) => {
      await new Promise<void>((resolve) => {
        resume = resolve
      })
      seen.push(run.signal.aborted)
      run.signal.throwIfAborted()
    })
    const a = world.node('a', [handler])
    await world.started(a)
    await world.until(31_000)
    a.process.pause()
    await world.pass(15_000)
    // The process goes on, and the first thing that happens is the handler.
    resume()
    await world.pass(0)
    expect(seen).toEqual([true])
  })

  it('ends when the store says that the session is over, and another one begins under the same node', async () => {
    const { world, a, fired } = await running()
    const before = a.node.health()
    await world.store.beat(
      { id: before.session.id, node: before.node, leaseMs: 10_000 },
      { services: ['app'], buckets: new Set(), attempts: [], room: true, end: true },
    )
    await world.pass(4_000)
    expect(fired.map(({ why }) => why)).toEqual(['session'])
    const after = a.node.health()
    expect(after.session.id).not.toBe(before.session.id)
    expect(after.node).toBe(before.node)
  })

  it('has a run taken over within the lease and a second after a kill', async () => {
    const { world, a, b } = await running({}, { second: true })
    await world.until(45_123)
    a.process.kill()
    await world.until(45_123 + 11_000)
    expect(await world.rows('long')).toEqual(['12:01Z succeeded/2'])
    expect(b.node.health().running).toEqual([])
  })

  it('does not charge a run whose node only lost its session', async () => {
    const { world, a } = await running()
    a.fate = (call, at) => (call !== 'settle' && at > 33_000 && at < 50_000 ? { refused: true } : null)
    await world.until(80_000)
    const [run] = await world.runs('long')
    expect(run?.recoveries).toBe(0)
    expect(run?.attempt).toBeGreaterThan(1)
    expect(a.node.health().running).toHaveLength(1)
  })

  it('survives two nodes that are cut off together: none of their runs fails', async () => {
    const { world, a, b } = await running({}, { second: true })
    const away = (_: string, at: number) => (at > 40_000 && at < 70_000 ? { refused: true as const } : null)
    a.fate = away
    b.fate = away
    await world.until(150_000)
    const runs = await world.runs('long')
    expect(runs.filter((run) => run.state === 'failed')).toEqual([])
  })
})
