import type { StoredDefinition } from '../../ledger/types.js'
import type { Loaded, LoadQuery } from '../port.js'
import type { Ledger } from './ledger.js'
import {
  type AggregateRow,
  aggregateOf,
  type DefinitionRow,
  definitionOf,
  type EventRow,
  eventOf,
  type NodeColumns,
  nodeOf,
  type RunRow,
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

export async function load(ledger: Ledger, query: LoadQuery): Promise<Loaded> {
  const { calls, fleet, gate } = ledger
  const { jobs = [], attempts = [], keys = [], requests = [], nodes = false } = query
  const answer = await calls.call<Answer>('load', {
    p_fleet: fleet,
    p_gate: String(gate),
    p_jobs: JSON.stringify([...new Set(jobs)]),
    p_attempts: JSON.stringify(attempts),
    p_keys: JSON.stringify(keys.map(({ job, key }) => [job, key])),
    p_requests: JSON.stringify(requests),
    p_nodes: nodes,
  })
  const aggregates = answer.jobs.map(aggregateOf)
  const definitions = new Map<string, StoredDefinition[]>(aggregates.map(({ header }) => [header.job, []]))
  for (const row of answer.definitions) definitions.get(row[0])?.push(definitionOf(row))
  const runs = answer.runs.map(runOf)
  return {
    now: answer.now,
    jobs: new Map(aggregates.map((aggregate) => [aggregate.header.job, aggregate])),
    definitions,
    runs: [...new Map(runs.map((run) => [JSON.stringify([run.job, run.key]), run])).values()],
    unreadable: [],
    events: answer.events.map(eventOf),
    nodes: answer.nodes.map(nodeOf),
  }
}
