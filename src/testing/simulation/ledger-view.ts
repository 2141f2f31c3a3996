import type { JobHeader, JobTally, Run, StoredDefinition } from '../../ledger/types.js'
import type { NodeRow } from '../../store/port.js'
import type { JobChange, RowChange } from './observations.js'

/** A job's row as the store keeps it. */
export interface JobRow {
  readonly header: JobHeader
  readonly tally: JobTally
  readonly version: string
}

/** Everything a store holds at one moment, as far as the checkers look at it. */
export interface Contents {
  readonly jobs: readonly {
    readonly row: JobRow
    readonly runs: readonly { readonly run: Run }[]
    readonly definitions: readonly StoredDefinition[]
  }[]
  readonly nodes: readonly NodeRow[]
}

interface JobView {
  row: JobRow
  readonly runs: Map<string, Run>
  readonly live: Map<string, Run>
  readonly definitions: Map<string, StoredDefinition>
}

/**
 * The ledger as it stands, kept beside the store by comparing all it holds before and after each act: a row that
 * changes, appears or vanishes is seen whatever the store says that it did.
 */
export class LedgerView {
  readonly #jobs = new Map<string, JobView>()
  readonly #nodes = new Map<string, NodeRow>()

  job(job: string): JobRow | null {
    return this.#jobs.get(job)?.row ?? null
  }

  jobs(): JobRow[] {
    return [...this.#jobs.values()].map((view) => view.row)
  }

  run(job: string, key: string): Run | null {
    return this.#jobs.get(job)?.runs.get(key) ?? null
  }

  runs(job: string): Iterable<Run> {
    return this.#jobs.get(job)?.runs.values() ?? []
  }

  /** Queued and running ones. */
  live(job: string): Iterable<Run> {
    return this.#jobs.get(job)?.live.values() ?? []
  }

  /** Every definition the store knows, or has known: contents never change under their hash. */
  definition(job: string, hash: string): StoredDefinition | null {
    return this.#jobs.get(job)?.definitions.get(hash) ?? null
  }

  session(session: string): NodeRow | null {
    return this.#nodes.get(session) ?? null
  }

  sessions(): Iterable<NodeRow> {
    return this.#nodes.values()
  }

  /** Takes in what the store holds now, and says what is different. */
  update(contents: Contents): { jobs: JobChange[]; rows: RowChange[] } {
    const jobs: JobChange[] = []
    const rows: RowChange[] = []
    const present = new Set<string>()
    for (const { row, runs, definitions } of contents.jobs) {
      const { job } = row.header
      present.add(job)
      const view = this.#jobs.get(job)
      const before = view?.row ?? null
      if (before !== row) jobs.push({ job, before, after: row })
      const fresh = view ?? { row, runs: new Map(), live: new Map(), definitions: new Map() }
      fresh.row = row
      this.#jobs.set(job, fresh)
      for (const definition of definitions) fresh.definitions.set(definition.hash, definition)
      compareRuns(job, fresh, runs, rows)
    }
    for (const [job, view] of this.#jobs) {
      if (present.has(job)) continue
      jobs.push({ job, before: view.row, after: null })
      compareRuns(job, view, [], rows)
      this.#jobs.delete(job)
    }
    this.updateSessions(contents.nodes)
    return { jobs, rows }
  }

  updateSessions(nodes: readonly NodeRow[]): void {
    this.#nodes.clear()
    for (const node of nodes) this.#nodes.set(node.session, node)
  }
}

function compareRuns(
  job: string,
  { runs: known, live }: JobView,
  runs: readonly { readonly run: Run }[],
  changes: RowChange[],
): void {
  for (const { run } of runs) {
    const before = known.get(run.key) ?? null
    if (before === run) continue
    changes.push({ job, key: run.key, before, after: run })
    known.set(run.key, run)
    if (run.state === 'queued' || run.state === 'running') live.set(run.key, run)
    else live.delete(run.key)
  }
  if (known.size === runs.length) return
  const present = new Set(runs.map(({ run }) => run.key))
  for (const [key, before] of known) {
    if (present.has(key)) continue
    changes.push({ job, key, before, after: null })
    known.delete(key)
    live.delete(key)
  }
}
