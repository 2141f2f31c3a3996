import type { Aggregate, LedgerEvent, Run } from '../../ledger/types.js'
import type { EventsQuery, JobsQuery, PruneQuery, RunsQuery } from '../port.js'
import {
  KEPT_DEFINITION_MS,
  KEPT_DEFINITIONS,
  KEPT_MS,
  KEPT_NODE_MS,
  KEPT_REQUEST_MS,
  REQUEST_KINDS,
} from '../retention.js'
import { carefully } from './careful.js'
import type { Ledger } from './ledger.js'
import { type AggregateRow, aggregateOf, type EventRow, eventOf, type RunRow, readable, runOf } from './rows.js'

/** After every instant: where the first page begins. */
const LAST = Number.MAX_SAFE_INTEGER

export function jobs({ server, fleet }: Ledger, query: JobsQuery): Promise<readonly Aggregate[]> {
  const { service = null } = query
  return filledPage(
    query.limit,
    (last: AggregateRow | null, limit, isCareful) => {
      const after = last?.[0] ?? query.after ?? ''
      const args = { p_fleet: fleet, p_service: service, p_after: after, p_limit: limit, p_careful: isCareful }
      return server.call<AggregateRow[]>('jobs', args)
    },
    aggregateOf,
  )
}

export function runs({ server, fleet }: Ledger, query: RunsQuery): Promise<readonly Run[]> {
  const first = query.before ?? { createdAt: LAST, key: '', job: '' }
  return filledPage(
    query.limit,
    (last: RunRow | null, limit, isCareful) => {
      const [, , job = first.job, key = first.key, createdAt = first.createdAt] = last ?? []
      return server.call<RunRow[]>('runs', {
        p_fleet: fleet,
        p_job: query.job ?? null,
        p_states: query.states ? JSON.stringify(query.states) : null,
        p_created_at: createdAt,
        p_key: key,
        p_before_job: job,
        p_limit: limit,
        p_careful: isCareful,
      })
    },
    runOf,
  )
}

/** A page of what can be read: what cannot is passed over, so that only the last page is short. */
function filledPage<R, T>(
  limit: number,
  rows: (last: R | null, limit: number, isCareful: boolean) => Promise<readonly R[]>,
  read: (row: R) => T,
): Promise<T[]> {
  return carefully(async (isCareful) => {
    if (!isCareful) return (await rows(null, limit, false)).map(read)
    const found: T[] = []
    let last: R | null = null
    for (;;) {
      const wanted = limit - found.length
      const page: readonly R[] = await rows(last, wanted, true)
      found.push(...readable(page, read))
      last = page.at(-1) ?? null
      if (page.length < wanted || found.length === limit) return found
    }
  })
}

export async function events({ server, fleet }: Ledger, query: EventsQuery): Promise<readonly LedgerEvent[]> {
  const { at, id } = query.before ?? { at: LAST, id: '' }
  const args = { p_fleet: fleet, p_job: query.job ?? null, p_at: at, p_id: id, p_limit: query.limit }
  return (await server.call<EventRow[]>('events', args)).map(eventOf)
}

export async function prune({ server, fleet }: Ledger, query: PruneQuery): Promise<number> {
  return server.call<number>('prune', {
    p_fleet: fleet,
    p_before: query.before,
    p_limit: query.limit,
    p_kept_ms: KEPT_MS,
    p_request_ms: KEPT_REQUEST_MS,
    p_node_ms: KEPT_NODE_MS,
    p_definition_ms: KEPT_DEFINITION_MS,
    p_definitions: KEPT_DEFINITIONS,
    p_request_kinds: JSON.stringify([...REQUEST_KINDS]),
  })
}
