import { createEffects } from '../../effect/effects.js'
import type { Effects } from '../../effect/port.js'
import { createNode, type FleetNode } from '../../fleet/node.js'
import { createMemoryStore, type MemorySnapshot, type MemoryStore } from '../../store/memory/index.js'
import { VirtualClock, type VirtualProcess } from '../clock.js'
import { Random } from '../random.js'
import { BusinessDatabase } from './business.js'
import { handlerOf, type Surroundings } from './handlers.js'
import { Network } from './network.js'
import type { Observation } from './observations.js'
import type { NodePlan, Plan } from './plan.js'
import { Tally } from './tally.js'
import { Witness } from './witness.js'
import { skewed, type ZoneTable, zoneData } from './zones.js'

/** One started node, as long as its process lives. */
export interface Living {
  readonly plan: NodePlan
  readonly process: VirtualProcess
  readonly node: FleetNode
  readonly release: number
  readonly zones: ZoneTable
  stopping: boolean
}

/** The service that all jobs of a simulation belong to. */
export const SERVICE = 'sim'

/**
 * The little world of one simulation: true time, a store with a clock of its own, a business database, a network, and
 * the processes of the fleet. It does what it is told; `acts` and chance decide what that is.
 */
export class World {
  readonly clock: VirtualClock
  readonly tally = new Tally()
  readonly witness: Witness
  readonly network: Network
  readonly business: BusinessDatabase
  readonly living = new Map<string, Living>()
  /** Zone data by process, dead ones too. */
  readonly zonesOf = new Map<string, ZoneTable>()
  readonly random: Random
  calm = false
  storeOffsetMs = 0
  readonly #store: MemoryStore
  readonly #releases = new Map<string, number>()
  readonly #skews = new Map<string, string | null>()
  readonly #starts = new Map<string, number>()
  #snapshot: MemorySnapshot | null = null
  #handlers = 0

  constructor(
    readonly plan: Plan,
    readonly report: (observation: Observation) => void,
  ) {
    this.clock = new VirtualClock(plan.start)
    this.random = new Random(`world/${plan.seed}`)
    const storeNow = () => this.clock.now + this.storeOffsetMs
    this.#store = createMemoryStore({ now: storeNow, fleet: 'sim' })
    this.witness = new Witness(this.#store, this.clock, storeNow, report)
    this.network = new Network(this.clock, this.witness, this.tally, report)
    const statements = this.random.fork('statements')
    const troubled = plan.families.has('business')
    this.business = new BusinessDatabase(this.clock, {
      idleMs: plan.leaseMs,
      statement: () => ({
        requestMs:
          troubled && !this.calm && statements.chance(0.03)
            ? statements.int(200, 3_000)
            : Math.max(0, statements.int(-5, 3)),
        replyLost: troubled && !this.calm && statements.chance(0.02),
      }),
      onRaised: (resource, token) => report({ kind: 'raised', at: this.clock.now, resource, token }),
      onEffect: ({ key, row, resources, invoices }) => {
        const { job, run, token } = row
        const about = { key, job, run, token, resources: [...resources], invoices: invoices.length }
        report({ kind: 'effect', at: this.clock.now, ...about })
      },
    })
  }

  get storeNow(): number {
    return this.clock.now + this.storeOffsetMs
  }

  start(name: string, release?: number, skew?: string | null): void {
    const plan = this.plan.nodes.find((node) => node.name === name)
    if (!plan || this.living.has(name)) return
    if (release !== undefined) this.#releases.set(name, release)
    if (skew !== undefined) this.#skews.set(name, skew)
    const count = (this.#starts.get(name) ?? 0) + 1
    this.#starts.set(name, count)
    const id = `${name}.${count}`
    const random = this.random.fork(id)
    const { wallOffsetMs, wallRate, knowsSuspend } = plan
    const view = { wallOffsetMs, wallRate, knowsSuspend, earlyTimers: 0.02, random: random.fork('clock') }
    const process = this.clock.process(id, view)
    const zones = skewed(this.#skews.get(name) ?? plan.skew)
    const carried = this.#releases.get(name) ?? 0
    this.zonesOf.set(id, zones)
    const node = this.#node(plan, process, carried, zones, random)
    this.living.set(name, { plan, process, node, release: carried, zones, stopping: false })
    this.#process(id, 'started')
    node.events.on('session-lost', ({ session, why, runs }) => {
      this.report({ kind: 'session-lost', at: this.clock.now, process: id, session, why, runs })
    })
    node.events.on('job-parked', ({ job, error }) => {
      this.report({ kind: 'parked', at: this.clock.now, process: id, job, error })
    })
    void node.start()
  }

  kill(name: string): void {
    const one = this.living.get(name)
    if (!one) return
    one.process.kill()
    this.living.delete(name)
    this.#process(one.process.name, 'killed')
  }

  /** SIGTERM: the process ends when its node has stopped. */
  stop(name: string, graceMs: number): void {
    const one = this.living.get(name)
    if (!one || one.stopping || one.process.state !== 'running') return
    one.stopping = true
    this.#process(one.process.name, 'stopping', graceMs)
    void one.node.stop({ graceMs }).then(() => {
      if (this.living.get(name) !== one) return
      one.process.kill()
      this.living.delete(name)
      this.#process(one.process.name, 'stopped')
      this.#again(name)
    })
  }

  /** What began before the calm ends a process in it: it is started again, since everybody is there in the calm. */
  #again(name: string): void {
    if (this.calm) this.clock.after(500, () => this.start(name))
  }

  sleep(name: string, how: 'paused' | 'suspended'): void {
    const one = this.living.get(name)
    if (one?.process.state !== 'running') return
    if (how === 'paused') one.process.pause()
    else one.process.suspend()
    this.#process(one.process.name, how)
  }

  resume(name: string): void {
    const one = this.living.get(name)
    if (!one || one.process.state === 'running') return
    one.process.resume()
    this.#process(one.process.name, 'resumed')
  }

  stepWall(name: string, byMs: number): void {
    const one = this.living.get(name)
    if (!one) return
    one.process.stepWall(byMs)
    this.#process(one.process.name, 'wall-stepped')
  }

  away(node: string | null, how: 'refused' | 'silent'): void {
    this.network.away.set(node ?? '*', how)
    this.#world('away', node ?? 'all')
  }

  back(node: string | null): void {
    if (this.network.away.delete(node ?? '*')) this.#world('back', node ?? 'all')
  }

  stepStore(byMs: number): void {
    this.storeOffsetMs += byMs
    this.#world('clock-stepped', String(byMs))
  }

  takeSnapshot(): void {
    this.#snapshot = this.#store.snapshot()
    this.#world('snapshot', '')
  }

  restore(): void {
    if (this.#snapshot === null) return
    this.#store.restore(this.#snapshot)
    this.witness.refresh()
    this.#world('restored', '')
  }

  /** A backup of the jobs without one of their runs: the cursors are what they were, the rows stay. */
  rewind(): void {
    if (this.#snapshot === null) return
    const old = new Map(this.#snapshot.tables.jobs.map(({ row }) => [row.header.job, row.header]))
    const { tables } = this.#store.snapshot()
    const jobs = tables.jobs.map((job) => {
      const { header } = job.row
      const was = old.get(header.job)
      const cursor = was?.definition === header.definition ? was.cursor : header.cursor
      const fresh = { ...header, cursor, lastFate: null, wakeAt: header.pause === null ? this.storeNow : header.wakeAt }
      return { ...job, row: { ...job.row, header: fresh } }
    })
    this.#store.restore({ tables: { ...tables, jobs } })
    this.witness.refresh()
    this.#world('rewound', '')
  }

  wipe(): void {
    this.#store.wipe()
    this.witness.refresh()
    this.#world('wiped', '')
  }

  beginCalm(): void {
    this.calm = true
    this.#world('calm', '')
  }

  #node(plan: NodePlan, process: VirtualProcess, release: number, zones: ZoneTable, random: Random): FleetNode {
    const surroundings: Surroundings = {
      clock: this.clock,
      seed: this.plan.seed,
      business: this.business,
      tally: this.tally,
      isCalm: () => this.calm,
      nextHandler: () => {
        this.#handlers += 1
        return this.#handlers
      },
      kill: () =>
        void this.clock.after(0, () => {
          if (this.living.get(plan.name)?.process !== process) return
          this.kill(plan.name)
          this.#again(plan.name)
        }),
      report: this.report,
    }
    const jobs = this.plan.jobs.flatMap(({ id, releases, handler }) => {
      const definition = releases[release]
      if (!definition) return []
      const work = handlerOf(`${SERVICE}:${id}`, handler, process, surroundings)
      return [{ id, name: id, definition, zoneDefaulted: false, handler: work }]
    })
    return createNode({
      fleet: 'sim',
      service: SERVICE,
      label: process.name,
      store: this.network.store(process, plan, random.fork('network')),
      clock: process,
      jobs,
      effects: createEffects(this.business.adapter(process), { clock: process }) as Effects,
      leaseMs: this.plan.leaseMs,
      maxRuns: plan.maxRuns,
      release: `r${release}`,
      zones: zoneData(zones),
      zoneData: 'simulated',
    })
  }

  #process(process: string, what: Extract<Observation, { kind: 'process' }>['what'], graceMs?: number): void {
    if (what !== 'started') this.tally.count(`process ${what}`)
    this.report({ kind: 'process', at: this.clock.now, process, what, ...(graceMs === undefined ? {} : { graceMs }) })
  }

  #world(what: Extract<Observation, { kind: 'world' }>['what'], detail: string): void {
    this.tally.count(`store ${what}`)
    this.report({ kind: 'world', at: this.clock.now, what, detail })
  }
}
