import { manifestId } from '../manifest.js'
import type { NodeHello, SessionRef } from '../port.js'
import type { Ledger } from './ledger.js'
import { ATTEND_BEGIN, ATTEND_HELLO, ATTEND_RENEW, NEXT_END, NEXT_WAKE, SESSION } from './statements.js'

/** What the store knows of a session; a session that holds no run does not run out. */
export function sessionState(ledger: Ledger, session: string, now: number): { known: boolean; alive: boolean } {
  const { connection, fleet } = ledger
  const row = connection.get<{ ended_at: number | null; lease_end: number; holds: number }>(SESSION, { fleet, session })
  if (!row) return { known: false, alive: false }
  return { known: true, alive: row.ended_at === null && (row.lease_end >= now || row.holds === 0) }
}

/** Begins a session that is not known yet. */
export function begin(ledger: Ledger, session: SessionRef, hello: NodeHello, now: number): void {
  const { connection, fleet } = ledger
  const times = { now, lease_end: now + session.leaseMs }
  connection.run(ATTEND_BEGIN, { fleet, session: session.id, node: session.node, ...helloColumns(hello), ...times })
}

/** Renews a session that is alive, and replaces what it says of itself. */
export function renew(ledger: Ledger, session: SessionRef, hello: NodeHello | undefined, now: number): void {
  const { connection, fleet } = ledger
  if (hello) connection.run(ATTEND_HELLO, { fleet, session: session.id, ...helloColumns(hello) })
  connection.run(ATTEND_RENEW, { fleet, session: session.id, now, lease_end: now + session.leaseMs })
}

function helloColumns(hello: NodeHello) {
  return {
    label: hello.label,
    services: JSON.stringify(hello.services),
    attends: hello.attends ? 1 : 0,
    zone_data: hello.zoneData,
    release: hello.release,
    manifest_id: manifestId(hello.manifest),
    manifest: JSON.stringify(hello.manifest),
  }
}

/** Buckets as the statements take them: a digit for each, 1 for a bucket of the node's own. */
export function maskOf(buckets: ReadonlySet<number>): string {
  let mask = ''
  for (let bucket = 0; bucket < BUCKETS; bucket++) mask += buckets.has(bucket) ? '1' : '0'
  return mask
}

const BUCKETS = 256

/** Below every instant. */
export const ANY_TIME = Number.MIN_SAFE_INTEGER

/** The earliest wake-ups after these instants, among the node's own buckets and among the others. */
export function nextWakes(
  ledger: Ledger,
  query: {
    readonly services: readonly string[]
    readonly mask: string
    readonly after: number
    readonly othersAfter: number
  },
): { nextWakeAt: number | null; nextOtherWakeAt: number | null } {
  const { services, mask, after, othersAfter } = query
  return {
    nextWakeAt: nextWake(ledger, services, mask, '1', after),
    nextOtherWakeAt: nextWake(ledger, services, mask, '0', othersAfter),
  }
}

/** No job is looked at where there is no such bucket: the search would pass over every job in vain. */
function nextWake(ledger: Ledger, services: readonly string[], mine: string, wanted: '0' | '1', after: number) {
  if (!mine.includes(wanted)) return null
  const { connection, fleet } = ledger
  let next: number | null = null
  for (const service of services) {
    const row = connection.get<{ wake_at: number }>(NEXT_WAKE, { fleet, service, mine, wanted, after })
    if (row && (next === null || row.wake_at < next)) next = row.wake_at
  }
  return next
}

/** The earliest lease end of another session that holds runs. */
export function nextEnd(ledger: Ledger, session: string): number | null {
  const { connection, fleet } = ledger
  return connection.get<{ lease_end: number }>(NEXT_END, { fleet, session })?.lease_end ?? null
}
