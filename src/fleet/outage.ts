import type { Aggregate, Change, Definition, JobHeader } from '../ledger/types.js'
import { parseSchedule } from '../schedule/index.js'
import type { Occurrence } from '../schedule/types.js'
import type { Timer } from './clock.js'
import type { Parts } from './parts.js'
import { UnownedAttempt } from './unowned-attempt.js'
import { UnownedRecords } from './unowned-records.js'

/** How often due work is looked for while the store is away. */
const LOOK_MS = 1_000

/** So much earlier than the first failure an occurrence may have been due: its own attendance is what failed. */
const NOTICED_MS = 1_000

/** How often this node reads again what it would need without the store: whether a job is paused, and by what terms it runs. */
const REFRESH_MS = 60_000

/** What is known of a job by the last word of the store. */
interface View {
  header: JobHeader
  readonly definition: Definition
  /** Instant of the last occurrence that this node has looked at by itself. */
  until: number
}

/**
 * `onOutage: 'run'`: a node that has not reached the store for a lease runs by itself what comes due, unowned, and records it
 * afterwards. It goes by what it saw last, runs nothing that it asked the store for in doubt, and settles no occurrence.
 */
export class Outage {
  private readonly jobs: readonly string[]
  private readonly views = new Map<string, View>()
  /** Up to which instant (store time) the occurrences of a job may have been claimed by a commit of unknown outcome. */
  private readonly doubts = new Map<string, number>()
  private readonly running = new Set<UnownedAttempt>()
  private readonly records: UnownedRecords
  private timer: Timer | null = null
  private refreshedAt = Number.NEGATIVE_INFINITY
  private idle: (() => void)[] = []

  constructor(private readonly parts: Parts) {
    const { facts, events } = parts
    this.records = new UnownedRecords(parts)
    this.jobs = [...facts.jobs].flatMap(([job, { onOutage }]) => (onOutage === 'run' && facts.attends ? [job] : []))
    if (this.jobs.length === 0) return
    events.on('store-away', () => this.arm())
    events.on('store-back', () => {
      this.doubts.clear()
      void this.records.flush()
    })
  }

  /** The store's word about jobs. */
  saw(jobs: Iterable<Aggregate>): void {
    if (this.jobs.length === 0) return
    for (const { header, definition } of jobs) {
      if (!this.jobs.includes(header.job)) continue
      const until = this.views.get(header.job)?.until ?? Number.NEGATIVE_INFINITY
      this.views.set(header.job, { header, definition, until })
    }
  }

  /** What this node committed itself. */
  sawHeader(header: JobHeader): void {
    const view = this.views.get(header.job)
    if (view !== undefined && view.header.definition === header.definition) view.header = header
  }

  /** A commit of these jobs, read at `now`, was not answered: what was due by then may have been claimed. */
  doubt(claimed: readonly { readonly change: Change }[], now: number): void {
    for (const { change } of claimed) if (this.views.has(change.job)) this.doubts.set(change.job, now)
  }

  refreshIfDue(): void {
    const { clock } = this.parts.facts
    if (this.jobs.length === 0 || clock.monotonic() - this.refreshedAt < REFRESH_MS) return
    this.refreshedAt = clock.monotonic()
    void this.refresh()
  }

  list(): readonly UnownedAttempt[] {
    return [...this.running]
  }

  /** Outcomes that wait to be recorded. */
  get unrecorded(): number {
    return this.records.size
  }

  /** Fires every signal: the node stops. */
  stop(): void {
    for (const attempt of this.running) attempt.fire('stop')
  }

  /** Resolves when no unowned handler is waited for. */
  whenIdle(): Promise<void> {
    this.timer?.cancel()
    if (this.running.size === 0) return Promise.resolve()
    return new Promise((resolve) => this.idle.push(resolve))
  }

  /** Resolves when everything is recorded that can be. */
  record(): Promise<void> {
    return this.records.flush()
  }

  private async refresh(): Promise<void> {
    const { link, facts } = this.parts
    try {
      const { reply } = await link.call('load', facts.leaseMs / 2, (store) => store.load({ jobs: this.jobs }))
      this.saw(reply.jobs.values())
    } catch {
      // What was seen before is what there is.
    }
  }

  private arm(): void {
    if (this.timer !== null || this.parts.stopping.aborted) return
    this.timer = this.parts.facts.clock.after(LOOK_MS, () => {
      this.timer = null
      this.look()
    })
  }

  private look(): void {
    const { link, facts, stopping, log } = this.parts
    const away = link.awaySince()
    if (away === null || stopping.aborted) return
    this.arm()
    if (facts.clock.monotonic() - away.since < facts.leaseMs) return
    for (const [job, view] of this.views) {
      try {
        this.lookAfter(job, view, link.toStore(away.since) - NOTICED_MS)
      } catch (error) {
        log.error(`job '${job}' cannot be run while the store is away`, { error: String(error) })
      }
    }
  }

  private lookAfter(job: string, view: View, since: number): void {
    const { link, facts, looker, attempts, log } = this.parts
    const now = link.storeNow()
    const due = this.latestDue(view, now)
    if (due === null || due.instant <= view.until) return
    view.until = due.instant
    const hosted = facts.host(job, view.definition)
    const isLate = now - due.instant > Math.max(view.definition.graceMs, 2 * LOOK_MS)
    const isDoubtful = due.instant <= (this.doubts.get(job) ?? Number.NEGATIVE_INFINITY)
    if (hosted === null || due.instant < since || isLate || isDoubtful || !looker.attendsNow(job)) return
    const own = [...this.running].filter((one) => one.job === job).length + attempts.busyKeys(job).size
    if (own >= view.definition.concurrency || attempts.room() <= this.running.size) {
      log.warn(`job '${job}' is due while the store is away, and has no place on this node`, { key: due.key })
      return
    }
    const attempt = new UnownedAttempt(this.parts, hosted, { job, due, ...view }, () => this.ended(attempt))
    this.running.add(attempt)
    attempt.begin()
  }

  private latestDue({ header, definition }: View, now: number): Occurrence | null {
    const { pause, retired, anchor, cursor } = header
    const isPaused = pause !== null && (pause.until === null || pause.until > now)
    if (definition.schedule === null || retired || isPaused) return null
    const { zones } = this.parts.facts
    const schedule = parseSchedule(definition.schedule, zones === undefined ? { anchor } : { anchor, zones })
    return schedule.latest(cursor, now, 1)[0] ?? null
  }

  private ended(attempt: UnownedAttempt): void {
    this.running.delete(attempt)
    if (attempt.outcome !== null) this.records.add(attempt.job, attempt.outcome)
    if (this.parts.link.awaySince() === null) void this.records.flush()
    if (this.running.size > 0) return
    const waiting = this.idle
    this.idle = []
    for (const resolve of waiting) resolve()
  }
}
