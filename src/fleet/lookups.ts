import { decides } from '../ledger/index.js'
import type { Aggregate, LedgerEvent, Pause, Run } from '../ledger/types.js'
import { parseSchedule } from '../schedule/index.js'
import type { Schedule, ScheduleSpec } from '../schedule/types.js'
import type { RunsQuery } from '../store/port.js'
import { ownTerms } from './own-schedule.js'
import type { Parts } from './parts.js'

/** A job as people see it. */
export interface JobView {
  /** The ledger's id, `service:id`. */
  readonly job: string
  readonly service: string
  readonly name: string
  readonly schedule: ScheduleSpec | null
  /** Who says that it is time: the fleet, or a door. */
  readonly attend: 'fleet' | 'poke'
  readonly concurrency: number
  /** When it was defined first: periods count from there. */
  readonly definedAt: Date
  /** The next occurrence; null: none comes, or the job is paused or retired. */
  readonly next: Date | null
  readonly pause: Pause | null
  readonly retired: boolean
  /** Failures in a row. */
  readonly failures: number
  readonly running: number
  readonly waiting: number
  /** Whether this node hosts it. */
  readonly hosted: boolean
}

const PAGE = 500

/** How many rows an occurrence is looked for in, newest first. */
const SEARCHED = 10_000

/** What people look at: the ledger, page by page. */
export class Lookups {
  constructor(private readonly parts: Parts) {}

  /** Every job of the fleet, or of one service, by name. */
  async jobs(query: { readonly service?: string } = {}): Promise<JobView[]> {
    const all: JobView[] = []
    for (;;) {
      const after = all.at(-1)?.job
      const page = await this.ask('jobs', (store) =>
        store.jobs({ ...query, ...(after === undefined ? {} : { after }), limit: PAGE }),
      )
      all.push(...page.map((aggregate) => this.view(aggregate)))
      if (page.length < PAGE) return all
    }
  }

  /** One page of runs, newest first; pass the last one as `before` for the next page. Default 100, at most 1,000. */
  runs(query: Partial<RunsQuery> = {}): Promise<readonly Run[]> {
    const limit = Math.max(1, Math.min(1_000, query.limit ?? 100))
    return this.ask('runs', (store) => store.runs({ ...query, limit }))
  }

  /** What was asked and decided, newest first. */
  history(query: { readonly job?: string; readonly limit?: number } = {}): Promise<readonly LedgerEvent[]> {
    const { job, limit = 100 } = query
    return this.ask('events', (store) => store.events({ ...(job === undefined ? {} : { job }), limit }))
  }

  /** Whether anybody has defined the job, ever. */
  async knows(job: string): Promise<boolean> {
    const { link, facts } = this.parts
    const { reply } = await link.call('load', facts.leaseMs, (store) => store.load({ jobs: [job] }))
    return reply.jobs.has(job) || reply.unreadable.some((one) => one.job === job)
  }

  /**
   * What became of an occurrence: the row that has its key, or the one that covers it. Null: not decided yet, not an
   * occurrence, or pruned; or, in `most` newer rows, not found.
   */
  async occurrence(job: string, key: string, most = SEARCHED): Promise<Run | null> {
    const { reply } = await this.parts.link.call('load', this.parts.facts.leaseMs, (store) =>
      store.load({ keys: [{ job, key }] }),
    )
    if (reply.runs[0] !== undefined) return reply.runs[0]
    const found = await this.covering(job, key, most)
    return found !== null && (await this.isOccurrence(found, key)) ? found : null
  }

  /** The row that decided the occurrence together with others. */
  private async covering(job: string, key: string, most: number): Promise<Run | null> {
    let before: RunsQuery['before']
    for (let searched = 0; searched < most; searched += PAGE) {
      const page = await this.runs({ job, limit: PAGE, ...(before === undefined ? {} : { before }) })
      const found = page.find((run) => decides(run, key))
      if (found !== undefined) return found
      before = page.at(-1)
      if (page.length < PAGE) return null
    }
    return null
  }

  /** Whether the key is one of the schedule that the row was made under; true where its terms are not stored any more. */
  private async isOccurrence(run: Run, key: string): Promise<boolean> {
    const { link, facts } = this.parts
    const { reply } = await link.call('load', facts.leaseMs, (store) => store.load({ jobs: [run.job] }))
    const schedule = ownTerms(reply, run)?.schedule
    const anchor = reply.jobs.get(run.job)?.header.anchor
    if (schedule == null || anchor === undefined) return true
    return this.parse(schedule, anchor).occurrence(key) !== null
  }

  view({ header, tally, definition, runs }: Aggregate): JobView {
    const { job, service, name, pause, retired } = header
    const running = runs.filter((run) => run.state === 'running').length
    const waiting = header.waiting.schedule + header.waiting.manual + header.waiting.backlog
    const { schedule, concurrency } = definition
    const attend = definition.pokeGraceMs === undefined ? 'fleet' : 'poke'
    const definedAt = new Date(header.anchor)
    const hosted = this.parts.facts.host(job, definition) !== null
    const next = pause !== null || retired ? null : this.next(schedule, header.anchor, header.cursor)
    const { failures } = tally
    const terms = { schedule, attend, concurrency, definedAt } as const
    return { job, service, name, ...terms, next, pause, retired, failures, running, waiting, hosted }
  }

  private next(spec: ScheduleSpec | null, anchor: number, cursor: { instant: number; label: string }): Date | null {
    if (spec === null) return null
    const found = this.parse(spec, anchor).next(cursor)
    return found === null ? null : new Date(found.instant)
  }

  private parse(spec: ScheduleSpec, anchor: number): Schedule {
    const { zones } = this.parts.facts
    return parseSchedule(spec, zones === undefined ? { anchor } : { anchor, zones })
  }

  private async ask<T>(
    operation: 'jobs' | 'runs' | 'events',
    act: (store: Parts['link']['store']) => Promise<T>,
  ): Promise<T> {
    const { reply } = await this.parts.link.call(operation, this.parts.facts.leaseMs, act)
    return reply
  }
}
