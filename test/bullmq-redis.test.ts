import { once } from 'node:events'
import { Redis } from 'ioredis'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { Bench, type Declared, nextEnded } from './bullmq/bench.js'
import { sharedServer } from './servers/index.js'

let url = ''
let bench: Bench
beforeAll(async () => {
  url = (await sharedServer('redis')).url
})
beforeEach(() => {
  bench = new Bench(url)
})
afterEach(() => bench.end())

/** Due every two seconds; what nobody pokes starts a second later. */
const OFTEN = { cron: '*/2 * * * * *', timeZone: 'UTC' } as const
/** Due in a month or so. */
const RARE = { cron: '0 0 1 1 *', timeZone: 'Europe/Helsinki' } as const

const often = (handler: Declared[2] = () => undefined, more: Declared[1] = {}): Declared => [
  'often',
  { ...OFTEN, ...more },
  handler,
]
const rare = (name = 'rare', more: Declared[1] = {}): Declared => [name, { ...RARE, ...more }, () => undefined]

describe('a job that BullMQ pokes', () => {
  it('runs once for each occurrence, and its BullMQ job tells what became of it', async () => {
    const queue = bench.queue()
    const events = await bench.events()
    const ended = nextEnded(queue, events, 'completed')
    const keys: string[] = []
    const { fleet } = await bench.node([
      often((run) => {
        keys.push(run.key)
        run.log('three were sent', { of: 3 })
        return { sent: 3 }
      }),
    ])
    const job = await ended
    const { returnvalue, data, name, attemptsMade } = job
    expect(returnvalue).toMatchObject({
      job: 'app:often',
      state: 'succeeded',
      cause: 'schedule',
      attempt: 1,
      result: { sent: 3 },
    })
    expect({ data, name, attemptsMade }).toMatchObject({
      data: { fleet: 'billing', job: 'app:often' },
      name: 'often',
      attemptsMade: 1,
    })
    expect((await queue.getJobLogs(job.id ?? '')).logs).toEqual([
      expect.stringMatching(/^attempt 1 on .+#\d+$/),
      'three were sent {"of":3}',
    ])
    expect(keys).toContain(returnvalue.key)
    // It was poked: the fleet would have started it a second later.
    expect(await fleet.occurrence('often', returnvalue.key)).toMatchObject({ readyAt: 0, attempt: 1 })
  })

  it('fails where its run fails, as often as the ledger says, and BullMQ does not try it again', async () => {
    const queue = bench.queue()
    const events = await bench.events()
    const ended = nextEnded(queue, events, 'failed')
    let calls = 0
    await bench.node([
      often(
        () => {
          calls += 1
          throw new Error('no rates today')
        },
        { cron: '*/5 * * * * *', retry: { limit: 1, delay: 10 } },
      ),
    ])
    const { failedReason, attemptsMade } = await ended
    expect(failedReason).toMatch(/^app:often .+: no rates today$/)
    expect({ calls, attemptsMade }).toEqual({ calls: 2, attemptsMade: 1 })
  })

  it('has one run of an occurrence, however many BullMQ jobs fire for it', async () => {
    const queue = bench.queue()
    const events = await bench.events()
    const started: string[] = []
    await bench.node([often((run) => void started.push(run.key), { cron: '*/10 * * * * *' })])
    const first = await nextEnded(queue, events, 'completed')
    const twice = await Promise.all(Array.from({ length: 5 }, () => queue.add('often', first.data)))
    const answers = await Promise.all(twice.map((job) => job.waitUntilFinished(events)))
    expect(answers.map(({ key }) => key)).toEqual(twice.map(() => first.returnvalue.key))
    expect(started).toEqual([first.returnvalue.key])
  })

  it('does not overlap where two workers take its pokes: what finds it running is skipped, and told so', async () => {
    const queue = bench.queue()
    const events = await bench.events()
    const skipped = new Promise<{ key: string; reason: string }>((resolve) => {
      events.on('completed', ({ returnvalue }) => {
        const told = returnvalue as unknown as { state: string; key: string; reason: string }
        if (told.state === 'skipped') resolve(told)
      })
    })
    let running = 0
    let most = 0
    let release = () => {}
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    const job = often(async () => {
      running += 1
      most = Math.max(most, running)
      await released
      running -= 1
    })
    // Another job beside it, so that BullMQ does not hold its pokes back.
    await bench.node([job, rare()])
    await bench.node([job, rare()])
    expect((await skipped).reason).toBe('overlap')
    const ended = nextEnded(queue, events, 'completed')
    release()
    await ended
    expect(most).toBe(1)
  })

  it('is poked at its periods, which count from its first definition', async () => {
    const queue = bench.queue()
    const events = await bench.events()
    const ended = nextEnded(queue, events, 'completed')
    const { fleet } = await bench.node([['period', { every: '1700ms' }, () => undefined]])
    const { key } = (await ended).returnvalue
    const run = await fleet.occurrence('period', key)
    expect(run).toMatchObject({ state: 'succeeded', readyAt: 0 })
  })

  it('is poked at its one moment', async () => {
    const queue = bench.queue()
    const events = await bench.events()
    const ended = nextEnded(queue, events, 'completed')
    const at = new Date(Math.ceil(Date.now() / 1_000) * 1_000 + 2_000)
    const { fleet, door } = await bench.node([['once', { at }, () => 'done'], rare()], {}, { compareEvery: '500ms' })
    expect((await ended).returnvalue).toMatchObject({ state: 'succeeded', result: 'done' })
    expect((await fleet.runs({ job: 'once' })).map(({ readyAt }) => readyAt)).toEqual([0])
    expect(door.queues().map(({ name }) => name)).toEqual(['billing'])
  })
})

describe('the schedulers', () => {
  const patterns = async () =>
    Object.fromEntries(
      (await bench.queue().getJobSchedulers()).map(({ key, pattern, tz }) => [key, `${pattern} ${tz}`]),
    )

  it('are made by any node, once, under stable ids', async () => {
    await bench.node([rare(), rare('a:b')], { attends: false })
    await bench.node([rare(), rare('a:b')], { attends: false })
    const { fleet } = await bench.node([rare(), rare('left', { attend: 'fleet' })])
    await fleet.pause('rare')
    expect(await patterns()).toEqual({
      'app:rare': '0 0 1 1 * Europe/Helsinki',
      'app:a%3Ab': '0 0 1 1 * Europe/Helsinki',
    })
    expect(await bench.queue().getJobCountByTypes('delayed')).toBe(2)
  })

  it('keep an occurrence that is overdue when a node starts with the same definition', async () => {
    const queue = bench.queue()
    const events = await bench.events()
    await bench.node([rare()], { attends: false })
    // Nobody takes pokes: one that is due stays in the queue.
    const [due] = await queue.getDelayed()
    await due?.promote()
    await bench.node([rare()], { attends: false })
    await bench.node([rare()], { attends: false })
    expect((await queue.getWaiting()).map(({ id }) => id)).toEqual([due?.id])
    const ended = nextEnded(queue, events, 'completed')
    await bench.node([rare()])
    expect(await ended).toMatchObject({ id: due?.id, returnvalue: { job: 'app:rare', key: null, state: null } })
    expect((await queue.getJobSchedulers())[0]?.next).toBeGreaterThan(Date.now())
  })

  it('go by the terms in force: an old node that starts again brings no old pattern back', async () => {
    const before = rare('daily')
    const after = rare('daily', { cron: '30 9 1 1 *' })
    await bench.node([before])
    expect(await patterns()).toEqual({ 'app:daily': '0 0 1 1 * Europe/Helsinki' })
    await bench.node([after])
    expect(await patterns()).toEqual({ 'app:daily': '30 9 1 1 * Europe/Helsinki' })
    await bench.node([before])
    expect(await patterns()).toEqual({ 'app:daily': '30 9 1 1 * Europe/Helsinki' })
  })

  it('of a job that is gone are removed by its owner, and only those', async () => {
    const theirs = bench.queue()
    await theirs.upsertJobScheduler(
      'cleanup',
      { pattern: '0 3 * * *' },
      { name: 'cleanup', data: { job: 'app:cleanup' } },
    )
    const other = bench.made([rare('kept')], { fleet: 'shipping', service: 'app' }, { queue: 'billing' })
    await Promise.all([other.fleet.start(), other.door.start()])
    const { fleet } = await bench.node([rare(), rare('gone')], {}, { compareEvery: '500ms' })
    expect(Object.keys(await patterns()).sort()).toEqual(['app:gone', 'app:kept', 'app:rare', 'cleanup'])
    const events = await bench.events()
    const removed = once(events, 'removed')
    await fleet.retire('gone')
    const [{ jobId }] = (await removed) as [{ jobId: string }]
    expect(jobId).toMatch(/^repeat:app:gone:/)
    expect(Object.keys(await patterns()).sort()).toEqual(['app:kept', 'app:rare', 'cleanup'])
  })

  it('that have lost their next job are made again', async () => {
    const queue = bench.queue()
    await bench.node([rare()], { attends: false })
    const [scheduler] = await queue.getJobSchedulers()
    const client = new Redis(url)
    const place = `${bench.prefix}:billing`
    await client.del(`${place}:repeat:app:rare:${scheduler?.next}`)
    await client.del(`${place}:delayed`)
    await client.zadd(`${place}:repeat`, Date.now() - 3_600_000, 'app:rare')
    await client.quit()
    await bench.node([rare()], { attends: false })
    expect((await queue.getJobSchedulers())[0]?.next).toBe(scheduler?.next)
    expect(await queue.getJobCountByTypes('delayed')).toBe(1)
  })
})

describe('the queues', () => {
  it('have a prefix, and nothing is written elsewhere', async () => {
    await bench.node([rare()])
    const client = new Redis(url)
    const keys = await client.keys(`*${bench.prefix}*`)
    await client.quit()
    expect(keys.length).toBeGreaterThan(3)
    for (const key of keys) expect(key).toMatch(new RegExp(`^${bench.prefix}:billing:`))
  })

  it('are taken from by nodes that run handlers, and by no others', async () => {
    await bench.node([rare()], { attends: false })
    expect(await bench.queue().getWorkersCount()).toBe(0)
    await bench.node([rare()])
    expect(await bench.queue().getWorkersCount()).toBe(1)
  })

  it('of one job have its concurrency; others have none', async () => {
    const queue = (job: { readonly name: string }) => (job.name === 'alone' ? 'one' : 'many')
    await bench.node([rare('alone', { concurrency: 3 }), rare('a'), rare('b')], {}, { queue })
    expect(await bench.queue('one').getGlobalConcurrency()).toBe(3)
    expect(await bench.queue('many').getGlobalConcurrency()).toBeNull()
  })

  it('are handed over by a door that closes: another node tells how the run has ended', async () => {
    const queue = bench.queue()
    const events = await bench.events()
    let release = () => {}
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    const job = often(() => released, { cron: '*/10 * * * * *' })
    const a = await bench.node([job])
    await once(events, 'progress')
    const delayed = once(events, 'delayed')
    await a.door.close()
    await delayed
    await bench.node([job])
    const ended = nextEnded(queue, events, 'completed')
    release()
    expect((await ended).returnvalue).toMatchObject({ state: 'succeeded', attempt: 1 })
  })
})
