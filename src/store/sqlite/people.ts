import type { Aggregate, LedgerEvent, Run } from '../../ledger/types.js'
import type { EventsQuery, JobsQuery, PruneQuery, RunsQuery } from '../port.js'
import { KEPT_NODE_MS, KEPT_REQUEST_MS, REQUEST_KINDS } from '../retention.js'
import type { Ledger } from './ledger.js'
import { loadJobs } from './load.js'
import {
  EVENTS,
  EVENTS_OF_JOB,
  JOBS,
  PRUNE_EVENTS,
  PRUNE_NODES,
  PRUNE_RUNS,
  RUNS,
  RUNS_OF_JOB,
} from './people-statements.js'
import { eventOf, type RunColumns, runOf } from './rows.js'

/** After every instant: where the first page begins. */
const LAST = Number.MAX_SAFE_INTEGER

export function jobs(ledger: Ledger, query: JobsQuery): readonly Aggregate[] {
  const { connection, fleet } = ledger
  const { after = '', service = null, limit } = query
  const names = connection.all<{ job: string }>(JOBS, { fleet, after, service, limit })
  return [
    ...loadJobs(
      ledger,
      names.map((row) => row.job),
    ).values(),
  ]
}

export function runs(ledger: Ledger, query: RunsQuery): readonly Run[] {
  const { connection, fleet } = ledger
  const { createdAt: created_at, key, job: before_job } = query.before ?? { createdAt: LAST, key: '', job: '' }
  const states = query.states ? JSON.stringify(query.states) : null
  const page = { fleet, created_at, key, before_job, states, limit: query.limit }
  const rows =
    query.job === undefined
      ? connection.all<RunColumns>(RUNS, page)
      : connection.all<RunColumns>(RUNS_OF_JOB, { ...page, job: query.job })
  return rows.map(runOf)
}

export function events(ledger: Ledger, query: EventsQuery): readonly LedgerEvent[] {
  const { connection, fleet } = ledger
  const page = { fleet, ...(query.before ?? { at: LAST, id: '' }), limit: query.limit }
  const rows =
    query.job === undefined
      ? connection.all<LedgerEvent>(EVENTS, page)
      : connection.all<LedgerEvent>(EVENTS_OF_JOB, { ...page, job: query.job })
  return rows.map(eventOf)
}

export function prune(ledger: Ledger, query: PruneQuery, now: number): number {
  const { connection, fleet } = ledger
  const { before, limit } = query
  const requests_before = now - KEPT_REQUEST_MS
  let left = limit
  left -= connection.run(PRUNE_RUNS, { fleet, before, requests_before, limit: left })
  const request_kinds = JSON.stringify([...REQUEST_KINDS])
  left -= connection.run(PRUNE_EVENTS, { fleet, before, requests_before, request_kinds, limit: left })
  left -= connection.run(PRUNE_NODES, { fleet, before: Math.min(before, now - KEPT_NODE_MS), limit: left })
  return limit - left
}
