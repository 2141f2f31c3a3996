import { FleetcronError } from '../errors.js'
import type { Fleet } from '../fleet/fleet.js'
import type { JobView } from '../fleet/lookups.js'
import { isLive } from '../ledger/index.js'
import type { Pause, Run } from '../ledger/types.js'
import { instantToKey, keyToInstant, parseSchedule } from '../schedule/index.js'
import { Here } from './here.js'
import { HostedJob } from './hosted-job.js'
import { pauseMs, within } from './waiting.js'

/*
 * What a platform's scheduler starts (a Kubernetes CronJob, a systemd timer, a scheduled container): a process that is a
 * node for a moment and hosts one job. The platform only says when; the ledger decides.
 *
 *   start ──▶ which occurrence is meant? ──▶ wait until it is decided ──▶ see every run of the job to its end ──▶ stop
 *
 * - Early: an occurrence that is due soon is waited for. Late, or not at all the last time: the node attends when it starts,
 *   so what was missed is caught up by the job's own policy. Twice: one run, and both processes are told of it.
 * - A store that is away for a moment is waited for; after `patienceMs` the process gives up and stops as any node does.
 */

/** What a platform asks for. */
export interface DueRequest {
  /** The job's name in the application, or `service:id`. */
  readonly job: string
  /** Key of the occurrence that is meant; null: the one that is due, or the last one. */
  readonly occurrence: string | null
  /** An occurrence that is due so soon is waited for. */
  readonly earlyMs: number
  /** How long the store, and a decision that is due, are waited for. */
  readonly patienceMs: number
}

export const DUE_DEFAULTS = { earlyMs: 60_000, patienceMs: 60_000 } as const

/** Longer than that no timer of Node waits. */
export const MOST_PATIENCE_MS = 24 * 86_400_000

/** What became of it. */
export interface Due {
  readonly job: string
  readonly runs: readonly Run[]
  /** Keys of the runs that this process has worked on. */
  readonly here: ReadonlySet<string>
  readonly next: Date | null
  readonly pause: Pause | null
}

/** One visit of a process to a fleet, for one job; to be made before the fleet starts. */
export class Visit {
  private readonly here: Here
  private readonly hosted: HostedJob
  private isStopped = false

  constructor(
    private readonly fleet: Fleet,
    private readonly request: DueRequest,
  ) {
    this.hosted = new HostedJob(fleet, request.job)
    this.here = new Here(fleet)
  }

  /**
   * Runs what is due, and stops the fleet.
   *
   * @param stopped resolves when the process is asked to end: then handlers may end as in any node that stops
   * @throws FleetcronError `STORE_UNAVAILABLE` where it could not be coordinated; `JOB_UNKNOWN`; `OPTION_INVALID`
   */
  async run(stopped: Promise<unknown>, stop: () => Promise<void>): Promise<Due> {
    void stopped.then(() => {
      this.isStopped = true
      return stop()
    })
    try {
      this.hosted.throwIfUnknown()
      await within(this.request.patienceMs, this.fleet.start())
      const runs = await this.dueRuns()
      const { next, pause } = await this.patiently(() => this.view())
      await stop()
      return this.due(this.withHere(runs), next, pause)
    } catch (error) {
      await stop()
      if (!this.isStopped) throw error
      return this.due(this.here.drained(this.hosted.name, error), null, null)
    }
  }

  private due(runs: readonly Run[], next: Date | null, pause: Pause | null): Due {
    return { job: this.hosted.name, runs, here: this.here.begun, next, pause }
  }

  /** What came due meanwhile and was done here is told too. */
  private withHere(runs: readonly Run[]): Run[] {
    const told = new Set(runs.map(({ key }) => key))
    return [...runs, ...this.here.ended().filter(({ key }) => !told.has(key))]
  }

  /** The occurrence that is meant, and whatever else of the job waits or runs, each to its end, on whichever node. */
  private async dueRuns(): Promise<Run[]> {
    const { name: job } = this.hosted
    const meant = this.meant(await this.patiently(() => this.view()))
    const decided = meant === null ? null : await this.decision(meant)
    await this.patiently(() => this.fleet.poke(job, { early: 0 }))
    const live = await this.patiently(() => this.fleet.runs({ job, states: ['queued', 'running'], limit: 1_000 }))
    const others = live.filter(({ key }) => key !== decided?.key)
    return Promise.all([...(decided ? [decided] : []), ...others].map((each) => this.ended(each)))
  }

  private async ended(run: Run): Promise<Run> {
    return isLive(run.state) ? this.patiently(() => this.fleet.finished(run)) : run
  }

  private async view(): Promise<JobView> {
    const { name } = this.hosted
    return (await this.fleet.jobs()).find((each) => each.name === name && each.hosted) ?? raise(this.hosted.unknown())
  }

  /** The occurrence that was named; else the next one where it is due that soon; else the last one. Null: there is none. */
  private meant({ schedule: spec, next }: JobView): Meant | null {
    const { occurrence, earlyMs } = this.request
    if (spec === null) return null
    const now = this.now()
    const isSoon = next !== null && next.getTime() - now <= earlyMs
    if ('every' in spec) {
      // Where its grid begins only the ledger knows.
      const instant = occurrence === null ? (isSoon ? next.getTime() : null) : keyToInstant(occurrence)
      if (instant === null && occurrence !== null)
        throw this.noOccurrence(occurrence, instantToKey(next?.getTime() ?? now))
      return instant === null ? null : { key: instantToKey(instant), instant }
    }
    const schedule = parseSchedule(spec, { anchor: 0 })
    const last = () => schedule.latest(schedule.cursorAt(now - YEAR_MS), now, 1)[0] ?? null
    if (occurrence !== null) {
      const like = last() ?? schedule.next(schedule.cursorAt(now)) ?? schedule.next(schedule.cursorAt(0))
      return schedule.occurrence(occurrence) ?? raise(this.noOccurrence(occurrence, like?.key ?? null))
    }
    return isSoon ? schedule.next(schedule.cursorAt(next.getTime() - 1)) : last()
  }

  /** @param like a key that the job would take */
  private noOccurrence(key: string, like: string | null): FleetcronError {
    const example = like === null ? '' : `, such as ${like}`
    const message = `Job '${this.hosted.name}' has no occurrence '${key}': its keys look as in fleetcron runs${example}.`
    return new FleetcronError('OPTION_INVALID', message)
  }

  /** What the ledger made of an occurrence, waited for while it is due soon or not decided yet. Null: nobody decides it now. */
  private async decision({ key, instant }: Meant): Promise<Run | null> {
    const { earlyMs, patienceMs } = this.request
    const { name: job } = this.hosted
    const begun = this.now()
    if (instant - begun > earlyMs) return null
    const until = Math.max(begun, instant) + patienceMs
    for (let waitMs = 50; ; waitMs = Math.min(1_000, waitMs * 2)) {
      const { next } = await this.patiently(() => this.view())
      const found = await this.patiently(() => this.fleet.occurrence(job, key))
      // What is past and behind the next one was pruned, or never was an occurrence.
      if (found !== null || next === null || next.getTime() > instant) return found
      if (this.now() > until) {
        const message = `Job '${job}': occurrence ${key} was due and is still not decided: look at fleetcron doctor.`
        throw new FleetcronError('STORE_UNAVAILABLE', message)
      }
      await pauseMs(waitMs)
    }
  }

  /** Asks again while the store has been away for less than the patience, about once a second. */
  private async patiently<T>(ask: () => Promise<T>): Promise<T> {
    const { patienceMs } = this.request
    for (let failures = 1, waitMs = 100; ; failures += 1, waitMs = Math.min(1_000, waitMs * 2)) {
      try {
        return await ask()
      } catch (error) {
        const isAway = error instanceof FleetcronError && error.code === 'STORE_UNAVAILABLE'
        const awayMs = this.fleet.health()?.store.awayMs ?? 0
        // One call may fail for good while others go through.
        const isTooMuch = awayMs > patienceMs || failures > FEW + patienceMs / 1_000
        if (!isAway || this.isStopped || isTooMuch) throw error
        await pauseMs(waitMs)
      }
    }
  }

  /** The store's time, as far as it is known. */
  private now(): number {
    return Date.now() - (this.fleet.health()?.store.wallAheadMs ?? 0)
  }
}

interface Meant {
  readonly key: string
  readonly instant: number
}

const YEAR_MS = 366 * 86_400_000

/** So many failures are nothing, however short the patience. */
const FEW = 4

function raise(error: Error): never {
  throw error
}
