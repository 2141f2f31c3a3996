import type { Definition, JobHeader, JobTally, LedgerEvent, Run, Stop, StoredDefinition } from '../../ledger/types.js'
import type { NodeRow, NodeSummary } from '../port.js'
import { parseRow, readDefinition, readHeader, readRun } from '../readable.js'
import { runText } from '../run-text.js'
import type { SqliteValue } from './driver.js'

/** Rows as the driver gives them, and what they stand for. A run's `stop` and a job's `wake_at` live in their columns. */

export interface TallyColumns {
  readonly settled: number
  readonly failures: number
  readonly succeeded_until: number | null
  readonly token_floor: number
}

export function tallyOf(row: TallyColumns): JobTally {
  const { settled, failures, succeeded_until, token_floor } = row
  return { settled, failures, succeededUntil: succeeded_until, tokenFloor: token_floor }
}

export interface JobColumns extends TallyColumns {
  readonly hash: string
  readonly header: string
  readonly wake_at: number | null
  readonly version: string
  /** Null where the definition is lost, which no commit allows. */
  readonly definition: string | null
}

export function headerOf(job: string, row: JobColumns): JobHeader {
  return { ...readHeader(job, parseRow('its header', row.header)), wakeAt: row.wake_at }
}

export function contentOf({ hash, definition }: JobColumns): Definition {
  return readDefinition(hash, definition === null ? null : parseRow(`its definition ${hash}`, definition))
}

export interface RunColumns {
  readonly job: string
  readonly key: string
  readonly created_at: number
  readonly body: string
  readonly stop: string | null
}

export function runOf(row: RunColumns): Run {
  const named = `the run ${row.key}`
  return readRun(parseRow(named, row.body), row.stop === null ? null : (parseRow(`${named}'s stop`, row.stop) as Stop))
}

/** The columns of a run that a commit and a settlement write alike. */
export function runColumns(run: Run): Record<string, SqliteValue> {
  const isLive = run.state === 'queued' || run.state === 'running'
  return {
    job: run.job,
    key: run.key,
    state: run.state,
    place: run.state === 'running' || (isLive && run.place) ? 1 : 0,
    position: run.position,
    ready_at: run.readyAt,
    token: run.token,
    session: run.session,
    attempt_id: run.attemptId,
    ended_at: isLive ? null : run.endedAt,
    body: runText(run),
  }
}

export function stopColumn(stop: Stop | null): string | null {
  return stop === null ? null : JSON.stringify(stop)
}

export interface DefinitionColumns {
  readonly hash: string
  readonly seq: number
  readonly entered_at: number
  readonly release: string | null
  readonly content: string
}

export function definitionOf(row: DefinitionColumns): StoredDefinition {
  const { hash, seq, entered_at, release, content } = row
  return {
    hash,
    content: readDefinition(hash, parseRow(`its definition ${hash}`, content)),
    seq,
    enteredAt: entered_at,
    release,
  }
}

/** An event's columns have its fields' names; the driver's object is copied, since it may have no prototype. */
export function eventOf(row: LedgerEvent): LedgerEvent {
  return { ...row }
}

export interface NodeColumns {
  readonly session: string
  readonly node: string
  readonly label: string
  readonly services: string
  readonly attends: number
  readonly room: number
  readonly zone_data: string
  readonly release: string | null
  readonly manifest: string
  readonly started_at: number
  readonly seen_at: number
  readonly lease_end: number
  readonly ended_at: number | null
}

export function nodeOf(row: NodeColumns): NodeRow {
  return {
    session: row.session,
    node: row.node,
    hello: {
      label: row.label,
      services: parseRow('services', row.services) as string[],
      attends: row.attends === 1,
      manifest: parseRow('manifest', row.manifest) as Record<string, string>,
      zoneData: row.zone_data,
      release: row.release,
    },
    room: row.room === 1,
    startedAt: row.started_at,
    seenAt: row.seen_at,
    leaseEnd: row.lease_end,
    endedAt: row.ended_at,
  }
}

export interface SummaryColumns
  extends Pick<
    NodeColumns,
    'session' | 'node' | 'label' | 'services' | 'attends' | 'room' | 'zone_data' | 'seen_at' | 'ended_at'
  > {
  readonly manifest_id: string
}

export function summaryOf(row: SummaryColumns): NodeSummary {
  return {
    session: row.session,
    node: row.node,
    label: row.label,
    services: parseRow('services', row.services) as string[],
    attends: row.attends === 1,
    room: row.room === 1,
    manifestId: row.manifest_id,
    zoneData: row.zone_data,
    seenAt: row.seen_at,
    endedAt: row.ended_at,
  }
}
