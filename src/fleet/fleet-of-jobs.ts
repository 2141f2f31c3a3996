import type { Effects } from '../effect/port.js'
import { FleetcronError } from '../errors.js'
import { isLive } from '../ledger/index.js'
import type { LedgerEvent, Run as RunRecord } from '../ledger/types.js'
import type { RunsQuery, Store } from '../store/port.js'
import { resolveStore } from '../store/resolve.js'
import type { Clock } from './clock.js'
import type { Asking, RunRef, TriggerRequest } from './commands.js'
import { Events, type FleetEventName, type FleetEvents } from './events.js'
import type { Fleet, Handler } from './fleet.js'
import { type HandlerDefinition, type HostedHandler, STORED } from './handlers.js'
import type { Health } from './health.js'
import { type JobOptions, type JobSurroundings, type ResolvedJob, resolveJob } from './job-options.js'
import { Log } from './log.js'
import type { JobView } from './lookups.js'
import { createNode, type FleetNode, type HostedJob } from './node.js'
import { type Duration, durationMs } from './option-values.js'
import { type FleetOptions, type ResolvedFleet, resolveFleet } from './options.js'
import { pause } from './pause.js'
import { createSchedules, type Schedules } from './schedules.js'
import { jobTable, modeLine } from './startup-table.js'
import { createSystemClock, keepAlive, type Surroundings, stderrLine } from './system-clock.js'

/** A fleet as `createFleet` gives it: what was declared, and one node that carries it. */
export class FleetOfJobs implements Fleet {
  readonly name: string
  readonly schedules: Schedules
  private readonly options: ResolvedFleet
  private readonly clock: Clock
  private readonly ownsClock: boolean
  private readonly events: Events
  private readonly log: Log
  private readonly declared = new Map<string, { readonly job: ResolvedJob; readonly hosted: HostedJob }>()
  private readonly namesById = new Map<string, string>()
  private readonly handlers = new Map<string, HostedHandler>()
  private node: FleetNode | null = null
  /** Speaks for the fleet before its node has started; it runs nothing. */
  private guest: { readonly node: FleetNode; readonly ready: Promise<void> } | null = null
  private store: Promise<Store> | null = null
  private hasStarted = false
  private starting: Promise<void> | null = null
  private ending: Promise<void> | null = null
  private release: (() => void) | null = null

  constructor(
    input: FleetOptions,
    private readonly around: Surroundings,
  ) {
    const stderr = { info: stderrLine, warn: stderrLine, error: stderrLine }
    this.options = resolveFleet(input, around, stderr)
    this.ownsClock = input.clock === undefined
    this.clock = input.clock ?? createSystemClock()
    const { fleet, label, service, logger } = this.options
    this.name = fleet
    this.log = new Log(logger, { fleet, service, node: label })
    this.events = new Events({ fleet, node: label }, (event, error) =>
      this.log.error(`a listener for '${event}' threw`, { error: String(error) }),
    )
    this.schedules = createSchedules({
      speaker: () => this.speaker(),
      isBooting: () => !this.hasStarted,
      around: this.jobSurroundings(),
      warn: (message) => this.log.warn(message),
    })
  }

  get effects(): Effects {
    if (this.options.effects !== null) return this.options.effects
    const message = `Fleet '${this.name}' has no business database: hand one in as \`effects\`.`
    throw new FleetcronError('EFFECT_INVALID', message)
  }

  job<Data>(name: string, options: JobOptions, handler: Handler<Data>): void {
    this.throwIfLate(`Job '${name}'`, handler)
    const job = resolveJob(name, options, this.jobSurroundings())
    if (job.id.startsWith(STORED)) {
      const message = `job '${name}': ids that begin with ${STORED} belong to schedules kept in the store.`
      throw new FleetcronError('OPTION_INVALID', message)
    }
    const other = this.declared.has(name) ? name : this.namesById.get(job.id)
    if (other !== undefined) {
      const what =
        other === name ? `two jobs named '${name}'` : `'${other}' and '${name}', both with the id '${job.id}'`
      throw new FleetcronError('JOB_DUPLICATE', `Fleet '${this.name}' declares ${what}: give one of them another name.`)
    }
    const { id, definition, zoneDefaulted, initialDelayMs } = job
    this.namesById.set(id, name)
    const hosted = { id, name, definition, zoneDefaulted, initialDelayMs, handler: handler as never }
    this.declared.set(name, { job, hosted })
  }

  handler<Data>(definition: HandlerDefinition<Data>, handler: Handler<Data>): void {
    const { name, parse } = definition
    this.throwIfLate(`Handler '${name}'`, handler)
    if (this.handlers.has(name)) {
      const message = `Fleet '${this.name}' has two handlers named '${name}': give one of them another name.`
      throw new FleetcronError('JOB_DUPLICATE', message)
    }
    this.handlers.set(name, { name, parse, handler: handler as never })
  }

  start(): Promise<void> {
    this.starting ??= this.begin()
    return this.starting
  }

  stop(options: { readonly grace?: Duration } = {}): Promise<void> {
    const { grace } = options
    const graceMs = grace === undefined ? {} : { graceMs: durationMs('stop: grace', grace, 0) }
    this.ending ??= this.end(graceMs)
    return this.ending
  }

  async trigger(job: string, request?: TriggerRequest): Promise<RunRecord> {
    return (await this.running()).commands.trigger(this.id(job), request)
  }

  async finished(run: RunRef): Promise<RunRecord> {
    const ref = { job: this.id(run.job), key: run.key }
    for (let waitMs = 20; ; waitMs = Math.min(1_000, waitMs * 2)) {
      const found = await (await this.running()).commands.run(ref)
      if (!isLive(found.state)) return found
      const stop = new AbortController()
      const off = this.events.on('run-settled', ({ job, key }) => {
        if (job === ref.job && key === ref.key) stop.abort()
      })
      await pause(this.clock, waitMs, stop.signal)
      off()
    }
  }

  async backfill(job: string, request: Asking & { readonly from: Date; readonly to: Date }): Promise<number> {
    const { from, to, ...asking } = request
    const range = { from: instantOf('backfill: from', from), to: instantOf('backfill: to', to) }
    return (await this.running()).commands.backfill(this.id(job), { ...asking, ...range })
  }

  async pause(job: string, request: Asking & { readonly until?: Date } = {}): Promise<void> {
    const { until, ...asking } = request
    const end = until === undefined ? {} : { until: instantOf('pause: until', until) }
    return (await this.running()).commands.pause(this.id(job), { ...asking, ...end })
  }

  async resume(job: string, request?: Asking): Promise<void> {
    return (await this.running()).commands.resume(this.id(job), request)
  }

  async retire(job: string, request?: Asking): Promise<void> {
    return (await this.running()).commands.retire(this.id(job), request)
  }

  async cancel(run: RunRef, request?: Asking): Promise<void> {
    return (await this.running()).commands.cancel({ job: this.id(run.job), key: run.key }, request)
  }

  async retry(run: RunRef, request?: Asking): Promise<RunRecord> {
    return (await this.running()).commands.retry({ job: this.id(run.job), key: run.key }, request)
  }

  async jobs(query?: { readonly service?: string }): Promise<JobView[]> {
    return (await this.running()).lookups.jobs(query)
  }

  async runs(query: Partial<RunsQuery> = {}): Promise<readonly RunRecord[]> {
    const job = query.job === undefined ? {} : { job: this.id(query.job) }
    return (await this.running()).lookups.runs({ ...query, ...job })
  }

  async occurrence(job: string, key: string): Promise<RunRecord | null> {
    return (await this.running()).lookups.occurrence(this.id(job), key)
  }

  async history(query: { readonly job?: string; readonly limit?: number } = {}): Promise<readonly LedgerEvent[]> {
    const job = query.job === undefined ? {} : { job: this.id(query.job) }
    return (await this.running()).lookups.history({ ...query, ...job })
  }

  health(): Health | null {
    return this.node?.health() ?? null
  }

  on<Name extends FleetEventName>(event: Name, listener: (payload: FleetEvents[Name]) => void): () => void {
    return this.events.on(event, listener)
  }

  once<Name extends FleetEventName>(
    event: Name,
    accept?: (payload: FleetEvents[Name]) => boolean,
  ): Promise<FleetEvents[Name]> {
    return this.events.once(event, accept)
  }

  private async begin(): Promise<void> {
    if (this.ending !== null)
      throw new FleetcronError('NOT_STARTED', `Fleet '${this.name}' was stopped: create another one.`)
    // Whoever brings a clock of his own says how long the process has to live.
    this.release = this.ownsClock ? keepAlive() : null
    try {
      const { store: _, ...facts } = this.options
      const made = await this.openedStore()
      if (this.ending !== null)
        throw new FleetcronError('NOT_STARTED', `Fleet '${this.name}' was stopped while it started.`)
      const all = [...this.declared].map(([name, { job, hosted }]) => ({ name, job, hosted }))
      this.node = createNode({
        ...facts,
        store: made,
        clock: this.clock,
        zoneData: this.around.zoneData,
        jobs: all.filter(({ job }) => !job.disabled).map(({ hosted }) => hosted),
        handlers: [...this.handlers.values()],
        events: this.events,
        opened: (info) => {
          this.log.block(modeLine(facts, info))
          if (all.length > 0) this.log.block(`jobs\n${jobTable(all, this.clock.wall())}`)
        },
      })
      await this.node.start()
      this.hasStarted = true
      await this.guest?.node.stop()
    } catch (error) {
      this.release?.()
      throw error
    }
  }

  private async end(options: { readonly graceMs?: number }): Promise<void> {
    // A start that waits for its store ends at once; one that has not made its node yet has nothing to stop.
    await this.node?.stop(options)
    await this.guest?.node.stop()
    await this.starting?.catch(() => undefined)
    await this.node?.stop(options)
    this.release?.()
  }

  /** The node, or, before it has started, a guest of the same store. */
  private async speaker(): Promise<FleetNode> {
    if (this.hasStarted || this.ending !== null) return this.running()
    const { store: _, ...facts } = this.options
    const store = await this.openedStore()
    if (this.guest === null) {
      const { clock, around } = this
      const { zoneData } = around
      const node = createNode({ ...facts, store, clock, zoneData, jobs: [], attends: false, logger: null })
      this.guest = { node, ready: node.start() }
      this.guest.ready.catch(() => undefined)
    }
    await this.throwIfAway(this.guest)
    return this.hasStarted ? this.running() : this.guest.node
  }

  /** An application that starts does not wait for a store that is away. */
  private async throwIfAway({ node, ready }: NonNullable<typeof this.guest>): Promise<void> {
    const isAway = node.health().store.awayMs !== null
    const away = isAway ? Promise.resolve() : node.events.once('store-away')
    const first = await Promise.race([ready.then(() => 'ready'), away.then(() => 'away')])
    if (first === 'ready') return
    const message = `The store of fleet '${this.name}' cannot be reached: ${node.health().store.error}. It is tried again and again; ask later.`
    throw new FleetcronError('STORE_UNAVAILABLE', message)
  }

  private openedStore(): Promise<Store> {
    const { store, fleet } = this.options
    this.store ??= typeof store === 'string' ? resolveStore(store, fleet) : Promise.resolve(store)
    return this.store
  }

  private jobSurroundings(): JobSurroundings {
    const { defaults, timeZone } = this.options
    return { defaults, timeZone, processTimeZone: this.around.timeZone }
  }

  private throwIfLate(what: string, handler: unknown): void {
    if (this.starting !== null) {
      throw new FleetcronError('STATE_CONFLICT', `${what} is declared after start(): declare everything before it.`)
    }
    if (typeof handler !== 'function') {
      throw new FleetcronError('OPTION_INVALID', `${what}: its handler is not a function.`)
    }
  }

  private async running(): Promise<FleetNode> {
    if (this.node !== null) return this.node
    const message = `Fleet '${this.name}' is not started yet: await start() before you ask anything of it.`
    throw new FleetcronError('NOT_STARTED', message)
  }

  /** The ledger's id of a job: by its name or id here, or written out as `service:id`. */
  private id(job: string): string {
    const known = this.declared.get(job)
    if (known !== undefined) return `${this.options.service}:${known.job.id}`
    if (job.startsWith(STORED)) return `${this.options.service}:${job}`
    return job.includes(':') ? job : `${this.options.service}:${job}`
  }
}

function instantOf(what: string, date: Date): number {
  const instant = date instanceof Date ? date.getTime() : Number.NaN
  if (Number.isNaN(instant)) throw new FleetcronError('OPTION_INVALID', `${what} is not a valid Date.`)
  return instant
}
