import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { Queue, QueueEvents } from 'bullmq'
import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createFleet } from '../src/index.js'
import { Bench, nextEnded } from './bullmq/bench.js'
import type { ChildPlan } from './bullmq/child.js'
import { BUNDLES, bundleMain, type Child, start } from './children.js'
import { type OwnServer, ownServer, sharedServer } from './servers/index.js'

const SCRIPT = join(BUNDLES, `bullmq-${randomUUID()}.mjs`)

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
    const at = new Date(Math.ceil(Date.now() / 1_000) * 1_000 + 4_000).toISOString()
    plan = { url, prefix, fleet: prefix, at }
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

  /** What the ledger says, asked by a node that runs nothing. */
  async function attempts() {
    const fleet = createFleet({ fleet: plan.fleet, service: 'app', store: plan.url, attends: false, logger: false })
    await fleet.start()
    const runs = await fleet.runs({ job: 'once' })
    await fleet.stop()
    return runs.map(({ state, attempts }) => [state, attempts.map(({ node, outcome }) => `${node} ${outcome}`)])
  }

  it('is paused for longer than its lock and its lease: another finishes, and its late word counts for nothing', async () => {
    const a = node('a', true)
    expect(await a.line()).toEqual({ attempt: 1 })
    const ended = nextEnded(queue, events, 'completed')
    a.process.kill('SIGSTOP')
    const b = node('b', false)
    expect(await b.line()).toEqual({ attempt: 2 })
    const { id, returnvalue } = await ended
    expect(returnvalue).toMatchObject({ state: 'succeeded', attempt: 2, node: 'b', result: 'b' })
    a.process.kill('SIGCONT')
    a.process.kill('SIGTERM')
    await a.ended()
    expect(await attempts()).toEqual([['succeeded', ['a lost', 'b succeeded']]])
    expect((await queue.getJob(id ?? ''))?.returnvalue).toEqual(returnvalue)
  })

  it('is killed: its BullMQ job is given to another, which finds the ledger’s answer', async () => {
    const a = node('a', true)
    expect(await a.line()).toEqual({ attempt: 1 })
    const ended = nextEnded(queue, events, 'completed')
    a.process.kill('SIGKILL')
    node('b', false)
    const { returnvalue, attemptsStarted } = await ended
    expect(returnvalue).toMatchObject({ state: 'succeeded', attempt: 2, node: 'b' })
    expect(attemptsStarted).toBe(2)
    expect(await attempts()).toEqual([['succeeded', ['a lost', 'b succeeded']]])
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
