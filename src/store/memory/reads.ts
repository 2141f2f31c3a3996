import type { Aggregate, LedgerEvent, Run } from '../../ledger/types.js'
import type { EventsQuery, JobsQuery, Loaded, LoadQuery, PruneQuery, RunsQuery } from '../port.js'
import { KEPT_NODE_MS, KEPT_REQUEST_MS, REQUEST_KINDS } from '../retention.js'
import type { State } from './state.js'
import { compareText } from './wakes.js'

export function load(state: State, query: LoadQuery, now: number): Loaded {
  const entries = (query.jobs ?? []).flatMap((job) => state.jobs.get(job) ?? [])
  const runs = new Set<Run>()
  for (const attempt of query.attempts ?? []) {
    const run = state.attempts.get(attempt)?.run
    if (run) runs.add(run)
  }
  for (const { job, key } of query.keys ?? []) {
    const run = state.jobs.get(job)?.runs.get(key)?.run
    if (run) runs.add(run)
  }
  return {
    now,
    jobs: new Map(entries.map((entry) => [entry.row.header.job, state.aggregate(entry)])),
    definitions: new Map(
      entries.map((entry) => [entry.row.header.job, [...entry.definitions.values()].sort((a, b) => a.seq - b.seq)]),
    ),
    runs: [...runs],
    events: [...new Set(query.requests ?? [])].flatMap((id) => state.events.get(id) ?? []),
    nodes: query.nodes ? [...state.nodes.values()] : [],
  }
}

export function jobs(state: State, query: JobsQuery): readonly Aggregate[] {
  const { service, after = '', limit } = query
  return [...state.jobs.values()]
    .filter(({ row }) => row.header.job > after && (service === undefined || row.header.service === service))
    .sort((a, b) => compareText(a.row.header.job, b.row.header.job))
    .slice(0, limit)
    .map((entry) => state.aggregate(entry))
}

export function runs(state: State, query: RunsQuery): readonly Run[] {
  const { job, states, before, limit } = query
  const entries = job === undefined ? [...state.jobs.values()] : [state.jobs.get(job)].flatMap((entry) => entry ?? [])
  return entries
    .flatMap((entry) => [...entry.runs.values()].map((row) => row.run))
    .filter((run) => (states === undefined || states.includes(run.state)) && (!before || compareRuns(run, before) < 0))
    .sort((a, b) => compareRuns(b, a))
    .slice(0, limit)
}

type Position = NonNullable<RunsQuery['before']>

function compareRuns(a: Position, b: Position): number {
  return a.createdAt - b.createdAt || compareText(a.key, b.key) || compareText(a.job, b.job)
}

export function events(state: State, query: EventsQuery): readonly LedgerEvent[] {
  const { job, before, limit } = query
  return [...state.events.values()]
    .filter((event) => (job === undefined || event.job === job) && (!before || compareEvents(event, before) < 0))
    .sort((a, b) => compareEvents(b, a))
    .slice(0, limit)
}

type EventPosition = NonNullable<EventsQuery['before']>

function compareEvents(a: EventPosition, b: EventPosition): number {
  return a.at - b.at || compareText(a.id, b.id)
}

export function prune(state: State, query: PruneQuery, now: number): number {
  const { before, limit } = query
  const requestsBefore = Math.min(before, now - KEPT_REQUEST_MS)
  let removed = 0
  for (const entry of state.jobs.values()) {
    const extendable = entry.row.header.lastFate?.key
    for (const row of entry.runs.values()) {
      const { key, cause, endedAt, state: runState } = row.run
      if (removed >= limit) return removed
      const end = cause === 'manual' || cause === 'backfill' ? requestsBefore : before
      const isLive = runState === 'queued' || runState === 'running'
      if (isLive || endedAt === null || endedAt >= end || key === extendable) continue
      state.dropRun(entry, row)
      removed++
    }
  }
  for (const event of state.events.values()) {
    if (removed >= limit) return removed
    if (event.at >= (REQUEST_KINDS.has(event.kind) ? requestsBefore : before)) continue
    state.events.delete(event.id)
    removed++
  }
  for (const node of state.nodes.values()) {
    if (removed >= limit) return removed
    if (node.seenAt >= Math.min(before, now - KEPT_NODE_MS) || state.holdsRuns(node.session)) continue
    state.dropNode(node.session)
    removed++
  }
  return removed
}
