import type { Effects } from '../effect/port.js'
import type { LedgerEvent, Run as RunRecord } from '../ledger/types.js'
import type { RunsQuery } from '../store/port.js'
import type { Asking, RunRef, TriggerRequest } from './commands.js'
import type { FleetEventName, FleetEvents } from './events.js'
import { FleetOfJobs } from './fleet-of-jobs.js'
import type { HandlerDefinition } from './handlers.js'
import type { Health } from './health.js'
import type { JobOptions } from './job-options.js'
import type { JobView } from './lookups.js'
import type { Duration } from './option-values.js'
import type { FleetOptions } from './options.js'
import type { PokeRequest } from './pokes.js'
import type { Run } from './run.js'
import type { Schedules } from './schedules.js'
import { readSurroundings } from './system-clock.js'

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
  /** Schedules kept in the store; they may be asked for before `start()` too. */
  readonly schedules: Schedules
  /**
   * Does the work of the schedules in the store that name this handler. To be called before `start()`.
   *
   * @example
   * const digest = defineHandler<{ tenantId: string }>('tenant-digest')
   * fleet.handler(digest, async (run) => send(run.data.tenantId))
   * @throws `OPTION_INVALID`, `JOB_DUPLICATE`, `STATE_CONFLICT` after `start()`
   */
  handler<Data>(definition: HandlerDefinition<Data>, handler: Handler<Data>): void
  /** Resolves when this node looks after its jobs. While the store is away it goes on trying. */
  start(): Promise<void>
  /**
   * Lets handlers end for `grace` (`'30s'`), then fires their signals and hands back what is left. It rejects only where
   * `grace` is no duration, with `OPTION_INVALID`, and stops all the same.
   */
  stop(options?: { readonly grace?: Duration }): Promise<void>
  /**
   * Says that it is time for a job with `attend: 'poke'`. The ledger decides: what is due starts, on this node where it hosts the
   * job and has room, and a second poke, a replayed one or an early one changes nothing. For a job with `attend: 'fleet'` it only
   * looks at once. Gives the run of the latest occurrence (up to `at`), whatever became of it, then what else of the schedule waits or runs;
   * `finished(run)` waits for an outcome.
   *
   * @throws `JOB_UNKNOWN`, `OPTION_INVALID`, `STORE_UNAVAILABLE`, `NOT_STARTED`
   */
  poke(job: string, request?: PokeRequest): Promise<readonly RunRecord[]>
  /** Starts a job once. The same `key` gives the first run again, for at least 7 days; with other data it is refused. */
  trigger(job: string, request?: TriggerRequest): Promise<RunRecord>
  /** Resolves with the run when it has ended, on whichever node; after `within` with the run as it stands then. */
  finished(run: RunRef, request?: { readonly within?: Duration }): Promise<RunRecord>
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
