import { BUCKETS, hash32 } from '../ledger/index.js'
import type { NodeSummary } from '../store/port.js'

/** A node counts as live while it was seen this recently. */
const LIVE_MS = 25_000

/** So many nodes look after the jobs of others when their owner does not; the rest find them at their beats. */
const WATCHERS = 3

/** A wait before looking after another node's job, times the place in line: long enough not to race its owner. */
const GRACE_MS = 200

/** What this node looks after first, and how soon after the others. */
export interface Share {
  readonly buckets: ReadonlySet<number>
  /** Place in the line of those who look when an owner does not: 0 for the first. */
  readonly rank: number
  readonly isWatcher: boolean
  readonly graceMs: number
}

/**
 * Divides the buckets of a service among its live nodes that have room (rendezvous: each bucket goes to the node with
 * the greatest hash, so a node that comes or goes moves only its own share). This only avoids races: every decision is
 * guarded by the store, so nodes that see each other differently lose nothing but time.
 */
export class Membership {
  private nodes: readonly NodeSummary[] = []
  private share: Share | null = null
  private signature = ''

  constructor(
    private readonly node: string,
    private readonly service: string,
  ) {}

  /** What a beat or a load said of the nodes. */
  update(nodes: readonly NodeSummary[], now: number): void {
    const live = liveNodes(nodes, this.service, now)
    const known = live.some((one) => one.node === this.node)
    const all = live.map((one) => one.node)
    const roomy = live.filter((one) => one.room).map((one) => one.node)
    // A node that nobody has heard of yet counts itself in.
    if (!known) {
      all.push(this.node)
      roomy.push(this.node)
    }
    const sharing = roomy.length > 0 ? roomy : all
    const signature = `${sharing.join(' ')} of ${all.join(' ')}`
    this.nodes = nodes
    if (signature === this.signature) return
    this.signature = signature
    this.share = shareOf(this.node, sharing, all)
  }

  mine(): Share {
    this.share ??= shareOf(this.node, [this.node], [this.node])
    return this.share
  }

  all(): readonly NodeSummary[] {
    return this.nodes
  }
}

/** Nodes that run handlers of the service, the latest word of each, in order of their ids. */
function liveNodes(nodes: readonly NodeSummary[], service: string, now: number): NodeSummary[] {
  const latest = new Map<string, NodeSummary>()
  for (const one of nodes) {
    if (one.endedAt !== null || !one.attends || !one.services.includes(service)) continue
    if (one.seenAt < now - LIVE_MS) continue
    const other = latest.get(one.node)
    if (other === undefined || other.seenAt <= one.seenAt) latest.set(one.node, one)
  }
  return [...latest.values()].sort((a, b) => (a.node < b.node ? -1 : 1))
}

function shareOf(node: string, sharing: readonly string[], live: readonly string[]): Share {
  const buckets = new Set<number>()
  for (let bucket = 0; bucket < BUCKETS; bucket += 1) {
    if (first(`${bucket}`, sharing) === node) buckets.add(bucket)
  }
  const line = [...live].sort((a, b) => hash32(`watch ${b}`) - hash32(`watch ${a}`) || (a < b ? -1 : 1))
  const place = line.indexOf(node)
  const rank = place < 0 ? line.length : place
  return { buckets, rank, isWatcher: rank < WATCHERS, graceMs: GRACE_MS * (Math.min(rank, 9) + 1) }
}

function first(bucket: string, nodes: readonly string[]): string | null {
  let best: string | null = null
  let most = -1
  for (const node of nodes) {
    const weight = hash32(`${bucket} ${node}`)
    if (weight > most) {
      most = weight
      best = node
    }
  }
  return best
}
