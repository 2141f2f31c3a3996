import 'reflect-metadata'
import { randomUUID } from 'node:crypto'
import { BullModule, InjectQueue, Processor, WorkerHost } from '@nestjs/bullmq'
import { type INestApplicationContext, Injectable, Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { Test } from '@nestjs/testing'
import { type Job, Queue, QueueEvents } from 'bullmq'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { bullmqDoor } from '../src/bullmq/index.js'
import { Cron, FleetModule, type Run } from '../src/nest/index.js'
import { createMemoryStore } from '../src/store/memory/index.js'
import { runJob, useTestFleet } from '../src/testing/index.js'
import { nextEnded } from './bullmq/bench.js'
import { sharedServer } from './servers/index.js'

let connection: { readonly url: string }
beforeAll(async () => {
  connection = { url: (await sharedServer('redis')).url }
})
const open: { close(): Promise<unknown> }[] = []
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close()
})

/** An application that has queues of its own by @nestjs/bullmq, and a fleet that BullMQ pokes. */
function application(prefix: string) {
  const store = createMemoryStore()
  @Processor('mails')
  class Mails extends WorkerHost {
    override async process(job: Job<{ to: string }>) {
      return `sent to ${job.data.to}`
    }
  }
  @Injectable()
  class Digest {
    constructor(@InjectQueue('mails') private readonly mails: Queue) {}
    @Cron('*/2 * * * * *', { name: 'digest', timeZone: 'UTC', attend: 'poke', pokeGrace: '30s' })
    async send(run: Run) {
      const mail = await this.mails.add('digest', { to: 'ada' }, { jobId: `digest ${run.key}`.replaceAll(':', '-') })
      return mail.name
    }
  }
  @Module({
    imports: [
      BullModule.forRoot({ connection, prefix }),
      BullModule.registerQueue({ name: 'mails' }),
      FleetModule.forRoot({
        fleet: 'billing',
        service: 'app',
        store,
        logger: false,
        pokedBy: (fleet) => bullmqDoor(fleet, { connection, prefix, logger: false }),
      }),
    ],
    providers: [Mails, Digest],
  })
  class AppModule {}
  return { AppModule, store }
}

async function watched(name: string, prefix: string) {
  const queue = new Queue(name, { connection, prefix })
  const events = new QueueEvents(name, { connection, prefix })
  open.push(queue, events)
  await events.waitUntilReady()
  return { queue, events }
}

describe('beside @nestjs/bullmq', () => {
  it('the fleet’s jobs are poked, and the application’s own queues go on', async () => {
    const prefix = `fleetcron-${randomUUID()}`
    const { AppModule, store } = application(prefix)
    const fleets = await watched('billing', prefix)
    const mails = await watched('mails', prefix)
    const poked = nextEnded(fleets.queue, fleets.events, 'completed')
    const sent = nextEnded(mails.queue, mails.events, 'completed')
    const app: INestApplicationContext = await NestFactory.createApplicationContext(AppModule, { logger: false })
    open.push(app)
    const { returnvalue } = await poked
    expect(returnvalue).toMatchObject({ job: 'app:digest', state: 'succeeded', result: 'digest' })
    expect((await sent).returnvalue).toBe('sent to ada')
    const runs = await store.runs({ job: 'app:digest', limit: 100 })
    expect(runs.find(({ key }) => key === returnvalue.key)?.readyAt).toBe(0)
    await app.close()
    expect(await fleets.queue.getWorkersCount()).toBe(0)
  })

  it('a test of the application needs no Redis for its jobs', async () => {
    const prefix = `fleetcron-${randomUUID()}`
    const { AppModule } = application(prefix)
    const builder = await useTestFleet(Test.createTestingModule({ imports: [AppModule] }), {
      now: '2026-11-29T12:00:00Z',
    })
    const app = await (await builder.compile()).createNestApplication({ logger: false }).init()
    open.push(app)
    expect(await runJob(app, 'digest')).toMatchObject({ state: 'succeeded' })
    const { queue } = await watched('billing', prefix)
    expect(await queue.getJobSchedulers()).toEqual([])
  })
})
