import { manifestId } from '../manifest.js'
import type { NodeHello, SessionRef } from '../port.js'
import type { Ledger } from './ledger.js'
import { json, name } from './literal.js'
import type { Parameters } from './names.js'
import { integerAt, numberAt, saidColumn, textAt } from './rows.js'
import type { Rows } from './server.js'
import { NEXT_END, NEXT_WAKE } from './shared-statements.js'

const BUCKETS = 256

/** Buckets as the statements take them: a digit for each, 1 for a bucket of the node's own. */
export function maskOf(buckets: ReadonlySet<number>): string {
  let mask = ''
  for (let bucket = 0; bucket < BUCKETS; bucket++) mask += buckets.has(bucket) ? '1' : '0'
  return mask
}

/** Below every instant. */
export const ANY_TIME = Number.MIN_SAFE_INTEGER

/** The session, as the statements take it. */
export function sessionParameters({ fleet }: Ledger, session: SessionRef): Parameters {
  return { fleet: name(fleet), session: name(session.id), lease: session.leaseMs }
}

export function helloParameters(session: SessionRef, hello: NodeHello): Parameters {
  return {
    node: name(session.node),
    manifest_id: manifestId(hello.manifest),
    said: saidColumn(session.id, session.node, hello),
    manifest: json(hello.manifest),
  }
}

/** What the store says of itself and of the session. */
export interface Self {
  readonly now: number
  readonly known: boolean
  readonly alive: boolean
  readonly beats: number
  /** The word of the store. */
  readonly word: string
}

/** From the part with the letter n. */
export function selfOf(rows: Rows): Self {
  const row = rows.find((each) => textAt(each, 0) === 'n') ?? []
  const now = integerAt(row, 1)
  const known = numberAt(row, 2) !== null
  const isRunOut = integerAt(row, 4) < now && numberAt(row, 5) !== null
  return {
    now,
    known,
    alive: known && numberAt(row, 3) === null && !isRunOut,
    beats: integerAt(row, 6),
    word: textAt(row, 7),
  }
}

export interface WakeQuery {
  readonly services: readonly string[]
  readonly mask: string
  /** SQL, or an instant. */
  readonly after: Parameters[string]
  readonly othersAfter: Parameters[string]
}

/** Parts that find what to wait for. No job is looked at where there is no such bucket: it would be passed over in vain. */
export function waitParts(ledger: Ledger, session: SessionRef, query: WakeQuery): string {
  const { server } = ledger
  const common = sessionParameters(ledger, session)
  const parts = [...new Set(query.services)].flatMap((service) => {
    const wake = (kind: 'w' | 'o', wanted: '0' | '1', after: Parameters[string]) => {
      if (!query.mask.includes(wanted)) return []
      const own = { kind, wanted, service: name(service), mine: query.mask, after: after ?? ANY_TIME }
      return [server.sql(NEXT_WAKE, { ...common, ...own })]
    }
    return [...wake('w', '1', query.after), ...wake('o', '0', query.othersAfter)]
  })
  return [...parts, server.sql(NEXT_END, common)].join('')
}

/** From the parts with the letters w, o and e. */
export function waitsOf(rows: Rows) {
  return { nextWakeAt: least(rows, 'w'), nextOtherWakeAt: least(rows, 'o'), nextEndAt: least(rows, 'e') }
}

function least(rows: Rows, letter: string): number | null {
  const found = rows.filter((row) => textAt(row, 0) === letter).map((row) => integerAt(row, 1))
  return found.length === 0 ? null : Math.min(...found)
}
