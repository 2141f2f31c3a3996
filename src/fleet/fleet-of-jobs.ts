import type { Effects } from '../effect/port.js'
import { FleetcronError } from '../errors.js'
import type { LedgerEvent, Run as RunRecord } from '../ledger/types.js'
import type { RunsQuery, Store } from '../store/port.js'
import { resolveStore } from '../store/resolve.js'
import { checkQuery, checkRequest, checkRun, instantOf, jobUnknown, type Verb, withHint, withinOf } from './asked.js'
import { BOOT, type Boot, type Booting } from './boot.js'
import type { Clock } from './clock.js'
import type { Asking, RunRef, TriggerRequest } from './commands.js'
import { Declared } from './declared.js'
import { Events, type FleetEventName, type FleetEvents } from './events.js'
import { untilEnded } from './finished.js'
import type { Fleet, Handler } from './fleet.js'
import { Guest } from './guest.js'
import type { HandlerDefinition } from './handlers.js'
import type { Health } from './health.js'
import type { JobOptions } from './job-options.js'
import { Log } from './log.js'
import type { JobView } from './lookups.js'
import { createNode, type FleetNode } from './node.js'
import type { Duration } from './option-values.js'
import { type FleetOptions, type ResolvedFleet, resolveFleet } from './options.js'
import type { PokeRequest } from './pokes.js'
import { type Historian, withHistory } from './resolutions.js'
import { createSchedules, type Schedules } from './schedules.js'
import { graceOf } from './shutdown.js'
import { jobTable, modeLine } from './startup-table.js'
import { createSystemClock, keepAlive, type Surroundings, stderrLine } from './system-clock.js'

/** A fleet as `createFleet` gives it: what was declared, and one node that carries it. */
export class FleetOfJobs implements Fleet, Booting {
  readonly name: string
  readonly [BOOT]: Boot = { goesOn: false, ofEveryNode: [], declared: () => this.declared.terms() }
  readonly schedules: Schedules
  private readonly options: ResolvedFleet
  private readonly clock: Clock
  private readonly ownsClock: boolean
  private readonly events: Events
  private readonly log: Log
  private readonly declared: Declared
  private readonly told: Effects | null
  private node: FleetNode | null = null
  private readonly guest: Guest
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
    const { defaults, timeZone, effects } = this.options
    // Effects may be made by an earlier version of the package, or by a test.
    const keysKeptMs = effects?.keptMs ?? null
    const jobsAround = { defaults, timeZone, processTimeZone: around.timeZone, keysKeptMs }
    this.declared = new Declared(fleet, service, jobsAround)
    const note: Historian['note'] = async (job, what) => (await this.running()).commands.noteResolved(job, what)
    const failed = (error: unknown) => this.log.warn('the history has no resolved effect', { error: String(error) })
    this.told = effects === null ? null : withHistory(effects, { fleet, note, failed })
    this.guest = new Guest(fleet, () => this.makeGuest())
    this.schedules = createSchedules({
      speaker: () => this.speaker(),
      isBooting: () => !this.hasStarted || this[BOOT].goesOn,
      around: jobsAround,
      warn: (message) => this.log.warn(message),
    })
  }

  get effects(): Effects {
    if (this.told !== null) return this.told
    const message = `Fleet '${this.name}' has no business database: hand one in as \`effects\`.`
    throw new FleetcronError('EFFECT_INVALID', message)
  }

  job<Data>(name: string, options: JobOptions, handler: Handler<Data>): void {
    this.throwIfLate(`Job '${name}'`)
    this.declared.add(name, options, handler)
  }

  handler<Data>(definition: HandlerDefinition<Data>, handler: Handler<Data>): void {
    this.throwIfLate(`Handler '${definition.name}'`)
    this.declared.addHandler(definition, handler)
  }

  start(): Promise<void> {
    this.starting ??= this.begin()
    return this.starting
  }

  async stop(options: { readonly grace?: Duration } = {}): Promise<void> {
    const { error, ...grace } = graceOf(options.grace)
    this.ending ??= this.end(grace)
    await this.ending
    if (error !== undefined) throw error
  }

  trigger(job: string, request?: TriggerRequest): Promise<RunRecord> {
    return this.command('trigger', job, request, ({ commands }, id) => commands.trigger(id, request))
  }

  poke(job: string, request?: PokeRequest): Promise<readonly RunRecord[]> {
    return this.command('poke', job, request, ({ pokes }, id) => pokes.poke(id, request))
  }

  async finished(run: RunRef, request: { readonly within?: Duration } = {}): Promise<RunRecord> {
    const withinMs = withinOf(request)
    const ref = { job: this.declared.id(run.job), key: run.key }
    return untilEnded(ref, async () => (await this.running()).commands.run(ref), this.events, this.clock, withinMs)
  }

  backfill(job: string, request: Asking & { readonly from: Date; readonly to: Date }): Promise<number> {
    return this.command('backfill', job, request, ({ commands }, id) => {
      const { from, to, ...asking } = request
      const range = { from: instantOf('backfill: from', from), to: instantOf('backfill: to', to) }
      return commands.backfill(id, { ...asking, ...range })
    })
  }

  pause(job: string, request: Asking & { readonly until?: Date } = {}): Promise<void> {
    return this.command('pause', job, request, ({ commands }, id) => {
      const { until, ...asking } = request
      return commands.pause(id, until === undefined ? asking : { ...asking, until: instantOf('pause: until', until) })
    })
  }

  resume(job: string, request?: Asking): Promise<void> {
    return this.command('resume', job, request, ({ commands }, id) => commands.resume(id, request))
  }

  retire(job: string, request?: Asking): Promise<void> {
    return this.command('retire', job, request, ({ commands }, id) => commands.retire(id, request))
  }

  async cancel(run: RunRef, request?: Asking): Promise<void> {
    checkRun('cancel', run)
    const { job, key } = run
    return this.command('cancel', job, request, ({ commands }, id) => commands.cancel({ job: id, key }, request))
  }

  async retry(run: RunRef, request?: Asking): Promise<RunRecord> {
    checkRun('retry', run)
    const { job, key } = run
    return this.command('retry', job, request, ({ commands }, id) => commands.retry({ job: id, key }, request))
  }

  async jobs(query: { readonly service?: string } = {}): Promise<JobView[]> {
    checkQuery('jobs', query)
    return (await this.running()).lookups.jobs(query)
  }

  async runs(query: Partial<RunsQuery> = {}): Promise<readonly RunRecord[]> {
    checkQuery('runs', query)
    return this.look(query.job, ({ lookups }, job) => lookups.runs({ ...query, ...job }))
  }

  async occurrence(job: string, key: string): Promise<RunRecord | null> {
    const [found] = await this.look(job, async ({ lookups }) => {
      const one = await lookups.occurrence(this.declared.id(job), key)
      return one === null ? [] : [one]
    })
    return found ?? null
  }

  async history(query: { readonly job?: string; readonly limit?: number } = {}): Promise<readonly LedgerEvent[]> {
    checkQuery('history', query)
    return this.look(query.job, ({ lookups }, job) => lookups.history({ ...query, ...job }))
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
      const { only = null } = this[BOOT]
      const all = this.declared.jobs().filter(({ name }) => only === null || name === only)
      this.node = createNode({
        ...facts,
        store: made,
        clock: this.clock,
        zoneData: this.around.zoneData,
        jobs: all.filter(({ job }) => !job.disabled).map(({ hosted }) => hosted),
        handlers: only === null ? [...this.declared.handlers.values()] : [],
        events: this.events,
        opened: (info) => {
          this.log.block(modeLine(facts, info))
          const { ofEveryNode } = this[BOOT]
          if (all.length + ofEveryNode.length === 0) return
          this.log.block(`jobs\n${jobTable(all, ofEveryNode, this.clock.wall())}`)
        },
      })
      await this.node.start()
      this.hasStarted = true
      await this.guest.stop()
    } catch (error) {
      this.release?.()
      throw error
    }
  }

  private async end(options: { readonly graceMs?: number }): Promise<void> {
    // A start that waits for its store ends at once; one that has not made its node yet has nothing to stop.
    await this.node?.stop(options)
    await this.guest.stop()
    await this.starting?.catch(() => undefined)
    await this.node?.stop(options)
    this.release?.()
  }

  /** The node, or, before it has started, a guest of the same store. */
  private async speaker(): Promise<FleetNode> {
    if (this.hasStarted || this.ending !== null) return this.running()
    const guest = await this.guest.speak()
    return this.hasStarted ? this.running() : guest
  }

  private async makeGuest(): Promise<FleetNode> {
    const { store: _, ...facts } = this.options
    const { clock, around } = this
    const store = await this.openedStore()
    return createNode({ ...facts, store, clock, zoneData: around.zoneData, jobs: [], attends: false, logger: null })
  }

  private openedStore(): Promise<Store> {
    const { store, fleet, autoMigrate } = this.options
    this.store ??= typeof store === 'string' ? resolveStore(store, fleet, { autoMigrate }) : Promise.resolve(store)
    return this.store
  }

  private throwIfLate(what: string): void {
    if (this.starting === null) return
    throw new FleetcronError('STATE_CONFLICT', `${what} is declared after start(): declare everything before it.`)
  }

  private async command<T>(
    verb: Verb,
    job: string,
    request: object | undefined,
    act: (node: FleetNode, id: string) => Promise<T>,
  ): Promise<T> {
    checkRequest(verb, request)
    try {
      return await act(await this.running(), this.declared.id(job))
    } catch (error) {
      throw withHint(error, job, this.declared.names())
    }
  }

  /** Nothing found of a job that nobody knows is an error, not an answer. */
  private async look<T>(
    job: string | undefined,
    act: (node: FleetNode, job: { readonly job?: string }) => Promise<readonly T[]>,
  ): Promise<readonly T[]> {
    const node = await this.running()
    if (job === undefined) return act(node, {})
    const id = this.declared.id(job)
    const found = await act(node, { job: id })
    if (found.length > 0 || (await node.lookups.knows(id))) return found
    throw withHint(jobUnknown(id), job, this.declared.names())
  }

  private async running(): Promise<FleetNode> {
    if (this.node !== null) return this.node
    const message = `Fleet '${this.name}' is not started yet: await start() before you ask anything of it.`
    throw new FleetcronError('NOT_STARTED', message)
  }
}
