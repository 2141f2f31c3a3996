import { BUCKETS, bucketOf, hash32 } from '../ledger/index.js'
import type { NodeRow, NodeSummary } from '../store/port.js'
import { Carriers } from './carriers.js'

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
 * the greatest hash, so a node that comes or goes moves only its own share); a job that its bucket's owner does not carry
 * goes to the next one that does. This only avoids races: every decision is
 * guarded by the store, so nodes that see each other differently lose nothing but time.
 */
export class Membership {
  private readonly carriers: Carriers
  private seen: { readonly nodes: readonly NodeSummary[]; readonly now: number } = { nodes: [], now: 0 }
  private share: Share | null = null
  private signature = ''
  /** Somebody live carries a manifest that this node has not seen: `learn` is wanted. */
  wantsManifests = false

  constructor(
    private readonly node: string,
    private readonly service: string,
    jobs: ReadonlyMap<string, unknown>,
  ) {
    this.carriers = new Carriers(jobs)
  }

  /** What a beat said of the nodes. */
  update(nodes: readonly NodeSummary[], now: number): void {
    this.seen = { nodes, now }
    const own = nodes.find((one) => one.node === this.node && one.endedAt === null)
    if (own !== undefined) this.carriers.own(own.manifestId)
    this.divide()
    this.carriers.keepOnly(nodes)
  }

  /** What a load said of the nodes, with their manifests. */
  learn(rows: readonly NodeRow[], now: number): void {
    this.carriers.learn(rows)
    this.wantsManifests = false
    if (this.seen.nodes.length === 0) this.seen = { nodes: rows.map(summaryOf), now }
    this.divide()
  }

  mine(): Share {
    this.share ??= shareOf(this.node, [this.node], [this.node], new Map())
    return this.share
  }

  private divide(): void {
    const live = liveNodes(this.seen.nodes, this.service, this.seen.now)
    const lacking = new Map<string, ReadonlySet<string>>()
    let unseen = false
    for (const one of live) {
      if (one.node === this.node) continue
      const lacked = this.carriers.lackedBy(one)
      if (lacked === null) unseen = true
      else if (lacked.size > 0) lacking.set(one.node, lacked)
    }
    this.wantsManifests = unseen
    const all = live.map((one) => one.node)
    const roomy = live.filter((one) => one.room).map((one) => one.node)
    // A node that nobody has heard of yet counts itself in.
    if (!all.includes(this.node)) {
      all.push(this.node)
      roomy.push(this.node)
    }
    const sharing = roomy.length > 0 ? roomy : all
    const differing = [...lacking].map(([node, lacked]) => `${node}:${[...lacked].join()}`)
    const signature = `${sharing.join(' ')} of ${all.join(' ')} without ${differing.join(' ')}`
    if (signature === this.signature) return
    this.signature = signature
    this.share = shareOf(this.node, sharing, all, lacking)
  }
}

function summaryOf(row: NodeRow): NodeSummary {
  const { session, node, hello, room, seenAt, endedAt } = row
  const { label, services, attends, zoneData } = hello
  return { session, node, label, services, attends, room, manifestId: '', zoneData, seenAt, endedAt }
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

/** @param lacking by node, the jobs of this one that it does not carry */
function shareOf(
  node: string,
  sharing: readonly string[],
  live: readonly string[],
  lacking: ReadonlyMap<string, ReadonlySet<string>>,
): Share {
  const all = sharing.map((one) => ({ node: one, weights: weightsOf(one) }))
  const buckets = new Set<number>()
  for (let bucket = 0; bucket < BUCKETS; bucket += 1) if (first(bucket, all) === node) buckets.add(bucket)
  for (const [owner, lacked] of lacking) {
    for (const job of lacked) {
      const bucket = bucketOf(job)
      if (first(bucket, all) !== owner) continue
      const carrying = all.filter((one) => lacking.get(one.node)?.has(job) !== true)
      if (first(bucket, carrying) === node) buckets.add(bucket)
    }
  }
  const line = [...live].sort((a, b) => hash32(`watch ${b}`) - hash32(`watch ${a}`) || (a < b ? -1 : 1))
  const place = line.indexOf(node)
  const rank = place < 0 ? line.length : place
  // Of two, the other one is the owner whose silence is waited for: it stands in nobody's way.
  const before = line.length === 2 && place >= 0 ? 0 : Math.min(rank, 9)
  return { buckets, rank, isWatcher: rank < WATCHERS, graceMs: GRACE_MS * (before + 1) }
}

function first(bucket: number, nodes: readonly Weighted[]): string | null {
  let best: string | null = null
  let most = -1
  for (const { node, weights } of nodes) {
    const weight = weights[bucket] ?? 0
    if (weight > most) {
      most = weight
      best = node
    }
  }
  return best
}

interface Weighted {
  readonly node: string
  readonly weights: readonly number[]
}

/** A node's weight in each bucket: asked for again whenever a node comes, goes, or is full. */
function weightsOf(node: string): readonly number[] {
  const known = WEIGHTS.get(node)
  if (known !== undefined) return known
  if (WEIGHTS.size >= WEIGHTS_KEPT) WEIGHTS.clear()
  const weights = Array.from({ length: BUCKETS }, (_, bucket) => hash32(`${bucket} ${node}`))
  WEIGHTS.set(node, weights)
  return weights
}

const WEIGHTS = new Map<string, readonly number[]>()
const WEIGHTS_KEPT = 500
