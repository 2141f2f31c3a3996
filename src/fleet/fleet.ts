import type { Effects } from '../effect/port.js'
import { FleetcronError } from '../errors.js'
import { isLive } from '../ledger/index.js'
import type { LedgerEvent, Run as RunRecord } from '../ledger/types.js'
import type { RunsQuery, Store } from '../store/port.js'
import { resolveStore } from '../store/resolve.js'
import type { Clock } from './clock.js'
import type { Asking, RunRef, TriggerRequest } from './commands.js'
import { Events, type FleetEventName, type FleetEvents } from './events.js'
import type { Health } from './health.js'
import { type JobOptions, type ResolvedJob, resolveJob } from './job-options.js'
import { Log } from './log.js'
import type { JobView } from './lookups.js'
import { createNode, type FleetNode, type HostedJob } from './node.js'
import { type Duration, durationMs } from './option-values.js'
import { type FleetOptions, type ResolvedFleet, resolveFleet } from './options.js'
import { pause } from './pause.js'
import type { Run } from './run.js'
import { jobTable, modeLine } from './startup-table.js'
import { createSystemClock, keepAlive, readSurroundings, type Surroundings, stderrLine } from './system-clock.js'

/** What a job does. Returning is success; the result is kept as JSON of at most 16 kB. */
export type Handler<Data = unknown> = (run: Run<Data>) => unknown

/** One node of a fleet. */
export interface Fleet {
  /** The fleet's name. */
  readonly name: string
  /** The business database outside runs: `fleet.effects.once(key, fn)`. */
  readonly effects: Effects
  /**
   * Declares a job, before `start()`.
   *
   * @example
   * fleet.job('daily-invoices', { cron: '0 0 * * *', timeZone: 'Europe/Helsinki' }, async (run) => {
   *   for (const customer of await due(run.date))
   *     await run.once(`invoice:${customer.id}:${run.date}`, (tx) => insertInvoice(tx, customer, run.date))
   * })
   * @throws `OPTION_INVALID`, `SCHEDULE_INVALID`, `ZONE_UNKNOWN`, `JOB_DUPLICATE`, `STATE_CONFLICT` after `start()`
   */
  job<Data = unknown>(name: string, options: JobOptions, handler: Handler<Data>): void
  /** Resolves when this node looks after its jobs. While the store is away it goes on trying. */
  start(): Promise<void>
  /** Lets handlers end for `grace` (`'30s'`), then fires their signals and hands back what is left. Never rejects. */
  stop(options?: { readonly grace?: Duration }): Promise<void>
  /** Starts a job once. The same `key` gives the first run again, for at least 7 days; with other data it is refused. */
  trigger(job: string, request?: TriggerRequest): Promise<RunRecord>
  /** Resolves with the run when it has ended, on whichever node. */
  finished(run: RunRef): Promise<RunRecord>
  /** One run for each occurrence from `from` to `to`, both in the past. Returns how many. */
  backfill(job: string, request: Asking & { readonly from: Date; readonly to: Date }): Promise<number>
  /** Starts nothing new until `resume`, or until an instant. */
  pause(job: string, request?: Asking & { readonly until?: Date }): Promise<void>
  resume(job: string, request?: Asking): Promise<void>
  retire(job: string, request?: Asking): Promise<void>
  /** Takes a run back; its holder is asked to stop. */
  cancel(run: RunRef, request?: Asking): Promise<void>
  /** Does the work of a run that ended without success once more. */
  retry(run: RunRef, request?: Asking): Promise<RunRecord>
  jobs(query?: { readonly service?: string }): Promise<JobView[]>
  /** Runs, newest first; `job` by name. */
  runs(query?: Partial<RunsQuery>): Promise<readonly RunRecord[]>
  /** What became of one occurrence, by its label (`2026-11-29T00:00`) or, for interval-like jobs, its UTC instant. */
  occurrence(job: string, key: string): Promise<RunRecord | null>
  /** What was asked and decided, newest first. */
  history(query?: { readonly job?: string; readonly limit?: number }): Promise<readonly LedgerEvent[]>
  health(): Health | null
  /** Calls `listener` at every such event. Returns how to stop it. */
  on<Name extends FleetEventName>(event: Name, listener: (payload: FleetEvents[Name]) => void): () => void
  /** Resolves with the next such event that `accept` lets through. */
  once<Name extends FleetEventName>(
    event: Name,
    accept?: (payload: FleetEvents[Name]) => boolean,
  ): Promise<FleetEvents[Name]>
}

/**
 * Makes a node of a fleet. Nothing happens before `start()`.
 *
 * @example
 * const fleet = createFleet({ fleet: 'billing', store: 'sqlite:./ledger.db' })
 * fleet.job('hello', { cron: '* * * * *' }, (run) => console.log(run.key))
 * await fleet.start()
 * @throws `OPTION_INVALID`, `STORE_MISSING`
 */
export function createFleet(options: FleetOptions): Fleet {
  return new FleetOfJobs(options, readSurroundings())
}

class FleetOfJobs implements Fleet {
  readonly name: string
  private readonly options: ResolvedFleet
  private readonly clock: Clock
  private readonly events: Events
  private readonly log: Log
  private readonly declared = new Map<string, { readonly job: ResolvedJob; readonly hosted: HostedJob }>()
  private readonly namesById = new Map<string, string>()
  private node: FleetNode | null = null
  private starting: Promise<void> | null = null
  private ending: Promise<void> | null = null
  private release: (() => void) | null = null

  constructor(
    input: FleetOptions,
    private readonly around: Surroundings,
  ) {
    const stderr = { info: stderrLine, warn: stderrLine, error: stderrLine }
    this.options = resolveFleet(input, around, stderr)
    this.clock = input.clock ?? createSystemClock()
    const { fleet, label, service, logger } = this.options
    this.name = fleet
    this.log = new Log(logger, { fleet, service, node: label })
    this.events = new Events({ fleet, node: label }, (event, error) =>
      this.log.error(`a listener for '${event}' threw`, { error: String(error) }),
    )
  }

  get effects(): Effects {
    if (this.options.effects !== null) return this.options.effects
    const message = `Fleet '${this.name}' has no business database: hand one in as \`effects\`.`
    throw new FleetcronError('EFFECT_INVALID', message)
  }

  job<Data>(name: string, options: JobOptions, handler: Handler<Data>): void {
    const { defaults, timeZone } = this.options
    if (this.starting !== null) {
      throw new FleetcronError(
        'STATE_CONFLICT',
        `Job '${name}' is declared after start(): declare every job before it.`,
      )
    }
    if (typeof handler !== 'function') {
      throw new FleetcronError('OPTION_INVALID', `job '${name}': its handler is not a function.`)
    }
    const job = resolveJob(name, options, { defaults, timeZone, processTimeZone: this.around.timeZone })
    const other = this.declared.has(name) ? name : this.namesById.get(job.id)
    if (other !== undefined) {
      const what =
        other === name ? `two jobs named '${name}'` : `'${other}' and '${name}', both with the id '${job.id}'`
      throw new FleetcronError('JOB_DUPLICATE', `Fleet '${this.name}' declares ${what}: give one of them another name.`)
    }
    const { id, definition, zoneDefaulted } = job
    this.namesById.set(id, name)
    this.declared.set(name, { job, hosted: { id, name, definition, zoneDefaulted, handler: handler as never } })
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
    this.release = keepAlive()
    try {
      const { store, ...facts } = this.options
      const made: Store = typeof store === 'string' ? await resolveStore(store, facts.fleet) : store
      if (this.ending !== null)
        throw new FleetcronError('NOT_STARTED', `Fleet '${this.name}' was stopped while it started.`)
      const all = [...this.declared].map(([name, { job, hosted }]) => ({ name, job, hosted }))
      this.node = createNode({
        ...facts,
        store: made,
        clock: this.clock,
        zoneData: this.around.zoneData,
        jobs: all.filter(({ job }) => !job.disabled).map(({ hosted }) => hosted),
        events: this.events,
        opened: (info) => {
          this.log.info(modeLine(facts, info))
          if (all.length > 0) this.log.info(`jobs\n${jobTable(all, this.clock.wall())}`)
        },
      })
      await this.node.start()
    } catch (error) {
      this.release()
      throw error
    }
  }

  private async end(options: { readonly graceMs?: number }): Promise<void> {
    // A start that waits for its store ends at once; one that has not made its node yet has nothing to stop.
    await this.node?.stop(options)
    await this.starting?.catch(() => undefined)
    await this.node?.stop(options)
    this.release?.()
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
    return job.includes(':') ? job : `${this.options.service}:${job}`
  }
}

function instantOf(what: string, date: Date): number {
  const instant = date instanceof Date ? date.getTime() : Number.NaN
  if (Number.isNaN(instant)) throw new FleetcronError('OPTION_INVALID', `${what} is not a valid Date.`)
  return instant
}
