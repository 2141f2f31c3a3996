import type { Aggregate, LedgerEvent, Run, StoredDefinition } from '../../ledger/types.js'
import type { EventsQuery, JobsQuery, Loaded, LoadQuery, PruneQuery, RunsQuery } from '../port.js'
import { KEPT_DEFINITIONS, type PruneInstants, pruneInstants, REQUEST_KINDS, SEEN_MS } from '../retention.js'
import type { JobEntry, State } from './state.js'
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
    unreadable: [],
    events: [...new Set(query.requests ?? [])].flatMap((id) => state.events.get(id) ?? []),
    nodes: query.nodes ? [...state.nodes.values()].filter((node) => node.seenAt >= now - SEEN_MS) : [],
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
  const due = pruneInstants(query.before, now)
  let left = query.limit
  for (const drop of pruned(state, due)) {
    if (left === 0) break
    drop()
    left--
  }
  return query.limit - left
}

/** What has to go, one row at a time, as deeds: each is found only when those before it are done. */
function* pruned(state: State, due: PruneInstants): Generator<() => void> {
  for (const entry of state.jobs.values()) {
    for (const row of entry.runs.values()) if (isOldRun(entry, row.run, due)) yield () => state.dropRun(entry, row)
  }
  for (const { id, kind, at } of state.events.values()) {
    if (at < (REQUEST_KINDS.has(kind) ? due.requestsBefore : due.before)) yield () => state.events.delete(id)
  }
  for (const { session, seenAt } of state.nodes.values()) {
    if (seenAt < due.nodesBefore && !state.holdsRuns(session)) yield () => state.dropNode(session)
  }
  for (const entry of state.jobs.values()) {
    for (const { hash } of oldDefinitions(entry, due)) yield () => entry.definitions.delete(hash)
  }
  const eventful = new Set([...state.events.values()].map((event) => event.job))
  for (const [job, entry] of state.jobs) {
    const { retired, definition } = entry.row.header
    const isStored = entry.definitions.get(definition)?.content.handler !== undefined
    if (retired && isStored && entry.runs.size === 0 && !eventful.has(job)) yield () => state.dropJob(entry)
  }
}

function isOldRun({ row }: JobEntry, run: Run, due: PruneInstants): boolean {
  const { key, cause, endedAt, state } = run
  if (state === 'queued' || state === 'running' || endedAt === null) return false
  const before = cause === 'manual' || cause === 'backfill' ? due.requestsBefore : due.before
  return endedAt < before && key !== row.header.lastFate?.key
}

function oldDefinitions({ row, definitions }: JobEntry, due: PruneInstants): readonly StoredDefinition[] {
  return [...definitions.values()]
    .filter(({ enteredAt }) => enteredAt < due.definitionsBefore)
    .sort((a, b) => b.seq - a.seq)
    .slice(KEPT_DEFINITIONS)
    .filter(({ hash }) => hash !== row.header.definition)
}
