import { afterEach, describe, expect, it } from 'vitest'
import { resolveJob } from '../src/fleet/job-options.js'
import { createFleet, type Fleet, type JobOptions } from '../src/index.js'
import { createMemoryStore } from '../src/store/memory/index.js'
import { ManualClock } from '../src/testing/manual-clock.js'
import { count, FleetWorld, job, START, untilSignal } from './fleet/world.js'

const POKED = { pokeGraceMs: 60_000, schedule: { cron: '*/5 * * * *', timeZone: 'UTC', dstGap: 'next' } } as const
/** Twelve o'clock and thirty seconds is the world's start; the job is due at 12:05. */
const DUE_MS = 270_000

function nodes(world: FleetWorld, terms: Parameters<typeof job>[2] = POKED, started: string[] = []) {
  const of = (name: string) => world.node(name, [job('it', ({ key }) => void started.push(`${key} ${name}`), terms)])
  return { a: of('a'), b: of('b'), started }
}

describe('a job that is poked', () => {
  it('waits for a poke, and runs on the node that is poked', async () => {
    const world = new FleetWorld()
    const { a, b, started } = nodes(world)
    await world.started(a, b)
    await world.until(DUE_MS + 5_000)
    expect(await world.rows('it')).toEqual(['12:05Z queued/0'])
    const poked = a.node.pokes.poke('app:it')
    await world.pass(100)
    expect((await poked).map(({ key }) => key)).toEqual(['2026-11-29T12:05Z'])
    expect(started).toEqual(['2026-11-29T12:05Z a'])
    expect(await world.rows('it')).toEqual(['12:05Z succeeded/1'])
  })

  it('runs by itself when its grace is over', async () => {
    const world = new FleetWorld()
    const { a, b, started } = nodes(world)
    await world.started(a, b)
    await world.until(DUE_MS + 59_900)
    expect(started).toEqual([])
    await world.pass(1_500)
    expect(started).toHaveLength(1)
    expect(await world.rows('it')).toEqual(['12:05Z succeeded/1'])
  })

  it('has one run of an occurrence that many poke at once, through every node', async () => {
    const world = new FleetWorld()
    const { a, b, started } = nodes(world)
    await world.started(a, b)
    await world.until(DUE_MS)
    const pokes = [a, b, a, b, a].map(({ node }) => node.pokes.poke('app:it'))
    await world.pass(2_000)
    const answers = await Promise.all(pokes)
    expect(answers.map((runs) => runs.map(({ key }) => key))).toEqual(pokes.map(() => ['2026-11-29T12:05Z']))
    expect(started).toHaveLength(1)
    expect(await world.rows('it')).toEqual(['12:05Z succeeded/1'])
  })

  it('counts a poke that comes a little early for the occurrence that it is about', async () => {
    const world = new FleetWorld()
    const { a, b, started } = nodes(world)
    await world.started(a, b)
    await world.until(DUE_MS - 4_000)
    const poked = a.node.pokes.poke('app:it')
    await world.pass(3_900)
    expect(started).toEqual([])
    await world.pass(300)
    expect((await poked).map(({ key }) => key)).toEqual(['2026-11-29T12:05Z'])
    expect(started).toEqual(['2026-11-29T12:05Z a'])
  })

  it('does not count one that comes earlier than that, or for what was done', async () => {
    const world = new FleetWorld()
    const { a, b, started } = nodes(world)
    await world.started(a, b)
    await world.until(DUE_MS - 6_000)
    const early = a.node.pokes.poke('app:it')
    await world.pass(100)
    expect(await early).toEqual([])
    await world.until(DUE_MS + 1_000)
    void b.node.pokes.poke('app:it')
    await world.pass(1_000)
    const replayed = a.node.pokes.poke('app:it')
    await world.pass(100)
    expect((await replayed).map(({ key, state }) => [key, state])).toEqual([['2026-11-29T12:05Z', 'succeeded']])
    expect(started).toHaveLength(1)
  })

  it('is poked through a node that runs nothing, and through a commit that is not answered', async () => {
    const world = new FleetWorld()
    const { a, started } = nodes(world)
    const asking = world.node('web', [], { options: { attends: false } })
    await world.started(a, asking)
    await world.until(DUE_MS + 1_000)
    let lost = 0
    asking.fate = (call) => (call === 'commit' && lost++ === 0 ? { replyMs: 1_000_000, deadlineMs: 500 } : null)
    void asking.node.pokes.poke('app:it')
    await world.pass(5_000)
    expect(started).toEqual(['2026-11-29T12:05Z a'])
    expect(count(asking, 'commit')).toBe(1)
  })

  it('tells of a run that goes on, and of the one that found it in its way', async () => {
    const world = new FleetWorld()
    const a = world.node('a', [job('it', untilSignal, { ...POKED, overlap: 'skip' })])
    await world.started(a)
    await world.until(DUE_MS)
    void a.node.pokes.poke('app:it')
    await world.until(DUE_MS + 300_000)
    const poked = a.node.pokes.poke('app:it')
    await world.pass(100)
    expect((await poked).map(({ key, state }) => [key.slice(11), state])).toEqual([
      ['12:10Z', 'skipped'],
      ['12:05Z', 'running'],
    ])
    const late = a.node.pokes.poke('app:it', { at: new Date(START + DUE_MS) })
    await world.pass(100)
    expect((await late).map(({ key }) => key.slice(11))).toEqual(['12:05Z'])
  })
})

describe('a poke of a job that nobody needs to poke', () => {
  it('looks at once, and tells what was decided last', async () => {
    const world = new FleetWorld()
    const { a, b, started } = nodes(world, { schedule: POKED.schedule })
    await world.started(a, b)
    await world.until(DUE_MS + 1_000)
    const poked = a.node.pokes.poke('app:it')
    await world.pass(100)
    expect((await poked).map(({ key, state }) => [key, state])).toEqual([['2026-11-29T12:05Z', 'succeeded']])
    expect(started).toHaveLength(1)
  })
})

const fleets: Fleet[] = []
afterEach(async () => {
  await Promise.all(fleets.splice(0).map((fleet) => fleet.stop()))
})

describe('fleet.poke', () => {
  async function fleet(options: JobOptions) {
    const clock = new ManualClock(Date.UTC(2026, 10, 29, 7, 59, 30))
    const store = createMemoryStore({ now: () => clock.wall() })
    const made = createFleet({ fleet: 'billing', service: 'app', clock, store, logger: false })
    fleets.push(made)
    made.job('digest', options, () => 'sent')
    await made.start()
    return { made, clock }
  }

  it('gives runs to wait for', async () => {
    const { made, clock } = await fleet({ cron: '0 8 * * *', timeZone: 'UTC', attend: 'poke' })
    await clock.advance(31_000)
    expect((await made.runs()).map(({ state }) => state)).toEqual(['queued'])
    const [run] = await made.poke('digest')
    if (run === undefined) throw new Error('a run is due')
    const ended = made.finished(run)
    await clock.advance(100)
    expect(await ended).toMatchObject({ key: '2026-11-29T08:00', state: 'succeeded', cause: 'schedule' })
  })

  it('refuses what it does not know', async () => {
    const { made } = await fleet({ cron: '0 8 * * *', timeZone: 'UTC', attend: 'poke' })
    await expect(made.poke('digets')).rejects.toMatchObject({
      code: 'JOB_UNKNOWN',
      message: expect.stringContaining("Did you mean 'digest'?"),
    })
    await expect(made.poke('digest', { early: 'soon' })).rejects.toMatchObject({ code: 'OPTION_INVALID' })
    await expect(made.poke('digest', { when: 1 } as object)).rejects.toThrow("there is no option 'when'")
  })
})

describe('the options of a poke', () => {
  const around = { defaults: {}, timeZone: 'UTC', processTimeZone: 'UTC' }
  const terms = (options: JobOptions) => resolveJob('it', options, around).definition

  it('are among the terms of jobs that are poked, and of no others', () => {
    expect(terms({ attend: 'poke' }).pokeGraceMs).toBe(60_000)
    expect(terms({ attend: 'poke', pokeGrace: '5m' }).pokeGraceMs).toBe(300_000)
    const ofFleet = { ...around, defaults: { pokeGrace: '5m' } }
    expect(resolveJob('it', {}, ofFleet).definition).not.toHaveProperty('pokeGraceMs')
    expect(resolveJob('it', { attend: 'poke' }, ofFleet).definition.pokeGraceMs).toBe(300_000)
    expect(resolveJob('it', {}, { ...around, defaults: { attend: 'poke' } }).definition.pokeGraceMs).toBe(60_000)
  })

  it.each([
    [{ attend: 'bullmq' }, "'bullmq' is not one of 'fleet', 'poke'"],
    [{ pokeGrace: '10ms' }, "'10ms' is out of range"],
    [
      { pokeGrace: '5m' },
      "job 'it': pokeGrace: it is how long the fleet waits for a poke, and nobody pokes this job. Add",
    ],
    [{ attend: 'fleet', pokeGrace: '5m' }, "Add attend: 'poke', or leave it out."],
  ])('%j are refused', (options, message) => {
    expect(() => terms(options as JobOptions)).toThrow(message)
  })
})
