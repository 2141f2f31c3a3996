import type { Effects } from '../../src/effect/port.js'
import { DEFAULTS } from '../../src/fleet/job-options.js'
import type { Logger } from '../../src/fleet/log.js'
import { createNode, type FleetNode, type HostedJob, type NodeOptions } from '../../src/fleet/node.js'
import type { Run } from '../../src/fleet/run.js'
import type { Definition, Run as RunRecord } from '../../src/ledger/types.js'
import { createMemoryStore } from '../../src/store/memory/index.js'
import { VirtualClock, type VirtualProcess } from '../../src/testing/clock.js'
import { type Fate, faultyStore, type StoreCall } from '../../src/testing/faulty-store.js'

/** 12:00:00 UTC; no minute is due for 30 seconds. */
export const START = Date.UTC(2026, 10, 29, 12, 0, 30)

export interface Call {
  readonly call: StoreCall
  readonly at: number
}

/** One node in the world: its process, what it asked of the store, what it logged. */
export interface TestNode {
  readonly name: string
  readonly process: VirtualProcess
  readonly node: FleetNode
  readonly calls: Call[]
  readonly lines: string[]
  /** Decides about each call; null: it fares well. */
  fate: (call: StoreCall, at: number) => Partial<Fate> | null
}

export interface Plan {
  readonly effects?: Effects
  readonly leaseMs?: number
  readonly options?: Partial<NodeOptions>
  readonly knowsSuspend?: boolean
}

/** A fleet on virtual time with a memory store behind a network that takes a millisecond each way. */
export class FleetWorld {
  readonly clock = new VirtualClock(START)
  storeOffsetMs = 0
  readonly store = createMemoryStore({ now: () => this.clock.now + this.storeOffsetMs })

  node(name: string, jobs: readonly HostedJob[], plan: Plan = {}): TestNode {
    const process = this.clock.process(name, { knowsSuspend: plan.knowsSuspend ?? true })
    const calls: Call[] = []
    const lines: string[] = []
    const wire = {
      toStore: (delayMs: number, fn: () => void) => this.clock.after(delayMs, fn),
      toCaller: (delayMs: number, fn: () => void) => process.arrive(delayMs, fn),
    }
    const store = faultyStore(this.store, wire, (call) => {
      calls.push({ call, at: this.clock.elapsed })
      return { requestMs: 1, replyMs: 1, deadlineMs: 60_000, ...self.fate(call, this.clock.elapsed) }
    })
    const write = (line: string) => void lines.push(line)
    const logger: Logger = { info: write, warn: write, error: write }
    const node = createNode({
      fleet: 'test',
      service: 'app',
      label: name,
      clock: process,
      store,
      jobs,
      logger,
      ...(plan.effects === undefined ? {} : { effects: plan.effects }),
      ...(plan.leaseMs === undefined ? {} : { leaseMs: plan.leaseMs }),
      ...plan.options,
    })
    const self: TestNode = { name, process, node, calls, lines, fate: () => null }
    return self
  }

  /** Starts nodes and lets two seconds pass. */
  async started(...nodes: readonly TestNode[]): Promise<void> {
    for (const { node } of nodes) void node.start()
    await this.pass(2_000)
  }

  /** Lets time pass. */
  pass(ms: number): Promise<void> {
    return this.clock.run(this.clock.now + ms)
  }

  /** Lets time pass until so long after the start. */
  until(elapsedMs: number): Promise<void> {
    return this.clock.run(START + elapsedMs)
  }

  runs(job?: string): Promise<readonly RunRecord[]> {
    return this.store.runs({ limit: 1_000, ...(job === undefined ? {} : { job: `app:${job}` }) })
  }

  /** The rows of a job in words, oldest first: `12:01 succeeded/2`. */
  async rows(job: string): Promise<string[]> {
    const runs = await this.runs(job)
    return runs.map((run) => `${run.key.slice(11)} ${run.state}/${run.attempt}`).reverse()
  }
}

/** A job, due every minute unless said otherwise. */
export function job(
  name: string,
  handler: (run: Run<never>) => unknown,
  terms: Partial<Definition> = {},
  more: Partial<HostedJob> = {},
): HostedJob {
  const schedule = { cron: '* * * * *', timeZone: 'UTC', dstGap: 'next' } as const
  return { id: name, name, handler, zoneDefaulted: false, definition: { schedule, ...DEFAULTS, ...terms }, ...more }
}

/** A handler that ends when its signal fires, by throwing its reason. */
export function untilSignal(run: Run<never>): Promise<never> {
  return new Promise((_, reject) => {
    run.signal.addEventListener('abort', () => reject(run.signal.reason))
  })
}

/** A handler that takes so long on its process's clock, unless its signal fires first. */
export function lasting(process: () => VirtualProcess, ms: number): (run: Run<never>) => Promise<void> {
  return (run) =>
    new Promise((resolve, reject) => {
      process().after(ms, resolve)
      run.signal.addEventListener('abort', () => reject(run.signal.reason))
    })
}

export function count(node: TestNode, call: StoreCall, from = 0, to = Number.POSITIVE_INFINITY): number {
  return node.calls.filter((one) => one.call === call && one.at >= from && one.at < to).length
}

/** Runs one minute job once, with these terms, and gives its row. */
export async function outcomeOf(handler: Parameters<typeof job>[1], terms: Partial<Definition> = {}, until = 50_000) {
  const world = new FleetWorld()
  const a = world.node('a', [job('it', handler, terms)])
  await world.started(a)
  await world.until(until)
  const [run] = await world.runs('it')
  return { world, a, run }
}
