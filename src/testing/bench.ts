import { FleetcronError } from '../errors.js'
import type { Fleet } from '../fleet/fleet.js'
import type { JobView } from '../fleet/lookups.js'
import { isLive } from '../ledger/index.js'
import type { Run } from '../ledger/types.js'
import { dateOf, parseSchedule } from '../schedule/index.js'
import type { Store } from '../store/port.js'
import type { TestClock } from './test-clock.js'
import { Turns } from './turns.js'

export interface RunJobRequest {
  /** A calendar date in the job's zone, `2026-11-29`. */
  readonly date?: string
  /** For `run.data`; goes without `date`. */
  readonly data?: unknown
}

/** A run under test has to end within so much time of the test's clock. */
const RUN_MOST_MS = 86_400_000

/** A day and the most that zones differ from UTC by. */
const AROUND_MS = 40 * 3_600_000

/** More occurrences than any schedule has in that time. */
const OCCURRENCES_MOST = 400_000

/** Turns a fleet's clock, and waits in real time for what its handlers do. */
export class Bench {
  /** Attempts that patience has ended with: they wait for the clock. */
  private readonly outwaited = new Set<string>()
  private stopped = false

  constructor(
    private readonly fleet: Fleet,
    private readonly clock: TestClock,
    private readonly store: Store,
  ) {
    fleet.on('stopping', () => void this.drain())
    fleet.on('stopped', () => {
      this.stopped = true
    })
  }

  async advance(ms: number): Promise<Date> {
    await this.started()
    await this.turning(async (turns) => {
      const until = this.clock.monotonic() + ms
      await this.settle(turns)
      while (this.clock.fireNext(until - this.clock.monotonic())) await this.settle(turns)
      this.clock.pass(until - this.clock.monotonic())
      await this.settle(turns)
      this.clock.passUnseen()
      while (this.clock.fireNext(0)) await this.settle(turns)
    })
    return new Date(this.clock.wall())
  }

  async runJob(name: string, request: RunJobRequest): Promise<Run> {
    await this.started()
    const { date, data } = request
    const { job } = await this.find(name)
    if (date === undefined) return this.ended(await this.fleet.trigger(job, data === undefined ? {} : { data }))
    if (data !== undefined) {
      const message = `runJob '${name}': data goes with a trigger; a run of a date has none. Leave one of them out.`
      throw new FleetcronError('OPTION_INVALID', message)
    }
    const { key, instant } = await this.occurrence(name, job, date)
    const before = new Set((await this.backfills(job)).map((run) => run.key))
    const at = new Date(instant)
    await this.fleet.backfill(job, { from: at, to: at })
    const made = (await this.backfills(job)).find((run) => !before.has(run.key) && run.covers?.from === key)
    if (made === undefined) throw new Error(`the run of '${name}' for ${date} is not in the ledger`)
    return this.ended(made)
  }

  private async find(name: string): Promise<JobView> {
    const jobs = await this.fleet.jobs()
    const found =
      jobs.find(({ job }) => job === name || job.endsWith(`:${name}`)) ?? jobs.find((one) => one.name === name)
    if (found?.hosted === true) return found
    const message =
      found === undefined
        ? `The fleet under test has no job '${name}'. Known are ${jobs.map((one) => one.name).join(', ') || 'none'}.`
        : `Job '${name}' is not hosted here: it is disabled, or nobody declared its handler.`
    throw new FleetcronError('JOB_UNKNOWN', message)
  }

  /** The first occurrence of the date. */
  private async occurrence(name: string, job: string, date: string): Promise<{ key: string; instant: number }> {
    const aggregate = (await this.store.load({ jobs: [job] })).jobs.get(job)
    const spec = aggregate?.definition.schedule ?? null
    const noon = Date.parse(`${date}T12:00:00Z`)
    if (!/^\d{4}-\d\d-\d\d$/.test(date) || Number.isNaN(noon)) {
      throw new FleetcronError('OPTION_INVALID', `runJob '${name}': '${date}' is not a date such as 2026-11-29.`)
    }
    if (aggregate === undefined || spec === null) {
      const message = `runJob '${name}': the job has no schedule, so it has no occurrence of ${date}: leave date out.`
      throw new FleetcronError('OPTION_INVALID', message)
    }
    const schedule = parseSchedule(spec, { anchor: aggregate.header.anchor })
    const cursor = schedule.cursorAt(noon - AROUND_MS)
    const found = schedule.between(cursor, noon + AROUND_MS, OCCURRENCES_MOST).find((one) => dateOf(one) === date)
    if (found === undefined) {
      throw new FleetcronError('OPTION_INVALID', `runJob '${name}': the job has no occurrence on ${date}.`)
    }
    if (found.instant > this.clock.wall()) {
      const now = new Date(this.clock.wall()).toISOString()
      const message = `runJob '${name}': its occurrence of ${date} is still to come, since the test's clock shows ${now}. Begin later ({ now: '${new Date(found.instant).toISOString()}' }), or advance.`
      throw new FleetcronError('OPTION_INVALID', message)
    }
    return found
  }

  private async backfills(job: string): Promise<readonly Run[]> {
    return (await this.store.runs({ job, limit: 1_000 })).filter(({ cause }) => cause === 'backfill')
  }

  /** Turns the clock as far as the run needs: for a start, a retry, a timeout. */
  private async ended({ job, key }: Run): Promise<Run> {
    let run: Run | undefined
    await this.turning(async (turns) => {
      const until = this.clock.monotonic() + RUN_MOST_MS
      for (;;) {
        await this.settle(turns)
        run = (await this.store.load({ keys: [{ job, key }] })).runs[0]
        if (run === undefined || !isLive(run.state)) return
        if (!this.clock.fireNext(until - this.clock.monotonic())) return
      }
    })
    if (run !== undefined && !isLive(run.state)) return run
    throw new Error(`run '${key}' of ${job} has not ended within a day of the test's clock: it is ${run?.state}`)
  }

  private async started(): Promise<void> {
    await this.fleet.start()
  }

  /** Nothing waits for time that nobody lets pass: a handler that does not end is told, given up, and the fleet stops. */
  private drain(): Promise<void> {
    return this.turning(async (turns) => {
      await this.settle(turns)
      while (!this.stopped && this.clock.fireNext(Number.POSITIVE_INFINITY)) await this.settle(turns)
    })
  }

  private async settle(turns: Turns): Promise<void> {
    const isIdle = await turns.untilIdle(() => this.awaited().length > 0 || (this.fleet.health()?.unsettled ?? 0) > 0)
    if (!isIdle) for (const id of this.awaited()) this.outwaited.add(id)
  }

  private awaited(): string[] {
    const running = this.fleet.health()?.running ?? []
    return running.flatMap(({ attemptId }) => (this.outwaited.has(attemptId) ? [] : [attemptId]))
  }

  private async turning(act: (turns: Turns) => Promise<void>): Promise<void> {
    const turns = new Turns()
    try {
      await act(turns)
    } finally {
      turns.close()
    }
  }
}
