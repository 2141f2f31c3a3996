import { randomUUID } from 'node:crypto'
import { EventEmitter, once } from 'node:events'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type Job, Queue, QueueEvents } from 'bullmq'
import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createFleet } from '../src/index.js'
import { Bench } from './bullmq/bench.js'
import type { ChildPlan, Said } from './bullmq/child.js'
import { BUNDLES, bundleMain, type Child, start } from './children.js'
import { type OwnServer, ownServer, sharedServer } from './servers/index.js'

const SCRIPT = join(BUNDLES, `bullmq-${randomUUID()}.mjs`)

/** The id of the BullMQ job that pokes an occurrence. */
const pokeId = (key: string) => `repeat:app:often:${Date.parse(key)}`

beforeAll(async () => {
  mkdirSync(BUNDLES, { recursive: true })
  await bundleMain('bullmq/child.js', SCRIPT)
})
afterAll(() => rmSync(SCRIPT))

describe('a worker that', () => {
  let plan: Omit<ChildPlan, 'label' | 'holds'>
  let queue: Queue
  let events: QueueEvents
  const children: Child[] = []
  beforeEach(async () => {
    const { url } = await sharedServer('redis')
    const prefix = `fleetcron-${randomUUID()}`
    plan = { url, prefix, fleet: prefix }
    const where = { connection: { url }, prefix }
    queue = new Queue(prefix, where)
    events = new QueueEvents(prefix, where)
    await events.waitUntilReady()
  })
  afterEach(async () => {
    for (const child of children.splice(0)) {
      child.process.kill('SIGKILL')
      await child.ended()
    }
    await events.close()
    await queue.close()
  })

  function node(label: string, holds: boolean): Child {
    const child = start(SCRIPT, [JSON.stringify({ ...plan, label, holds })])
    children.push(child)
    return child
  }

  /** What the ledger says of an occurrence, asked by a node that runs nothing. */
  async function attempts(key: string) {
    const fleet = createFleet({ fleet: plan.fleet, service: 'app', store: plan.url, attends: false, logger: false })
    await fleet.start()
    const run = await fleet.occurrence('app:often', key)
    await fleet.stop()
    return [run?.state, run?.attempts.map(({ node, outcome }) => `${node} ${outcome}`)]
  }

  /** The BullMQ job that tells of a run, when it has ended. */
  function told(key: string): Promise<Job> {
    return new Promise((resolve) => {
      events.on('completed', async ({ jobId, returnvalue }) => {
        if ((returnvalue as unknown as { key: string }).key !== key) return
        const job = await queue.getJob(jobId)
        if (job !== undefined) resolve(job)
      })
    })
  }

  /** The first run that a node holds until its signal fires, and whose BullMQ job is in its hands. */
  async function held(node: Child): Promise<string> {
    const active = new Set<string>()
    const changed = new EventEmitter()
    const on = ({ jobId }: { jobId: string }) => {
      active.add(jobId)
      changed.emit('active')
    }
    events.on('active', on)
    const { key, attempt } = (await node.line()) as Said
    expect(attempt).toBe(1)
    while (!active.has(pokeId(key))) await once(changed, 'active')
    events.off('active', on)
    return key
  }

  it('is paused for longer than its lock and its lease: another finishes, and its late word counts for nothing', async () => {
    const a = node('a', true)
    const key = await held(a)
    a.process.kill('SIGSTOP')
    const ended = told(key)
    const b = node('b', false)
    expect(await b.line()).toEqual({ key, attempt: 2 })
    const { id = '', returnvalue } = await ended
    expect(returnvalue).toMatchObject({ state: 'succeeded', attempt: 2, node: 'b', result: 'b' })
    expect(id).toBe(pokeId(key))
    a.process.kill('SIGCONT')
    a.process.kill('SIGTERM')
    await a.ended()
    expect(await attempts(key)).toEqual(['succeeded', ['a lost', 'b succeeded']])
    expect((await queue.getJob(id))?.returnvalue).toEqual(returnvalue)
  })

  it('is killed: its BullMQ job is given to another, which finds the ledger’s answer', async () => {
    const a = node('a', true)
    const key = await held(a)
    const ended = told(key)
    a.process.kill('SIGKILL')
    node('b', false)
    const { id, returnvalue, attemptsStarted } = await ended
    expect(id).toBe(pokeId(key))
    expect(returnvalue).toMatchObject({ state: 'succeeded', attempt: 2, node: 'b' })
    expect(attemptsStarted).toBe(2)
    expect(await attempts(key)).toEqual(['succeeded', ['a lost', 'b succeeded']])
  })
})

describe('BullMQ’s Redis', () => {
  let server: OwnServer
  let bench: Bench
  beforeEach(async () => {
    server = await ownServer('redis')
    bench = new Bench(server.url)
  })
  afterEach(async () => {
    await bench.end()
    await server.end()
  })

  const often = ['often', { cron: '*/2 * * * * *', timeZone: 'UTC' }, () => undefined] as const

  it('is flushed: the fleet does without pokes, and the schedulers are made again', async () => {
    const events = await bench.events()
    const completed = once(events, 'completed')
    const { fleet } = await bench.node([often], {}, { compareEvery: '5s' })
    await completed
    const unpoked = fleet.once('run-settled', ({ run }) => run.readyAt > 0)
    const client = new Redis(server.url)
    await client.flushall()
    await client.quit()
    expect((await unpoked).run).toMatchObject({ state: 'succeeded', attempt: 1 })
    const { run } = await fleet.once('run-settled', ({ run }) => run.readyAt === 0)
    expect(run.state).toBe('succeeded')
    const keys = (await fleet.runs({ job: 'often' })).map(({ key }) => Date.parse(key)).reverse()
    expect(keys.every((at, index) => index === 0 || at - (keys[index - 1] ?? 0) === 2_000)).toBe(true)
  })

  it('is away: the fleet does without pokes until it is back', async () => {
    const { fleet } = await bench.node([often], {}, { compareEvery: '1s' })
    await fleet.once('run-settled', ({ run }) => run.readyAt === 0)
    await server.kill()
    await fleet.once('run-settled', ({ run }) => run.readyAt > 0)
    await server.again()
    const { run } = await fleet.once('run-settled', ({ run }) => run.readyAt === 0)
    expect(run.state).toBe('succeeded')
    const told = bench.lines.filter((line) => line.includes('BullMQ reports an error'))
    expect(told.length).toBeGreaterThan(0)
    expect(told.length).toBeLessThan(10)
  })

  it('is not there when a node starts: its jobs run all the same, and are poked when it comes', async () => {
    await server.kill()
    const { fleet, door } = bench.made([often], {}, { compareEvery: '1s' })
    await fleet.start()
    const opened = door.start()
    await fleet.once('run-settled', ({ run }) => run.readyAt > 0)
    await server.again()
    await opened
    await fleet.once('run-settled', ({ run }) => run.readyAt === 0)
  })
})
