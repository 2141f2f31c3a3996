import type { Aggregate, LedgerEvent, Run } from '../../ledger/types.js'
import type { EventsQuery, JobsQuery, PruneQuery, RunsQuery } from '../port.js'
import { KEPT_NODE_MS, KEPT_REQUEST_MS, REQUEST_KINDS } from '../retention.js'
import type { Ledger } from './ledger.js'
import { type AggregateRow, aggregateOf, type EventRow, eventOf, type RunRow, runOf } from './rows.js'

/** After every instant: where the first page begins. */
const LAST = Number.MAX_SAFE_INTEGER

export async function jobs({ calls, fleet }: Ledger, query: JobsQuery): Promise<readonly Aggregate[]> {
  const { after = '', service = null, limit } = query
  const args = { p_fleet: fleet, p_service: service, p_after: after, p_limit: limit }
  return (await calls.call<AggregateRow[]>('jobs', args)).map(aggregateOf)
}

export async function runs({ calls, fleet }: Ledger, query: RunsQuery): Promise<readonly Run[]> {
  const { createdAt, key, job: beforeJob } = query.before ?? { createdAt: LAST, key: '', job: '' }
  const rows = await calls.call<RunRow[]>('runs', {
    p_fleet: fleet,
    p_job: query.job ?? null,
    p_states: query.states ? JSON.stringify(query.states) : null,
    p_created_at: createdAt,
    p_key: key,
    p_before_job: beforeJob,
    p_limit: query.limit,
  })
  return rows.map(runOf)
}

export async function events({ calls, fleet }: Ledger, query: EventsQuery): Promise<readonly LedgerEvent[]> {
  const { at, id } = query.before ?? { at: LAST, id: '' }
  const args = { p_fleet: fleet, p_job: query.job ?? null, p_at: at, p_id: id, p_limit: query.limit }
  return (await calls.call<EventRow[]>('events', args)).map(eventOf)
}

export async function prune({ calls, fleet }: Ledger, query: PruneQuery): Promise<number> {
  return calls.call<number>('prune', {
    p_fleet: fleet,
    p_before: query.before,
    p_limit: query.limit,
    p_request_ms: KEPT_REQUEST_MS,
    p_node_ms: KEPT_NODE_MS,
    p_request_kinds: JSON.stringify([...REQUEST_KINDS]),
  })
}
