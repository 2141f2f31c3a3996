import { hash32 } from '../ledger/index.js'
import type { NodeSummary } from '../store/port.js'

/** A node counts as live while it was seen this recently. */
const LIVE_MS = 25_000

/** Whether, of the live ones among these nodes, it falls to this one. Each kind of work falls to another. */
export function isFirst(work: string, id: string, nodes: readonly NodeSummary[], now: number): boolean {
  const mine = hash32(`${work} ${id}`)
  return !nodes.some(({ node, seenAt, endedAt }) => {
    const isLive = endedAt === null && seenAt >= now - LIVE_MS
    const theirs = hash32(`${work} ${node}`)
    return isLive && node !== id && (theirs > mine || (theirs === mine && node > id))
  })
}
