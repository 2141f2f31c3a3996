import { WINDOW } from '../../ledger/limits.js'
import type {
  Aggregate,
  JobHeader,
  JobTally,
  Lane,
  LedgerEvent,
  Run,
  RunWrite,
  StoredDefinition,
} from '../../ledger/types.js'
import { LANES } from '../../ledger/types.js'
import { isEarlier } from '../guards.js'
import { manifestId } from '../manifest.js'
import type { NodeRow, SettleResult } from '../port.js'
import { deepFreeze } from './freeze.js'
import { SortedList } from './sorted.js'
import { compareText, Wakes } from './wakes.js'

/** A job's row: replaced as a whole, never changed. */
export interface JobRow {
  readonly header: JobHeader
  readonly tally: JobTally
  readonly version: string
}

/** A run with the answers its settlements were given, newest last. */
export interface RunRow {
  readonly run: Run
  readonly settledBy: readonly (readonly [attemptId: string, result: SettleResult])[]
}

/** One job with everything that belongs to it. */
export interface JobEntry {
  row: JobRow
  readonly runs: Map<string, RunRow>
  readonly definitions: Map<string, StoredDefinition>
  /** Runs that hold a place. */
  readonly placed: SortedList<Run>
  /** Queued runs without one. */
  readonly waiting: Readonly<Record<Lane, SortedList<Run>>>
  aggregate: Aggregate | null
}

/** What a snapshot holds; rows are shared, since nobody changes one. */
export interface Tables {
  readonly incarnation: string
  readonly jobs: readonly { row: JobRow; runs: readonly RunRow[]; definitions: readonly StoredDefinition[] }[]
  readonly events: readonly LedgerEvent[]
  readonly nodes: readonly NodeRow[]
}

/** The ledger in memory: maps by key, and what a loop asks for kept in order beside them. */
export class State {
  incarnation: string
  jobs = new Map<string, JobEntry>()
  /** The run that holds an attempt id. */
  attempts = new Map<string, RunRow>()
  events = new Map<string, LedgerEvent>()
  /** In order of beginning. */
  nodes = new Map<string, NodeRow>()
  /** What the manifest of each session comes to. */
  manifests = new Map<string, string>()
  /** Running runs by session, then by attempt. */
  running = new Map<string, Map<string, Run>>()
  wakes = new Wakes()
  readonly wakers = new Set<(bucket: number) => void>()

  constructor(incarnation: string) {
    this.incarnation = incarnation
  }

  holdsRuns(session: string): boolean {
    return this.running.has(session)
  }

  /** Writes a job's row; wakes the subscribers where it became due earlier. */
  putJob(row: JobRow): JobEntry {
    const { job, service, bucket, wakeAt } = row.header
    const entry = this.jobs.get(job)
    const before = entry?.row.header.wakeAt ?? null
    if (entry && entry.row.header.service === service && entry.row.header.bucket === bucket) {
      this.wakes.move(job, service, bucket, before, wakeAt)
    } else {
      if (entry) this.wakes.move(job, entry.row.header.service, entry.row.header.bucket, before, null)
      this.wakes.move(job, service, bucket, null, wakeAt)
    }
    if (isEarlier(wakeAt, before)) this.#wake(bucket)
    const frozen = deepFreeze(row)
    if (entry) {
      entry.row = frozen
      entry.aggregate = null
      return entry
    }
    const fresh = newEntry(frozen)
    this.jobs.set(job, fresh)
    return fresh
  }

  /** Removes a job that has neither runs nor events any more. */
  dropJob({ row }: JobEntry): void {
    const { job, service, bucket, wakeAt } = row.header
    this.wakes.move(job, service, bucket, wakeAt, null)
    this.jobs.delete(job)
  }

  putRun(entry: JobEntry, row: RunRow): void {
    const before = entry.runs.get(row.run.key)
    if (before) this.dropRun(entry, before)
    const fresh = deepFreeze(row)
    const { run } = fresh
    entry.runs.set(run.key, fresh)
    if (run.attemptId !== null) this.attempts.set(run.attemptId, fresh)
    if (run.state === 'running' && run.session !== null && run.attemptId !== null) {
      const running = this.running.get(run.session)
      if (running) running.set(run.attemptId, run)
      else this.running.set(run.session, new Map([[run.attemptId, run]]))
    }
    listOf(entry, run)?.add(run)
    entry.aggregate = null
  }

  putRuns(entry: JobEntry, writes: readonly RunWrite[]): void {
    for (const { run } of writes) {
      this.putRun(entry, { run, settledBy: entry.runs.get(run.key)?.settledBy ?? [] })
    }
  }

  dropRun(entry: JobEntry, row: RunRow): void {
    const { run } = row
    entry.runs.delete(run.key)
    if (run.attemptId !== null) this.attempts.delete(run.attemptId)
    if (run.state === 'running' && run.session !== null && run.attemptId !== null) {
      const running = this.running.get(run.session)
      running?.delete(run.attemptId)
      if (running?.size === 0) this.running.delete(run.session)
    }
    listOf(entry, run)?.remove(run)
    entry.aggregate = null
  }

  putEvent(event: LedgerEvent): void {
    this.events.set(event.id, deepFreeze(event))
  }

  putNode(node: NodeRow): void {
    const before = this.nodes.get(node.session)
    this.nodes.set(node.session, deepFreeze(node))
    if (before?.hello !== node.hello) this.manifests.set(node.session, manifestId(node.hello.manifest))
  }

  dropNode(session: string): void {
    this.nodes.delete(session)
    this.manifests.delete(session)
  }

  aggregate(entry: JobEntry): Aggregate {
    if (entry.aggregate) return entry.aggregate
    const definition = entry.definitions.get(entry.row.header.definition)
    if (!definition) throw new Error(`The job ${entry.row.header.job} has lost its definition.`)
    const waiting = LANES.flatMap((lane) => entry.waiting[lane].first(WINDOW))
    const runs = [...entry.placed.first(Number.POSITIVE_INFINITY), ...waiting]
    entry.aggregate = deepFreeze({ ...entry.row, definition: definition.content, runs })
    return entry.aggregate
  }

  tables(): Tables {
    return {
      incarnation: this.incarnation,
      jobs: [...this.jobs.values()].map(({ row, runs, definitions }) => ({
        row,
        runs: [...runs.values()],
        definitions: [...definitions.values()],
      })),
      events: [...this.events.values()],
      nodes: [...this.nodes.values()],
    }
  }

  replace(tables: Tables): void {
    this.incarnation = tables.incarnation
    this.jobs = new Map()
    this.attempts = new Map()
    this.running = new Map()
    this.wakes = new Wakes()
    this.events = new Map(tables.events.map((event) => [event.id, event]))
    this.nodes = new Map()
    this.manifests = new Map()
    for (const node of tables.nodes) this.putNode(node)
    for (const { row, runs, definitions } of tables.jobs) {
      const entry = this.putJob(row)
      for (const definition of definitions) entry.definitions.set(definition.hash, definition)
      for (const run of runs) this.putRun(entry, run)
    }
  }

  /** After the call that caused it, so that a subscriber never finds the store half-way. */
  #wake(bucket: number): void {
    for (const wake of this.wakers) {
      queueMicrotask(() => {
        if (this.wakers.has(wake)) wake(bucket)
      })
    }
  }
}

function newEntry(row: JobRow): JobEntry {
  const list = () => new SortedList<Run>((a, b) => a.position - b.position || compareText(a.key, b.key))
  return {
    row,
    runs: new Map(),
    definitions: new Map(),
    placed: list(),
    waiting: { schedule: list(), manual: list(), backlog: list() },
    aggregate: null,
  }
}

function listOf(entry: JobEntry, run: Run): SortedList<Run> | null {
  if (run.state === 'running' || (run.state === 'queued' && run.place)) return entry.placed
  return run.state === 'queued' ? entry.waiting[run.lane] : null
}
