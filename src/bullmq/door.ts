import { Queue, Worker } from 'bullmq'
import type { Fleet } from '../fleet/fleet.js'
import { Log } from '../fleet/log.js'
import type { JobView } from '../fleet/lookups.js'
import { stderrLine } from '../fleet/system-clock.js'
import { endsWith } from './connection.js'
import { type BullmqDoorOptions, type ResolvedDoor, resolveDoor } from './options.js'
import { takePoke } from './processor.js'
import { nextPoke } from './repeat.js'
import { compare, type Poke } from './schedulers.js'

/** BullMQ as a door of a fleet: its Job Schedulers say when, and its jobs show what became of the runs. */
export interface BullmqDoor {
  /**
   * Makes the schedulers and, on a node with `attends: true`, takes pokes. To be called before or after the fleet's start: it
   * waits for that. Resolves when both is done; while BullMQ's Redis is away it goes on trying, and the fleet starts by itself what nobody
   * pokes.
   */
  start(): Promise<void>
  /**
   * Takes no more pokes and hands over what it has in hand; runs of this node go on. Call it after `fleet.stop()`: pokes whose runs
   * end while the fleet drains are then told as such.
   */
  close(): Promise<void>
  /** The queues as BullMQ has them, such as for bull-board. */
  queues(): readonly Queue[]
}

/**
 * Opens BullMQ as a door for the jobs with `attend: 'poke'` of this node's service.
 *
 * @example
 * const fleet = createFleet({ fleet: 'billing', store: process.env.DATABASE_URL, defaults: { attend: 'poke' } })
 * fleet.job('daily-invoices', { cron: '0 0 * * *', timeZone: 'Europe/Helsinki' }, invoices)
 * const door = bullmqDoor(fleet, { connection: { url: process.env.REDIS_URL ?? 'redis://localhost' } })
 * await fleet.start()
 * await door.start()
 * @throws FleetcronError `OPTION_INVALID`
 */
export function bullmqDoor(fleet: Fleet, options: BullmqDoorOptions): BullmqDoor {
  return new Door(fleet, options)
}

/** A Redis that is away must not keep a process from ending. */
const CLOSE_MS = 5_000
const ASK_MS = 1_000

/** After a worker's call that failed; a process that ends waits for that too. */
const RUN_RETRY_MS = 1_000

/** After a comparison that failed. */
const RETRY_MS = 5_000

/** The same error is told so often at most. */
const TOLD_MS = 30_000

/** One queue, and the worker that takes its pokes here. */
interface Place {
  readonly queue: Queue<Poke>
  readonly worker: Worker<Poke> | null
}

class Door implements BullmqDoor {
  private readonly options: ResolvedDoor
  private readonly log: Log
  private readonly places = new Map<string, Place>()
  private readonly ending = new AbortController()
  private starting: Promise<void> | null = null
  private closing: Promise<void> | null = null
  private comparing: Promise<void> | null = null
  private timer: NodeJS.Timeout | null = null
  private isWanted = false
  private readonly offs: (() => void)[] = []
  /** By message, when an error was told: while Redis is away there is one for each try to reach it. */
  private readonly told = new Map<string, number>()
  private open = () => {}
  private readonly opened = new Promise<void>((resolve) => {
    this.open = resolve
  })

  constructor(
    private readonly fleet: Fleet,
    options: BullmqDoorOptions,
  ) {
    const stderr = { info: stderrLine, warn: stderrLine, error: stderrLine }
    this.options = resolveDoor(fleet.name, options, stderr)
    this.log = new Log(this.options.logger, { fleet: fleet.name, door: 'bullmq' })
  }

  start(): Promise<void> {
    this.starting ??= this.begin()
    return this.starting
  }

  close(): Promise<void> {
    this.closing ??= this.end()
    return this.closing
  }

  queues(): readonly Queue[] {
    return [...this.places.values()].map(({ queue }) => queue)
  }

  private async begin(): Promise<void> {
    const { fleet } = this
    this.offs.push(
      fleet.on('stopping', () => {
        for (const { worker } of this.places.values()) void worker?.pause(true)
      }),
      fleet.on('stopped', () => void this.close()),
      fleet.on('job-defined', () => this.compareSoon()),
      fleet.on('started', () => this.compareSoon()),
    )
    this.compareSoon()
    await this.opened
  }

  private compareSoon(): void {
    if (this.fleet.health()?.state !== 'running' || this.ending.signal.aborted) return
    this.isWanted = true
    this.comparing ??= this.compareWhileWanted()
  }

  /** Whoever asks while it is under way has it done once more. */
  private async compareWhileWanted(): Promise<void> {
    if (this.timer !== null) clearTimeout(this.timer)
    let isDone = false
    while (this.isWanted) {
      this.isWanted = false
      isDone = await this.compareAll()
    }
    this.comparing = null
    if (isDone) this.open()
    if (this.ending.signal.aborted) return
    const waitMs = isDone ? this.options.compareMs : Math.min(RETRY_MS, this.options.compareMs)
    this.timer = setTimeout(() => this.compareSoon(), waitMs).unref()
  }

  private async compareAll(): Promise<boolean> {
    const { fleet, options } = this
    try {
      const service = fleet.health()?.service ?? ''
      const jobs = (await fleet.jobs({ service })).filter(({ attend, schedule }) => attend === 'poke' && schedule)
      const byQueue = new Map<string, JobView[]>([...options.queues, ...this.places.keys()].map((name) => [name, []]))
      for (const job of jobs) {
        const name = options.queueOf(job)
        byQueue.set(name, [...(byQueue.get(name) ?? []), job])
      }
      const owner = { fleet: fleet.name, service }
      for (const [name, held] of byQueue) {
        if (this.ending.signal.aborted) return false
        const { queue } = this.place(name)
        await compare(queue, owner, held, options.keep, this.log)
        await limit(queue, held)
      }
      return true
    } catch (error) {
      if (!this.ending.signal.aborted) {
        const message = error instanceof Error ? error.message : String(error)
        this.log.error('the schedulers in BullMQ cannot be compared with the ledger; trying again', { error: message })
      }
      return false
    }
  }

  private place(name: string): Place {
    const known = this.places.get(name)
    if (known !== undefined) return known
    const { prefix, concurrency, lockMs } = this.options
    const connection = endsWith(this.options.connection, this.ending.signal)
    const settings = { repeatStrategy: nextPoke }
    const queue = new Queue<Poke>(name, { connection, prefix, settings })
    queue.on('error', (error) => this.failed(name, error))
    let worker: Worker<Poke> | null = null
    if (this.fleet.health()?.attends === true) {
      worker = new Worker<Poke>(name, (job, token) => takePoke(this.fleet, job, token, this.ending.signal), {
        connection,
        prefix,
        settings,
        concurrency,
        lockDuration: lockMs,
        stalledInterval: lockMs,
        runRetryDelay: RUN_RETRY_MS,
        // To be given to another worker again and again is harmless: the ledger has the answer.
        maxStalledCount: 1_000,
      })
      worker.on('error', (error) => this.failed(name, error))
    }
    const place = { queue, worker }
    this.places.set(name, place)
    return place
  }

  private failed(queue: string, error: Error): void {
    const now = Date.now()
    if (this.ending.signal.aborted || now - (this.told.get(error.message) ?? 0) < TOLD_MS) return
    this.told.set(error.message, now)
    this.log.warn('BullMQ reports an error', { queue, error: error.message })
  }

  private async end(): Promise<void> {
    this.ending.abort(new Error('the door is closed'))
    this.open()
    for (const off of this.offs) off()
    if (this.timer !== null) clearTimeout(this.timer)
    const places = [...this.places.values()]
    const [first] = places
    if (first === undefined) return
    // A worker that is closed in good order waits for a Redis that is away, for ever: whether it is there is asked first.
    if (await settledWithin(ASK_MS, first.queue.getGlobalConcurrency())) {
      const closed = places.flatMap(({ queue, worker }) => [worker?.close(), queue.close()])
      if (await settledWithin(CLOSE_MS, Promise.allSettled(closed))) return
    }
    this.log.warn(
      'BullMQ’s Redis does not answer: what this node had in hand is given to another when its lock runs out',
    )
    const left = places.flatMap(({ queue, worker }) => [worker?.close(true), queue.close(), queue.disconnect()])
    await settledWithin(ASK_MS, Promise.allSettled(left))
  }
}

/** False: it failed, or took longer. */
async function settledWithin(ms: number, work: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), ms)
  })
  const done = work.then(
    () => true,
    () => false,
  )
  const isDone = await Promise.race([done, late])
  clearTimeout(timer)
  return isDone
}

/** Where a queue holds one job, BullMQ need not hand out more of its pokes than the ledger lets run. */
async function limit(queue: Queue<Poke>, held: readonly JobView[]): Promise<void> {
  const [only, ...others] = held
  const wanted = only !== undefined && others.length === 0 ? only.concurrency : null
  if ((await queue.getGlobalConcurrency()) === wanted) return
  if (wanted === null) await queue.removeGlobalConcurrency()
  else await queue.setGlobalConcurrency(wanted)
}
