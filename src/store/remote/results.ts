import type { Attendance, BeatReply, Committed, Loaded, SettleResult, StoreInfo } from '../port.js'

/** A reply that is not what the port promises: something else answers at this address. */
export class NotTheLedger extends Error {}

export function attendanceOf(reply: unknown): Attendance {
  const seen = answerOf<Attendance>(reply, ['jobs', 'ended'])
  // A server of before there were any says nothing of rows that cannot be read.
  return { ...seen, ended: mapOf(seen.ended), unreadable: seen.unreadable ?? [] }
}

export function loadedOf(reply: unknown): Loaded {
  const loaded = answerOf<Loaded>(reply, ['jobs', 'definitions', 'runs', 'events', 'nodes'])
  const { jobs, definitions, unreadable = [] } = loaded
  return { ...loaded, jobs: mapOf(jobs), definitions: mapOf(definitions), unreadable }
}

export function committedOf(reply: unknown): Committed {
  const committed = answerOf<Committed>(reply, [])
  if (!committed.expired) listOf(committed.results)
  return committed
}

export function settledOf(reply: unknown, count: number): readonly SettleResult[] {
  const results = listOf<SettleResult>(reply)
  if (results.length !== count) throw new NotTheLedger()
  return results
}

export function beatReplyOf(reply: unknown): BeatReply {
  return answerOf<BeatReply>(reply, ['gone', 'strays', 'nodes'])
}

export function infoOf(reply: unknown): StoreInfo {
  const { kind, grade, incarnation } = fieldsOf(reply)
  const isInfo = typeof kind === 'string' && typeof grade === 'string' && typeof incarnation === 'string'
  if (!isInfo) throw new NotTheLedger()
  return reply as StoreInfo
}

export function numberOf(reply: unknown): number {
  if (typeof reply !== 'number') throw new NotTheLedger()
  return reply
}

export function listOf<T>(reply: unknown): readonly T[] {
  if (!Array.isArray(reply)) throw new NotTheLedger()
  return reply as readonly T[]
}

/** A Map arrives as a list of pairs. */
function mapOf<Value>(pairs: unknown): ReadonlyMap<string, Value> {
  const list = listOf<[string, Value]>(pairs)
  if (!list.every((pair) => Array.isArray(pair) && pair.length === 2)) throw new NotTheLedger()
  return new Map(list)
}

/** An answer tells the store's clock, and has lists where lists belong. */
function answerOf<T>(reply: unknown, lists: readonly (keyof T & string)[]): T {
  const fields = fieldsOf(reply)
  if (typeof fields.now !== 'number' || !lists.every((name) => Array.isArray(fields[name]))) throw new NotTheLedger()
  return reply as T
}

function fieldsOf(reply: unknown): Readonly<Record<string, unknown>> {
  return typeof reply === 'object' && reply !== null ? (reply as Record<string, unknown>) : {}
}
