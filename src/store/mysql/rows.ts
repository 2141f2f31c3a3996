import type { Aggregate, Definition, JobHeader, LedgerEvent, Run, Stop, StoredDefinition } from '../../ledger/types.js'
import type { NodeHello, NodeRow, NodeSummary } from '../port.js'
import { parseRow, readDefinition, readHeader, readRun } from '../readable.js'
import { runText } from '../run-text.js'
import { columnKey, json, jsonText, nameColumn, nameOrNull, type Sql, type Value } from './literal.js'
import type { Rows } from './server.js'

/** Rows as lists of bytes, and what they stand for. */

export type Row = Rows[number]

export function numberAt(row: Row, at: number): number | null {
  const bytes = row[at]
  return bytes ? Number(bytes.toString('latin1')) : null
}

export function integerAt(row: Row, at: number): number {
  return numberAt(row, at) ?? 0
}

export function textAt(row: Row, at: number): string {
  return row[at]?.toString('utf8') ?? ''
}

export function textOrNullAt(row: Row, at: number): string | null {
  return row[at]?.toString('utf8') ?? null
}

export function bytesAt(row: Row, at: number): Buffer {
  return row[at] ?? Buffer.alloc(0)
}

/** The key of a name. */
export function columnKeyAt(row: Row, at: number): string {
  return columnKey(bytesAt(row, at))
}

/** Columns of a job as \`JOB_COLUMNS\` names them, from a place in the row on. */
const JOB = {
  job: 0,
  header: 1,
  wakeAt: 2,
  version: 3,
  settled: 4,
  failures: 5,
  succeeded: 6,
  floor: 7,
  hash: 8,
  definition: 9,
}

/** @throws UnreadableRow */
export function aggregateOf(job: string, row: Row, from: number, runs: readonly Run[]): Aggregate {
  const at = (name: keyof typeof JOB) => from + JOB[name]
  return {
    header: { ...headerOf(job, textAt(row, at('header'))), wakeAt: numberAt(row, at('wakeAt')) },
    tally: {
      settled: integerAt(row, at('settled')),
      failures: integerAt(row, at('failures')),
      succeededUntil: numberAt(row, at('succeeded')),
      tokenFloor: integerAt(row, at('floor')),
    },
    version: textAt(row, at('version')),
    definition: contentOf(nameColumn(bytesAt(row, at('hash'))), textOrNullAt(row, at('definition'))),
    runs,
  }
}

function headerOf(job: string, header: string): JobHeader {
  return readHeader(job, parseRow('its header', header))
}

function contentOf(hash: string, body: string | null): Definition {
  return readDefinition(hash, body === null ? null : (storedOf(hash, body).content ?? null))
}

/** A job's name in full: from its column, or, where that is folded, from its header if that can be read. */
export function jobNameOf(row: Row, from: number): string {
  const bytes = bytesAt(row, from)
  const short = nameColumn(bytes)
  if (bytes.length < FOLDED_BYTES) return short
  try {
    const { job } = JSON.parse(textAt(row, from + JOB.header)) as { job?: unknown }
    return typeof job === 'string' ? job : short
  } catch {
    return short
  }
}

const FOLDED_BYTES = 768

/** @throws UnreadableRow */
export function runOf(key: string, body: string, stop: string | null): Run {
  const named = `the run ${key}`
  return readRun(parseRow(named, body), stop === null ? null : (parseRow(`${named}'s stop`, stop) as Stop))
}

/** The columns of a run that a commit and a settlement write alike. */
export function runColumns(run: Run): Readonly<Record<RunColumn, Value | Sql>> {
  const isLive = run.state === 'queued' || run.state === 'running'
  return {
    state: run.state,
    place: run.state === 'running' || (isLive && run.place),
    position: run.position,
    token: run.token,
    live_job: isLive ? nameOrNull(run.job) : null,
    holder: run.state === 'running' ? nameOrNull(run.session) : null,
    attempt: nameOrNull(run.attemptId),
    ended_at: isLive ? null : (run.endedAt ?? run.createdAt),
    body: jsonText(runText(run)),
  }
}

export const RUN_COLUMNS = [
  'state',
  'place',
  'position',
  'token',
  'live_job',
  'holder',
  'attempt',
  'ended_at',
  'body',
] as const

export type RunColumn = (typeof RUN_COLUMNS)[number]

export function stopColumn(stop: Stop | null): Sql | null {
  return stop === null ? null : json(stop)
}

/** @throws UnreadableRow */
export function storedOf(hash: string, body: string): StoredDefinition {
  const found = parseRow(`its definition ${hash}`, body) as StoredDefinition | null
  return found ?? ({ content: null } as unknown as StoredDefinition)
}

/** @throws UnreadableRow */
export function definitionOf(hash: string, body: string): StoredDefinition {
  const found = storedOf(hash, body)
  return { ...found, content: readDefinition(hash, found.content) }
}

/** @throws UnreadableRow */
export function eventOf(body: string): LedgerEvent {
  return parseRow('an event', body) as LedgerEvent
}

/** What a node says of itself without its manifest, which is long. */
interface Said extends Omit<NodeHello, 'manifest'> {
  readonly session: string
  readonly node: string
}

export function saidColumn(session: string, node: string, hello: NodeHello): Sql {
  const { manifest: _, ...rest } = hello
  return json({ session, node, ...rest } satisfies Said)
}

/** From said, manifest, room, started, seen, lease end, ended. @throws UnreadableRow */
export function nodeOf(row: Row, from: number): NodeRow {
  const { session, node, ...hello } = parseRow('a node', textAt(row, from)) as Said
  const manifest = parseRow('a manifest', textAt(row, from + 1)) as NodeHello['manifest']
  return {
    session,
    node,
    hello: { ...hello, manifest },
    room: integerAt(row, from + 2) === 1,
    startedAt: integerAt(row, from + 3),
    seenAt: integerAt(row, from + 4),
    leaseEnd: integerAt(row, from + 5),
    endedAt: numberAt(row, from + 6),
  }
}

/** From said, manifest's word, room, seen, ended. @throws UnreadableRow */
export function summaryOf(row: Row, from: number): NodeSummary {
  const { session, node, label, services, attends, zoneData } = parseRow('a node', textAt(row, from)) as Said
  return {
    session,
    node,
    label,
    services,
    attends,
    room: integerAt(row, from + 2) === 1,
    manifestId: textAt(row, from + 1),
    zoneData,
    seenAt: integerAt(row, from + 3),
    endedAt: numberAt(row, from + 4),
  }
}
