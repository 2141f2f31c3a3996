import { describe, expect, it } from 'vitest'
import { FleetWorld, job, START, type TestNode, untilSignal } from './fleet/world.js'

const ON_REQUEST = { schedule: null } as const

/** Lets time pass until the promise has settled, at most half a minute. */
async function within<T>(world: FleetWorld, promise: Promise<T>): Promise<T> {
  let done = false
  const settled = promise.finally(() => {
    done = true
  })
  settled.catch(() => undefined)
  for (let round = 0; round < 300 && !done; round += 1) await world.pass(100)
  expect(done).toBe(true)
  return settled
}

async function fleet(
  handler: Parameters<typeof job>[1] = () => undefined,
  terms: Parameters<typeof job>[2] = ON_REQUEST,
) {
  const world = new FleetWorld()
  const a = world.node('a', [job('it', handler, terms)])
  await world.started(a)
  return { world, a, commands: a.node.commands }
}

describe('trigger', () => {
  it('runs a job once with its data', async () => {
    const given: unknown[] = []
    const { world, commands } = await fleet((run) => given.push([run.cause, run.data, run.covers]))
    const run = await within(world, commands.trigger('app:it', { data: { tenant: 7 } }))
    await world.pass(100)
    expect(given).toEqual([['manual', { tenant: 7 }, null]])
    expect((await world.runs('it')).map(({ key, state }) => [key, state])).toEqual([[run.key, 'succeeded']])
  })

  it('gives the first run again for the same key, and refuses other data', async () => {
    const { world, commands } = await fleet()
    const first = await within(world, commands.trigger('app:it', { key: 'k', data: { a: 1, b: 2 } }))
    const again = await within(world, commands.trigger('app:it', { key: 'k', data: { b: 2, a: 1 } }))
    expect(again.key).toBe(first.key)
    expect(await world.runs('it')).toHaveLength(1)
    await expect(within(world, commands.trigger('app:it', { key: 'k', data: { a: 2 } }))).rejects.toMatchObject({
      code: 'REQUEST_CONFLICT',
    })
    await expect(within(world, commands.trigger('app:it', { key: 'k' }))).rejects.toMatchObject({
      code: 'REQUEST_CONFLICT',
    })
  })

  it.each(['request', 'reply'] as const)('makes one run although the %s of its commit was lost', async (lost) => {
    const { world, a, commands } = await fleet()
    let met = false
    a.fate = (call) => {
      if (call !== 'commit' || met) return null
      met = true
      return { lost, deadlineMs: 500 }
    }
    const run = await within(world, commands.trigger('app:it'))
    await world.pass(500)
    expect((await world.runs('it')).map(({ key, state }) => [key, state])).toEqual([[run.key, 'succeeded']])
  })

  it('is refused where somebody else used its key with other data while its own commit was in doubt', async () => {
    const { world, a, commands } = await fleet()
    const b = world.node('b', [], { options: { attends: false } })
    await world.started(b)
    let met = false
    a.fate = (call) => {
      if (call !== 'commit' || met) return null
      met = true
      return { lost: 'request', deadlineMs: 500 }
    }
    const mine = commands.trigger('app:it', { key: 'k', data: 'mine' })
    mine.catch(() => undefined)
    await within(world, b.node.commands.trigger('app:it', { key: 'k', data: 'theirs' }))
    await expect(within(world, mine)).rejects.toMatchObject({ code: 'REQUEST_CONFLICT' })
  })

  it('makes one run although its commit comes twice, or late', async () => {
    const { world, a, commands } = await fleet()
    let met = 0
    a.fate = (call) => {
      if (call !== 'commit') return null
      met += 1
      return met === 1 ? { requestMs: 700, deadlineMs: 300, againMs: 300 } : null
    }
    await within(world, commands.trigger('app:it', { key: 'x' }))
    await world.pass(5_000)
    expect(await world.runs('it')).toHaveLength(1)
  })

  it('is refused where the queue is full, where nobody knows the job, and before the start', async () => {
    const { world, commands } = await fleet(untilSignal, { ...ON_REQUEST, queue: 1 })
    await within(world, commands.trigger('app:it'))
    await world.pass(100)
    await within(world, commands.trigger('app:it'))
    await expect(within(world, commands.trigger('app:it'))).rejects.toMatchObject({ code: 'QUEUE_FULL' })
    await expect(within(world, commands.trigger('app:no'))).rejects.toMatchObject({ code: 'JOB_UNKNOWN' })
    const b = world.node('b', [])
    await expect(b.node.commands.trigger('app:it')).rejects.toMatchObject({ code: 'NOT_STARTED' })
  })

  it.each([
    ['data', { data: 10n }, 'cannot be written as JSON'],
    ['data', { data: () => 1 }, 'nothing that JSON knows'],
    ['data', { data: 'x'.repeat(70_000) }, 'at most 65536'],
    ['key', { key: '' }, '1 to 1000 characters'],
  ])('refuses %s that cannot be kept', async (_, request, words) => {
    const { commands } = await fleet()
    await expect(commands.trigger('app:it', request)).rejects.toThrow(words)
  })

  it('works on a node that runs nothing, and on a job of another node', async () => {
    const world = new FleetWorld()
    const seen: string[] = []
    const a = world.node('a', [job('it', (run) => seen.push(run.node), ON_REQUEST)])
    const asks = world.node('asks', [], { options: { attends: false } })
    await world.started(a, asks)
    await within(world, asks.node.commands.trigger('app:it'))
    await world.pass(1_000)
    expect(seen).toEqual(['a'])
  })
})

describe('cancel', () => {
  it('fires the signal of the holder on another node, and the run ends as cancelled', async () => {
    const world = new FleetWorld()
    const fired: unknown[] = []
    const handler = job(
      'it',
      (run) => {
        run.signal.addEventListener('abort', () => fired.push([run.node, run.signal.reason.why]))
        return untilSignal(run)
      },
      ON_REQUEST,
    )
    const a = world.node('a', [handler])
    const b = world.node('b', [], { options: { attends: false } })
    await world.started(a, b)
    const run = await within(world, a.node.commands.trigger('app:it'))
    await world.pass(100)
    await within(world, b.node.commands.cancel(run, { by: 'me', why: 'wrong tenant' }))
    await world.pass(4_000)
    expect(fired).toEqual([['a', 'cancel']])
    const [row] = await world.runs('it')
    expect([row?.state, row?.stop?.why, row?.stop?.by]).toEqual(['cancelled', 'wrong tenant', 'me'])
  })

  it('at its own node fires at once', async () => {
    const { world, commands } = await fleet(untilSignal)
    const run = await within(world, commands.trigger('app:it'))
    await world.pass(100)
    await within(world, commands.cancel(run))
    await world.pass(20)
    expect((await world.runs('it'))[0]?.state).toBe('cancelled')
  })

  it('of a handler that ignores its signal frees the place after five seconds', async () => {
    const { world, a, commands } = await fleet(() => new Promise(() => {}))
    const run = await within(world, commands.trigger('app:it'))
    await world.pass(100)
    await within(world, commands.cancel(run))
    await world.pass(5_200)
    expect((await world.runs('it'))[0]?.state).toBe('cancelled')
    expect(a.node.health().abandoned).toHaveLength(1)
  })

  it('is refused for a run that has ended or never was', async () => {
    const { world, commands } = await fleet()
    const run = await within(world, commands.trigger('app:it'))
    await world.pass(100)
    await expect(within(world, commands.cancel(run))).rejects.toMatchObject({ code: 'STATE_CONFLICT' })
    await expect(within(world, commands.cancel({ job: 'app:it', key: 'no' }))).rejects.toMatchObject({
      code: 'RUN_UNKNOWN',
    })
  })
})

describe('replace', () => {
  it('asks the running one to stop and starts the newer one', async () => {
    const world = new FleetWorld()
    const seen: string[] = []
    const a = world.node('a', [
      job(
        'it',
        (run) => {
          seen.push(run.key.slice(11))
          return untilSignal(run)
        },
        { overlap: 'replace' },
      ),
    ])
    await world.started(a)
    await world.until(100_000)
    expect(seen).toEqual(['12:01Z', '12:02Z'])
    expect((await world.rows('it'))[0]).toBe('12:01Z cancelled/1')
  })
})

describe('pause, resume, retry and backfill', () => {
  it('pause keeps a job from starting, resume lets it start again', async () => {
    const { world, commands } = await fleet(() => undefined, {})
    await within(world, commands.pause('app:it', { why: 'stocktaking' }))
    await world.until(100_000)
    await within(world, commands.resume('app:it'))
    await world.until(155_000)
    expect(await world.rows('it')).toEqual(['12:01Z missed/0', '12:03Z succeeded/1'])
  })

  it('retry does failed work once more, with the same date', async () => {
    let calls = 0
    const { world, commands } = await fleet(() => {
      calls += 1
      if (calls === 1) throw new Error('once')
    })
    const run = await within(world, commands.trigger('app:it', { data: 5 }))
    await world.pass(100)
    const again = await within(world, commands.retry(run))
    await world.pass(100)
    const rows = await world.runs('it')
    expect(rows.map(({ state, retryOf, data }) => [state, retryOf, data])).toEqual([
      ['succeeded', run.key, '5'],
      ['failed', null, '5'],
    ])
    expect(again.date).toBe(run.date)
    await expect(within(world, commands.retry(again))).rejects.toMatchObject({ code: 'STATE_CONFLICT' })
  })

  it('backfill makes one run for each past occurrence', async () => {
    const seen: string[] = []
    const { world, commands } = await fleet((run) => seen.push(`${run.cause} ${run.covers?.from.slice(11)}`), {})
    const made = await within(world, commands.backfill('app:it', { from: START - 120_000, to: START }))
    await world.pass(1_000)
    expect(made).toBe(2)
    expect(seen).toEqual(['backfill 11:59Z', 'backfill 12:00Z'])
    await expect(
      within(world, commands.backfill('app:it', { from: START, to: START + 3_600_000 })),
    ).rejects.toMatchObject({ code: 'OPTION_INVALID' })
  })

  it('retire takes a job out of service, and a node that carries it brings it back when it starts', async () => {
    const { world, commands } = await fleet(() => undefined, {})
    await within(world, commands.retire('app:it'))
    // Another manifest comes and goes: the first node looks again, and leaves the job retired.
    const other: TestNode = world.node('other', [job('another', () => undefined)])
    await world.started(other)
    await within(world, other.node.stop())
    await world.until(400_000)
    expect(await world.rows('it')).toEqual([])
    const b: TestNode = world.node('b', [job('it', () => undefined)])
    await world.started(b)
    await world.until(460_000)
    expect(await world.rows('it')).toEqual(['12:08Z succeeded/1'])
  })
})

describe('look-ups', () => {
  it('list jobs, runs, and what became of an occurrence', async () => {
    const { world, a } = await fleet(untilSignal, {})
    await world.until(160_000)
    const jobs = await within(world, a.node.lookups.jobs())
    expect(jobs).toMatchObject([{ job: 'app:it', name: 'it', running: 1, waiting: 0, hosted: true, retired: false }])
    expect(jobs[0]?.next?.getTime()).toBe(START + 210_000)
    const found = await within(world, a.node.lookups.occurrence('app:it', '2026-11-29T12:03Z'))
    expect([found?.state, found?.reason, found?.covers?.count]).toEqual(['skipped', 'overlap', 2])
    expect(await within(world, a.node.lookups.occurrence('app:it', '2026-11-29T12:01Z'))).toMatchObject({
      state: 'running',
    })
    expect(await within(world, a.node.lookups.occurrence('app:it', '2026-11-30T12:01Z'))).toBe(null)
    expect((await within(world, a.node.lookups.history())).map(({ kind }) => kind)).toEqual(['defined'])
  })
})
