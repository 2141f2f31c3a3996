import { parseSchedule } from '../schedule/index.js'
import type { Cursor, Schedule } from '../schedule/types.js'
import type { Context } from './context.js'
import { TEXT_LIMITS } from './limits.js'
import { isLive, isTransition, type RunEvent } from './states.js'
import { cleanText } from './text.js'
import type {
  Aggregate,
  Change,
  Definition,
  Expected,
  JobHeader,
  Lane,
  LedgerEvent,
  Run,
  RunWrite,
  StoredDefinition,
} from './types.js'
import { wakeAt } from './wake.js'

/**
 * A change in the making. Commands move runs and header fields here; `close` turns the difference into one `Change`, or
 * null where nothing changed. It remembers what was read of each row, so that the store can compare before it sets.
 */
export class Draft {
  readonly schedule: Schedule | null
  definition: Definition
  header: Mutable<JobHeader>
  failures: Change['failures'] = 'keep'
  private readonly events: LedgerEvent[] = []
  private readonly live = new Map<string, Run>()
  private readonly expected = new Map<string, Expected>()
  private readonly touched = new Map<string, Run>()
  private entered: StoredDefinition | null = null
  private hasPassedOver = false

  constructor(
    readonly job: Aggregate,
    readonly ctx: Context,
  ) {
    this.definition = job.definition
    this.header = { ...job.header, waiting: { ...job.header.waiting } }
    this.schedule = scheduleOf(job.definition, job.header.anchor, ctx)
    for (const run of job.runs) this.live.set(run.key, run)
  }

  get now(): number {
    return this.ctx.now
  }

  /** Live runs of the window, changed ones as they are now. */
  runs(): Run[] {
    return [...this.live.values()]
  }

  /** Runs that hold one of the job's places, the oldest first. */
  held(): Run[] {
    return this.runs()
      .filter((run) => run.place)
      .sort(byPosition)
  }

  /** Waiting runs of a lane, as far as they were loaded, first in line first. */
  waiting(lane: Lane): Run[] {
    return this.runs()
      .filter((run) => !run.place && run.lane === lane)
      .sort(byPosition)
  }

  /** The run as this draft leaves it. */
  current(run: Run): Run {
    return this.touched.get(run.key) ?? this.live.get(run.key) ?? run
  }

  /** Moves the cursor past what has a row which this ledger does not remember: no row is extended over it. */
  passOver(schedule: Schedule, to: Cursor): void {
    this.advance(schedule, to)
    this.header.lastFate = null
    this.hasPassedOver = true
  }

  /** Takes a run one step on. Waiting counts follow by themselves. */
  step(before: Run | null, event: RunEvent, after: Run): Run {
    const from = before === null ? null : before.state
    if (!isTransition(from, event, after.state)) {
      throw new Error(`ledger: ${after.job} ${after.key} cannot ${event} from ${from} to ${after.state}`)
    }
    if (before === null && (this.live.has(after.key) || this.touched.has(after.key))) {
      throw new Error(`ledger: ${after.job} ${after.key} has a row already`)
    }
    if (!this.touched.has(after.key)) {
      this.expected.set(after.key, before === null ? null : { state: before.state, token: before.token })
    }
    this.count(before, -1)
    this.count(after, 1)
    if (isLive(after.state)) this.live.set(after.key, after)
    else this.live.delete(after.key)
    this.touched.set(after.key, after)
    return after
  }

  private count(run: Run | null, by: number): void {
    if (run !== null && run.state === 'queued' && !run.place) {
      this.header.waiting = { ...this.header.waiting, [run.lane]: this.header.waiting[run.lane] + by }
    }
  }

  event(kind: LedgerEvent['kind'], id: string, by: string, why: string | null, data: unknown = null): void {
    this.events.push({
      id,
      at: this.now,
      job: this.job.header.job,
      kind,
      by: cleanText(by, TEXT_LIMITS.by),
      why: why === null ? null : cleanText(why, TEXT_LIMITS.why),
      data: data === null ? null : JSON.stringify(data),
    })
  }

  /** Puts another definition in force; what was due must have been decided before. */
  enter(definition: StoredDefinition): void {
    this.entered = definition
    this.definition = definition.content
    this.header.definition = definition.hash
    this.header.definitionSeq = definition.seq
  }

  /**
   * Moves the cursor on; neither field ever moves back. Only labels of a fixed-time schedule are identities, so only
   * that moves the label: a job that was interval-like for a while neither repeats nor loses a date afterwards.
   */
  advance(schedule: Schedule, to: Cursor): void {
    const { cursor } = this.header
    this.header.cursor =
      schedule.kind === 'fixed-time'
        ? schedule.later(cursor, to)
        : { instant: Math.max(cursor.instant, to.instant), label: cursor.label }
  }

  /** The schedule of the definition now in force: another one after `enter`. */
  scheduleInForce(): Schedule | null {
    return this.definition === this.job.definition
      ? this.schedule
      : scheduleOf(this.definition, this.header.anchor, this.ctx)
  }

  close(): Change | null {
    this.header.wakeAt = wakeAt(this)
    if (!this.changed()) return null
    const runs: RunWrite[] = [...this.touched.values()].map((run) => ({
      run,
      expect: this.expected.get(run.key) ?? null,
    }))
    return {
      id: this.ctx.changeId,
      job: this.header.job,
      expect: { version: this.job.version === '' ? null : this.job.version, settled: this.job.tally.settled },
      header: this.header,
      failures: this.failures,
      runs: runs.sort((a, b) => (a.run.key < b.run.key ? -1 : 1)),
      definition: this.entered,
      events: this.events,
    }
  }

  /** A cursor that only followed the clock is not worth a write. */
  private changed(): boolean {
    const { header } = this.job
    return (
      this.touched.size > 0 ||
      this.events.length > 0 ||
      this.entered !== null ||
      this.hasPassedOver ||
      this.failures !== 'keep' ||
      this.header.wakeAt !== header.wakeAt ||
      this.header.pause !== header.pause ||
      this.header.retired !== header.retired
    )
  }
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

function byPosition(a: Run, b: Run): number {
  return a.position - b.position
}

function scheduleOf(definition: Definition, anchor: number, ctx: Context): Schedule | null {
  if (definition.schedule === null) return null
  return parseSchedule(definition.schedule, ctx.zones === undefined ? { anchor } : { anchor, zones: ctx.zones })
}
