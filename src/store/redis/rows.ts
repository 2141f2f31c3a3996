import type { Aggregate, LedgerEvent, Run, Stop, StoredDefinition } from '../../ledger/types.js'
import { manifestId } from '../manifest.js'
import type { NodeHello, NodeRow, NodeSummary } from '../port.js'
import { parseRow, readDefinition, readHeader, readRun, UnreadableRow } from '../readable.js'
import type { Argument } from './server.js'

/** Rows as the scripts give and take them. */

/** A number: as text where it may not be whole, since Lua's answers hold whole ones only. */
type Told = number | string

export type AggregateRow = readonly [
  job: string,
  header: string | null,
  /** Null where it cannot be read. */
  tally:
    | readonly [
        version: string,
        wakeAt: string | null,
        settled: string,
        failures: string,
        succeededUntil: string | null,
        tokenFloor: string,
        definition: string,
      ]
    | null,
  definition: string | null,
  /** JSON and stop of each run, in turns; null where it cannot be read. */
  runs: readonly (string | null)[],
]

/** @throws UnreadableRow */
export function aggregateOf([job, head, tally, definition, runs]: AggregateRow): Aggregate {
  if (tally === null) throw new UnreadableRow('its tally cannot be read')
  if (head === null) throw new UnreadableRow('its header is missing')
  const [version, wakeAt, settled, failures, succeededUntil, tokenFloor, hash] = tally
  const known = definition === null ? null : (parseRow(`its definition ${hash}`, definition) as StoredDefinition)
  return {
    header: { ...readHeader(job, parseRow('its header', head)), wakeAt: numberOf(wakeAt) },
    tally: {
      settled: Number(settled),
      failures: Number(failures),
      succeededUntil: numberOf(succeededUntil),
      tokenFloor: Number(tokenFloor),
    },
    version,
    definition: readDefinition(hash, known === null ? null : known.content),
    runs: Array.from({ length: runs.length / 2 }, (_, i) => runOf(runs[2 * i] ?? '', runs[2 * i + 1] ?? null)),
  }
}

/** @throws UnreadableRow */
export function runOf(body: string, stop: string | null): Run {
  return readRun(parseRow('a run', body), stop === null ? null : (parseRow("a run's stop", stop) as Stop))
}

/** @throws UnreadableRow */
export function definitionOf(text: string): StoredDefinition {
  const found = parseRow('one of its definitions', text) as StoredDefinition
  return { ...found, content: readDefinition(found.hash, found.content) }
}

/** What a commit and a settlement write of a run alike; its JSON, and in a commit its stop, come after it. */
export function runArguments(run: Run): Argument[] {
  const isLive = run.state === 'queued' || run.state === 'running'
  const isAsked = run.cause === 'manual' || run.cause === 'backfill'
  return [
    run.state,
    run.token,
    run.attemptId ?? '',
    run.session ?? '',
    run.createdAt,
    run.endedAt ?? '',
    isAsked ? '1' : '0',
    isLive ? placeOf(run) : '',
  ]
}

const LANES = { schedule: 'b', manual: 'c', backlog: 'd' } as const

/** Where a live run stands among those of its job: runs that hold a place first, then lane by lane. */
function placeOf({ job, state, place, lane, position, key }: Run): string {
  const kind = state === 'running' || place ? 'a' : LANES[lane]
  return `${job}\0${kind}${sortable(position)}${key}`
}

const DOUBLE = new DataView(new ArrayBuffer(8))

/** Sixteen digits that stand in the order of the numbers. */
export function sortable(value: number): string {
  DOUBLE.setFloat64(0, value)
  const high = DOUBLE.getUint32(0)
  const low = DOUBLE.getUint32(4)
  const isNegative = high >= 0x8000_0000
  const a = isNegative ? ~high >>> 0 : (high | 0x8000_0000) >>> 0
  const b = isNegative ? ~low >>> 0 : low
  return a.toString(16).padStart(8, '0') + b.toString(16).padStart(8, '0')
}

/** What a node says of itself, without its manifest, whose content has an id. */
export function saidOf({ label, services, attends, zoneData, release, manifest }: NodeHello): string {
  return JSON.stringify({ label, services, attends, zoneData, release, manifestId: manifestId(manifest) })
}

type Said = Omit<NodeHello, 'manifest'> & { readonly manifestId: string }

export type SummaryRow = readonly [
  order: string,
  session: string,
  node: string,
  room: number,
  seenAt: string,
  endedAt: string | null,
  said: string,
]

export function summaryOf([, session, node, room, seenAt, endedAt, text]: SummaryRow): NodeSummary {
  const { label, services, attends, zoneData, manifestId: id } = parseRow('a node', text) as Said
  return {
    session,
    node,
    label,
    services,
    attends,
    room: room === 1,
    manifestId: id,
    zoneData,
    seenAt: Number(seenAt),
    endedAt: numberOf(endedAt),
  }
}

export type NodeColumns = readonly [...SummaryRow, startedAt: string, leaseEnd: string, manifest: string]

export function nodeOf(row: NodeColumns): NodeRow {
  const [, session, node, room, seenAt, endedAt, text, startedAt, leaseEnd, manifest] = row
  const { label, services, attends, zoneData, release } = parseRow('a node', text) as Said
  const carried = parseRow('a manifest', manifest) as Record<string, string>
  return {
    session,
    node,
    hello: { label, services, attends, manifest: carried, zoneData, release },
    room: room === 1,
    startedAt: Number(startedAt),
    seenAt: Number(seenAt),
    leaseEnd: Number(leaseEnd),
    endedAt: numberOf(endedAt),
  }
}

/** In order of beginning. */
export function inOrder<T extends readonly [order: string, ...rest: unknown[]]>(rows: readonly T[]): T[] {
  return rows.toSorted((a, b) => Number(a[0]) - Number(b[0]))
}

export function eventOf(text: string): LedgerEvent {
  return parseRow('an event', text) as LedgerEvent
}

export function numberOf(text: Told | null | undefined): number | null {
  return text === null || text === undefined ? null : Number(text)
}

const BUCKETS = 256

/** A sign for each bucket, 1 for one's own, and whether there are own ones and others at all. */
export function bucketArguments(buckets: ReadonlySet<number>): Argument[] {
  let mask = ''
  let mine = 0
  for (let bucket = 0; bucket < BUCKETS; bucket++) {
    const isMine = buckets.has(bucket)
    mask += isMine ? '1' : '0'
    if (isMine) mine++
  }
  return [mask, mine > 0 ? '1' : '0', mine < BUCKETS ? '1' : '0']
}

export function listArguments(items: readonly string[]): Argument[] {
  return [items.length, ...items]
}
