import type { Aggregate, LedgerEvent, Run, Stop, StoredDefinition } from '../../ledger/types.js'
import type { NodeRow, NodeSummary, Unreadable } from '../port.js'
import { parseRow, readDefinition, readHeader, readOr, readRun, UnreadableRow } from '../readable.js'
import { runText } from '../run-text.js'
import type { Row } from './columns.js'

/**
 * Rows as the statements give them, and what they stand for. A run's `stop` and a job's `wake_at` live in columns. What the
 * ledger made JSON of is parsed already, or, in a careful answer, still a text.
 */
type Json = unknown

export type AggregateRow = readonly [
  job: string,
  hash: string,
  header: Json,
  wakeAt: number | null,
  version: string,
  settled: number,
  failures: number,
  succeededUntil: number | null,
  tokenFloor: number,
  /** Null where the definition is lost, which no commit allows. */
  definition: Json | null,
  runs: readonly RunRow[],
]

/** @throws UnreadableRow */
export function aggregateOf(row: AggregateRow): Aggregate {
  const [job, hash, header, wakeAt, version, settled, failures, succeededUntil, tokenFloor, definition, runs] = row
  demandLength(row, 11)
  return {
    header: { ...readHeader(job, parsed('its header', header)), wakeAt },
    tally: { settled, failures, succeededUntil, tokenFloor },
    version,
    definition: readDefinition(hash, parsed(`its definition ${hash}`, definition)),
    runs: runs.map(runOf),
  }
}

/** Aggregates in order; those that cannot be read are named in a careful answer, and ask for one otherwise. */
export function aggregatesOf(rows: readonly AggregateRow[], isCareful: boolean) {
  const jobs: Aggregate[] = []
  const unreadable: Unreadable[] = []
  for (const row of rows) {
    if (!isCareful) jobs.push(aggregateOf(row))
    else {
      readOr(
        () => void jobs.push(aggregateOf(row)),
        (why) => void unreadable.push({ job: row[0], why }),
      )
    }
  }
  return { jobs, unreadable }
}

export type RunRow =
  | readonly [body: Json, stop: Json]
  /** In a careful answer; `createdAt` where pages go by it. */
  | readonly [body: string, stop: string | null, job: string, key: string, createdAt: number]

/** @throws UnreadableRow */
export function runOf(row: RunRow): Run {
  const [body, stop, , key] = row
  if (key === undefined) demandLength(row, 2)
  const named = key === undefined ? 'a run' : `the run ${key}`
  return readRun(parsed(named, body), parsed(`${named}'s stop`, stop) as Stop | null)
}

/** What a run's holder is asked. @throws UnreadableRow */
export function stopOf([, stop, , key]: RunRow): Stop | null {
  return parsed(`the run ${key}'s stop`, stop) as Stop | null
}

/** A text that was not parsed yet is so now; nothing that the ledger keeps as JSON is a text itself. */
function parsed(row: string, value: Json): unknown {
  return typeof value === 'string' ? parseRow(row, value) : value
}

/** What a row holds may look like several rows, or like a part of one. */
function demandLength(row: readonly unknown[], length: number): void {
  if (row.length !== length) throw new UnreadableRow('a row is not whole')
}

/** The columns of a run that a commit and a settlement write alike. */
export function runColumns(run: Run) {
  const isLive = run.state === 'queued' || run.state === 'running'
  return {
    r_state: run.state,
    r_place: run.state === 'running' || (isLive && run.place) ? 1 : 0,
    r_position: run.position,
    r_ready_at: run.readyAt,
    r_token: run.token,
    r_session: run.session,
    r_holder: run.state === 'running' ? run.session : null,
    r_attempt: run.attemptId,
    r_ended_at: isLive ? null : (run.endedAt ?? run.createdAt),
    r_body: runText(run),
  } satisfies Row
}

export const RUN_COLUMNS = [
  'r_state',
  'r_place',
  'r_position',
  'r_ready_at',
  'r_token',
  'r_session',
  'r_holder',
  'r_attempt',
  'r_ended_at',
  'r_body',
] as const

export function stopColumn(stop: Stop | null): string | null {
  return stop === null ? null : JSON.stringify(stop)
}

export type DefinitionRow = readonly [
  job: string,
  hash: string,
  seq: number,
  enteredAt: number,
  release: string | null,
  content: string,
]

export function definitionOf([, hash, seq, enteredAt, release, content]: DefinitionRow): StoredDefinition {
  const found = readDefinition(hash, parseRow(`its definition ${hash}`, content))
  return { hash, content: found, seq, enteredAt, release }
}

export type EventRow = readonly [
  id: string,
  at: number,
  job: string,
  kind: LedgerEvent['kind'],
  by: string,
  why: string | null,
  data: string | null,
]

export function eventOf([id, at, job, kind, by, why, data]: EventRow): LedgerEvent {
  return { id, at, job, kind, by, why, data }
}

export type NodeColumns = readonly [
  session: string,
  node: string,
  label: string,
  services: string,
  attends: boolean,
  room: boolean,
  zoneData: string,
  release: string | null,
  startedAt: number,
  seenAt: number,
  leaseEnd: number,
  endedAt: number | null,
  manifest: string,
]

export function nodeOf(row: NodeColumns): NodeRow {
  const [session, node, label, services, attends, room, zoneData, release, startedAt, seenAt, leaseEnd, endedAt] = row
  const manifest = parseRow('manifest', row[12]) as Record<string, string>
  const hello = { label, services: parseRow('services', services) as string[], attends, manifest, zoneData, release }
  return { session, node, hello, room, startedAt, seenAt, leaseEnd, endedAt }
}

export type SummaryColumns = readonly [
  session: string,
  node: string,
  label: string,
  services: string,
  attends: boolean,
  room: boolean,
  zoneData: string,
  manifestId: string,
  seenAt: number,
  endedAt: number | null,
]

export function summaryOf(row: SummaryColumns): NodeSummary {
  const [session, node, label, services, attends, room, zoneData, manifestId, seenAt, endedAt] = row
  const told = { session, node, label, services: parseRow('services', services) as string[], attends, room }
  return { ...told, manifestId, zoneData, seenAt, endedAt }
}

/** Rows that can be read; the others are left out. */
export function readable<R, T>(rows: readonly R[], read: (row: R) => T): T[] {
  return rows.flatMap((row) =>
    readOr(
      () => [read(row)],
      () => [],
    ),
  )
}
