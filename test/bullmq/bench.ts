import { randomUUID } from 'node:crypto'
import { type Job, Queue, QueueEvents } from 'bullmq'
import { type BullmqDoor, type BullmqDoorOptions, bullmqDoor } from '../../src/bullmq/index.js'
import { createFleet, type Fleet, type FleetOptions, type Handler, type JobOptions } from '../../src/index.js'
import { createMemoryStore } from '../../src/store/memory/index.js'

/** A job as a case declares it. */
export type Declared = readonly [name: string, options: JobOptions, handler: Handler<never>]

interface NodeOf {
  readonly fleet: Fleet
  readonly door: BullmqDoor
}

/** Nodes of one fleet on the real clock, in this process, with BullMQ in a place of their own in a Redis. */
export class Bench {
  readonly prefix = `fleetcron-${randomUUID()}`
  readonly store = createMemoryStore()
  readonly lines: string[] = []
  readonly connection: { readonly url: string }
  private readonly ends: (() => Promise<unknown>)[] = []

  constructor(url: string) {
    this.connection = { url }
  }

  /** A started node, with its door open. */
  async node(
    jobs: readonly Declared[],
    options: Partial<FleetOptions> = {},
    door: Partial<BullmqDoorOptions> = {},
  ): Promise<NodeOf> {
    const made = this.made(jobs, options, door)
    await Promise.all([made.fleet.start(), made.door.start()])
    return made
  }

  made(jobs: readonly Declared[], options: Partial<FleetOptions> = {}, more: Partial<BullmqDoorOptions> = {}): NodeOf {
    const write = (line: string) => void this.lines.push(line)
    const logger = { info: write, warn: write, error: write }
    const fleet = createFleet({
      fleet: 'billing',
      service: 'app',
      store: this.store,
      defaults: { attend: 'poke' },
      logger,
      ...options,
    })
    for (const [name, terms, handler] of jobs) fleet.job(name, terms, handler)
    const { connection, prefix } = this
    const door = bullmqDoor(fleet, { connection, prefix, logger, ...more })
    this.ends.push(async () => {
      await fleet.stop({ grace: 0 })
      await door.close()
    })
    return { fleet, door }
  }

  /** The queue as anybody else sees it. */
  queue(name = 'billing'): Queue {
    const queue = new Queue(name, { connection: this.connection, prefix: this.prefix })
    this.ends.push(() => queue.close())
    return queue
  }

  /** BullMQ's events, from now on. */
  async events(name = 'billing'): Promise<QueueEvents> {
    const events = new QueueEvents(name, { connection: this.connection, prefix: this.prefix })
    this.ends.push(() => events.close())
    await events.waitUntilReady()
    return events
  }

  async end(): Promise<void> {
    for (const end of this.ends.splice(0).reverse()) await end()
  }
}

/** The next BullMQ job of a queue that ends so. */
export function nextEnded(queue: Queue, events: QueueEvents, how: 'completed' | 'failed'): Promise<Job> {
  return new Promise((resolve, reject) => {
    events.once(how, ({ jobId }: { jobId: string }) => {
      queue.getJob(jobId).then((job) => (job ? resolve(job) : reject(new Error(`${jobId} is gone`))), reject)
    })
  })
}
