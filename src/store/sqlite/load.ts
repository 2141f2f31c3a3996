import { WINDOW } from '../../ledger/limits.js'
import type { Aggregate, Definition, LedgerEvent, Run } from '../../ledger/types.js'
import { LANES } from '../../ledger/types.js'
import type { Loaded, LoadQuery } from '../port.js'
import type { Ledger } from './ledger.js'
import {
  type DefinitionColumns,
  definitionOf,
  eventOf,
  headerOf,
  type JobColumns,
  type NodeColumns,
  nodeOf,
  type RunColumns,
  runOf,
  tallyOf,
} from './rows.js'
import {
  LOAD_ATTEMPT,
  LOAD_DEFINITIONS,
  LOAD_EVENT,
  LOAD_JOB,
  LOAD_NODES,
  LOAD_PLACED,
  LOAD_RUN,
  LOAD_WAITING,
} from './statements.js'

export function load(ledger: Ledger, query: LoadQuery, now: number): Loaded {
  const { connection, fleet } = ledger
  const jobs = loadJobs(ledger, query.jobs ?? [])
  const definitionsOf = (job: string) =>
    connection.all<DefinitionColumns>(LOAD_DEFINITIONS, { fleet, job }).map(definitionOf)
  return {
    now,
    jobs,
    definitions: new Map([...jobs.keys()].map((job) => [job, definitionsOf(job)])),
    runs: loadRuns(ledger, query),
    events: [...new Set(query.requests ?? [])].flatMap((id) => {
      const row = connection.get<LedgerEvent>(LOAD_EVENT, { fleet, id })
      return row ? [eventOf(row)] : []
    }),
    nodes: query.nodes ? connection.all<NodeColumns>(LOAD_NODES, { fleet }).map(nodeOf) : [],
  }
}

export function loadJobs(ledger: Ledger, names: readonly string[]): Map<string, Aggregate> {
  const { connection, fleet } = ledger
  const found = new Map<string, Aggregate>()
  for (const job of new Set(names)) {
    const row = connection.get<JobColumns>(LOAD_JOB, { fleet, job })
    if (row) found.set(job, aggregateOf(ledger, job, row))
  }
  return found
}

function aggregateOf(ledger: Ledger, job: string, row: JobColumns): Aggregate {
  const { connection, fleet } = ledger
  if (row.definition === null) throw new Error(`The job ${job} has lost its definition.`)
  const placed = connection.all<RunColumns>(LOAD_PLACED, { fleet, job })
  const waiting = LANES.flatMap((lane) => connection.all<RunColumns>(LOAD_WAITING, { fleet, job, lane, limit: WINDOW }))
  return {
    header: headerOf(row),
    tally: tallyOf(row),
    version: row.version,
    definition: JSON.parse(row.definition) as Definition,
    runs: [...placed, ...waiting].map(runOf),
  }
}

/** By attempt or key, each run once. */
function loadRuns(ledger: Ledger, query: LoadQuery): Run[] {
  const { connection, fleet } = ledger
  const rows = [
    ...(query.attempts ?? []).map((attempt) => connection.get<RunColumns>(LOAD_ATTEMPT, { fleet, attempt })),
    ...(query.keys ?? []).map(({ job, key }) => connection.get<RunColumns>(LOAD_RUN, { fleet, job, key })),
  ]
  const runs = new Map<string, Run>()
  for (const row of rows) {
    if (!row) continue
    const run = runOf(row)
    runs.set(JSON.stringify([run.job, run.key]), run)
  }
  return [...runs.values()]
}
