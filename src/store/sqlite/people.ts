import type { Aggregate, LedgerEvent, Run } from '../../ledger/types.js'
import type { EventsQuery, JobsQuery, PruneQuery, RunsQuery } from '../port.js'
import { readOr } from '../readable.js'
import { KEPT_DEFINITIONS, pruneInstants, REQUEST_KINDS } from '../retention.js'
import type { Ledger } from './ledger.js'
import { loadJob } from './load.js'
import {
  EVENTS,
  EVENTS_OF_JOB,
  JOBS,
  PRUNE_DEFINITIONS,
  PRUNE_EVENTS,
  PRUNE_JOB,
  PRUNE_JOB_DEFINITIONS,
  PRUNE_NODES,
  PRUNE_RETIRED,
  PRUNE_RUNS,
  RUNS,
  RUNS_OF_JOB,
} from './people-statements.js'
import { eventOf, type RunColumns, runOf } from './rows.js'

/** After every instant: where the first page begins. */
const LAST = Number.MAX_SAFE_INTEGER

export function jobs(ledger: Ledger, query: JobsQuery): readonly Aggregate[] {
  const { connection, fleet } = ledger
  const { service = null, limit } = query
  const rows = (after: string, limit: number) => connection.all<{ job: string }>(JOBS, { fleet, after, service, limit })
  return filledPage(
    limit,
    (last: { readonly job: string } | null, wanted) => rows(last?.job ?? query.after ?? '', wanted),
    ({ job }) => loadJob(ledger, job),
  )
}

export function runs(ledger: Ledger, query: RunsQuery): readonly Run[] {
  const { connection, fleet } = ledger
  const states = query.states ? JSON.stringify(query.states) : null
  const first = query.before ?? { createdAt: LAST, key: '', job: '' }
  return filledPage(
    query.limit,
    (last: RunColumns | null, limit) => {
      const before = last ? { createdAt: last.created_at, key: last.key, job: last.job } : first
      const page = { fleet, created_at: before.createdAt, key: before.key, before_job: before.job, states, limit }
      return query.job === undefined
        ? connection.all<RunColumns>(RUNS, page)
        : connection.all<RunColumns>(RUNS_OF_JOB, { ...page, job: query.job })
    },
    runOf,
  )
}

/** A page of what can be read: what cannot is passed over, so that only the last page is short. */
function filledPage<Row, T>(
  limit: number,
  rows: (last: Row | null, limit: number) => readonly Row[],
  read: (row: Row) => T | null,
): T[] {
  const found: T[] = []
  let last: Row | null = null
  for (;;) {
    const wanted = limit - found.length
    const page: readonly Row[] = wanted > 0 ? rows(last, wanted) : []
    for (const row of page) {
      const one = readOr(
        () => read(row),
        () => null,
      )
      if (one !== null) found.push(one)
    }
    last = page.at(-1) ?? null
    if (page.length === 0 || page.length < wanted) return found
  }
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
  const { limit } = query
  const { before, requestsBefore: requests_before, nodesBefore, definitionsBefore } = pruneInstants(query.before, now)
  const request_kinds = JSON.stringify([...REQUEST_KINDS])
  let left = limit
  left -= connection.run(PRUNE_RUNS, { fleet, before, requests_before, limit: left })
  left -= connection.run(PRUNE_EVENTS, { fleet, before, requests_before, request_kinds, limit: left })
  left -= connection.run(PRUNE_NODES, { fleet, before: nodesBefore, limit: left })
  left -= connection.run(PRUNE_DEFINITIONS, { fleet, before: definitionsBefore, kept: KEPT_DEFINITIONS, limit: left })
  for (const { job } of connection.all<{ job: string }>(PRUNE_RETIRED, { fleet, limit: left })) {
    connection.run(PRUNE_JOB_DEFINITIONS, { fleet, job })
    left -= connection.run(PRUNE_JOB, { fleet, job })
  }
  return limit - left
}
