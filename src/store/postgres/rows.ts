import type { Aggregate, Definition, JobHeader, LedgerEvent, Run, Stop, StoredDefinition } from '../../ledger/types.js'
import type { NodeRow, NodeSummary } from '../port.js'
import type { Row } from './columns.js'

/** Rows as the statements give them in JSON, and what they stand for. A run's `stop` and a job's `wake_at` live in columns. */

export type AggregateRow = readonly [
  header: JobHeader,
  wakeAt: number | null,
  version: string,
  settled: number,
  failures: number,
  succeededUntil: number | null,
  tokenFloor: number,
  /** Null where the definition is lost, which no commit allows. */
  definition: Definition | null,
  runs: readonly RunRow[],
]

export function aggregateOf(row: AggregateRow): Aggregate {
  const [header, wakeAt, version, settled, failures, succeededUntil, tokenFloor, definition, runs] = row
  if (definition === null) throw new Error(`The job ${header.job} has lost its definition.`)
  return {
    header: { ...header, wakeAt },
    tally: { settled, failures, succeededUntil, tokenFloor },
    version,
    definition,
    runs: runs.map(runOf),
  }
}

export type RunRow = readonly [body: Run, stop: Stop | null]

export function runOf([body, stop]: RunRow): Run {
  return { ...body, stop }
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
    r_body: JSON.stringify(run),
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
  return { hash, content: JSON.parse(content) as Definition, seq, enteredAt, release }
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
  const manifest = JSON.parse(row[12]) as Record<string, string>
  const hello = { label, services: JSON.parse(services) as string[], attends, manifest, zoneData, release }
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
  const told = { session, node, label, services: JSON.parse(services) as string[], attends, room }
  return { ...told, manifestId, zoneData, seenAt, endedAt }
}
