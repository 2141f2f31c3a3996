import type { Run, StoredDefinition } from '../../ledger/types.js'
import type { Loaded, LoadQuery, Unreadable } from '../port.js'
import { readOr } from '../readable.js'
import { SEEN_MS } from '../retention.js'
import { carefully } from './careful.js'
import type { Ledger } from './ledger.js'
import {
  type AggregateRow,
  aggregatesOf,
  type DefinitionRow,
  definitionOf,
  type EventRow,
  eventOf,
  type NodeColumns,
  nodeOf,
  type RunRow,
  readable,
  runOf,
} from './rows.js'

interface Answer {
  readonly now: number
  readonly jobs: readonly AggregateRow[]
  readonly definitions: readonly DefinitionRow[]
  readonly runs: readonly RunRow[]
  readonly events: readonly EventRow[]
  readonly nodes: readonly NodeColumns[]
}

export function load({ server, fleet, gate }: Ledger, query: LoadQuery): Promise<Loaded> {
  const { jobs = [], attempts = [], keys = [], requests = [], nodes = false } = query
  const args = {
    p_fleet: fleet,
    p_gate: String(gate),
    p_jobs: JSON.stringify([...new Set(jobs)]),
    p_attempts: JSON.stringify(attempts),
    p_keys: JSON.stringify(keys.map(({ job, key }) => [job, key])),
    p_requests: JSON.stringify(requests),
    p_nodes: nodes,
    p_seen_ms: SEEN_MS,
  }
  return carefully(async (isCareful) =>
    loadedOf(await server.call<Answer>('load', { ...args, p_careful: isCareful }), isCareful),
  )
}

function loadedOf(answer: Answer, isCareful: boolean): Loaded {
  const aggregates = aggregatesOf(answer.jobs, isCareful)
  const jobs = new Map(aggregates.jobs.map((aggregate) => [aggregate.header.job, aggregate]))
  const bad = new Map(aggregates.unreadable.map((each) => [each.job, each]))
  const blame = (job: string) => (why: string) => void (bad.has(job) || bad.set(job, { job, why }))

  const definitions = new Map<string, StoredDefinition[]>([...jobs.keys()].map((job) => [job, []]))
  for (const row of answer.definitions) {
    const [job] = row
    if (jobs.has(job)) readOr(() => void definitions.get(job)?.push(definitionOf(row)), blame(job))
  }
  const runs = new Map<string, Run>()
  for (const row of answer.runs) {
    const take = (run: Run) => void runs.set(JSON.stringify([run.job, run.key]), run)
    if (row[2] === undefined) take(runOf(row))
    else readOr(() => take(runOf(row)), blame(row[2]))
  }
  for (const job of bad.keys()) {
    definitions.delete(job)
    jobs.delete(job)
  }
  return {
    now: answer.now,
    jobs,
    definitions,
    runs: [...runs.values()],
    unreadable: [...bad.values()] satisfies Unreadable[],
    events: answer.events.map(eventOf),
    nodes: readable(answer.nodes, nodeOf),
  }
}
