import { define } from '../ledger/index.js'
import type { Aggregate, Change, Definition, JobHeader } from '../ledger/types.js'
import type { Loaded, NodeSummary } from '../store/port.js'
import { describeError } from './attempt-error.js'
import { definitionHash, withStoredZone } from './definition-hash.js'
import { isUnavailable } from './link.js'
import { ManifestWatch } from './manifest-watch.js'
import { carriedBy, NodeRows } from './node-rows.js'
import type { Parts } from './parts.js'

/** Jobs of one load and one commit. */
const CHUNK = 500
/** So few are not divided when the store takes long. */
const FEW = 25
/** Chunks on their way at a time: the store works on one while the ledger decides the other. */
const LANES = 2
/** A definition that others changed meanwhile is looked at again this often. */
const ROUNDS = 5
/** Answers are late by less. */
const SET_BACK_MS = 1_000

interface Carried {
  readonly content: Definition
  readonly hash: string
}

/**
 * Which definition holds is the ledger's to decide, from what live nodes carry. This part says what this node carries, at its
 * start and when that may have changed: a minute after a manifest was last seen, and after it meets other terms or another store.
 */
export class Definitions {
  private carried: Map<string, Carried> | null = null
  /** Hash in force of each job, as last seen. */
  private readonly inForce = new Map<string, string>()
  private readonly watch: ManifestWatch
  /** Monotonic instant of the next check. */
  private dueAt: number | null = null
  private incarnation: string | null = null
  /** The store's clock as last seen, and the monotonic instant up to which nothing counts as abandoned. */
  private last: { readonly now: number; readonly monotonic: number } | null = null
  private patientUntil = Number.NEGATIVE_INFINITY
  private readonly nodes: NodeRows
  /** Whether every job was offered once since this node started. */
  private offered = false

  constructor(private readonly parts: Parts) {
    this.watch = new ManifestWatch(parts.facts.clock.random())
    this.nodes = new NodeRows(parts)
  }

  /** Job -> hash of what this node carries; the store is asked once, for zones that nobody named. */
  async manifest(): Promise<Readonly<Record<string, string>>> {
    if (this.carried === null) {
      const needed = [...this.parts.facts.jobs].filter(([, hosted]) => hosted.zoneDefaulted).map(([job]) => job)
      const stored = new Map<string, Aggregate>()
      for (let start = 0; start < needed.length; start += CHUNK) {
        const { reply } = await this.load(needed.slice(start, start + CHUNK), false)
        for (const [job, aggregate] of reply.jobs) stored.set(job, aggregate)
      }
      this.carried = new Map([...this.parts.facts.jobs.keys()].map((job) => [job, this.carry(job, stored.get(job))]))
    }
    return Object.fromEntries([...this.carried].map(([job, { hash }]) => [job, hash]))
  }

  /** What the store said it is; another one has to be told of the jobs again. */
  sawIncarnation(incarnation: string): void {
    const before = this.incarnation
    this.incarnation = incarnation
    if (before === null || before === incarnation) return
    this.parts.events.emit('store-replaced', { before, after: incarnation })
    this.parts.log.error('the store is another one than before: wiped, restored or replaced; jobs are defined again', {
      before,
      after: incarnation,
    })
    this.checkSoon()
  }

  /**
   * After a stretch of the store's time that this node did not see (its clock jumped, or it was away) every node looks long
   * gone, and the first one back would flip definitions: for a minute nothing counts as abandoned.
   */
  private sawTime(now: number): void {
    const monotonic = this.parts.facts.clock.monotonic()
    const last = this.last ?? { now, monotonic }
    this.last = { now, monotonic }
    if (now - last.now > LIVE_MS) this.patientUntil = monotonic + PATIENCE_MS
    // Time that went back can mean a store that was set back, to before its jobs were defined.
    if (now - last.now < monotonic - last.monotonic - SET_BACK_MS) this.checkSoon()
  }

  sawNodes(nodes: readonly NodeSummary[], now: number): void {
    this.sawTime(now)
    if (this.watch.saw(nodes, this.parts.sessions.current.ref.id, now)) this.checkSoon()
  }

  sawJob(header: JobHeader): void {
    const mine = this.carried?.get(header.job)
    if (mine === undefined || this.inForce.get(header.job) === header.definition) return
    this.inForce.set(header.job, header.definition)
    if (mine.hash !== header.definition) this.checkIn(RECHECK_MS)
  }

  checkSoon(): void {
    this.checkIn(0)
  }

  /** Milliseconds until a check is due; null: none is. */
  dueInMs(): number | null {
    return this.dueAt === null ? null : Math.max(0, Math.ceil(this.dueAt - this.parts.facts.clock.monotonic()))
  }

  async checkIfDue(): Promise<void> {
    if (this.dueAt === null || this.dueAt > this.parts.facts.clock.monotonic()) return
    try {
      await this.check()
    } catch (error) {
      // Looking after the jobs that are defined does not wait for those that cannot be.
      if (!isUnavailable(error)) this.parts.log.error('the jobs could not be defined', { error: String(error) })
      this.checkIn(AGAIN_MS)
    }
  }

  /** Offers every job of this node to the ledger. */
  async check(): Promise<void> {
    this.dueAt = null
    this.nodes.forget()
    const jobs = [...this.parts.facts.jobs.keys()]
    const chunks = Array.from({ length: Math.ceil(jobs.length / CHUNK) }, (_, index) =>
      jobs.slice(index * CHUNK, (index + 1) * CHUNK),
    ).values()
    const lane = async () => {
      for (const chunk of chunks) await this.offer(chunk)
    }
    // The first one brings the nodes with it.
    await this.offer(chunks.next().value ?? [])
    await Promise.all(Array.from({ length: LANES }, lane))
    this.offered = true
  }

  private async offer(jobs: readonly string[]): Promise<void> {
    const { link, facts, sessions, looker } = this.parts
    const taken = new Map<string, Set<string>>()
    let open = jobs
    for (let round = 0; open.length > 0; round += 1) {
      const asksForNodes = round > 0 || !this.nodes.areFresh
      const { reply: loaded } = await this.load(open, asksForNodes)
      const reply = this.nodes.complete(loaded, asksForNodes)
      this.sawTime(reply.now)
      looker.sawRows(reply)
      this.parts.outage.saw(reply.jobs.values())
      // What cannot be read is not entered anew over what is there.
      const unreadable = new Set(reply.unreadable.map(({ job }) => job))
      open = open.filter((job) => !unreadable.has(job))
      if (this.learnZones(open, reply)) await looker.introduceAgain()
      const changes = open.flatMap((job) => this.decide(job, reply, taken.get(job)) ?? [])
      if (changes.length === 0) return
      if (round === ROUNDS) return this.checkIn(RETRY_MS)
      const session = sessions.current
      const { reply: committed } = await link.call('commit', facts.leaseMs / 3, (store) =>
        store.commit(session.ref, reply.now, changes),
      )
      if (committed.expired) {
        // Not introduced, or too slow: the session is begun again by whoever looks next, and fewer jobs are done sooner.
        await looker.introduce()
        if (open.length > FEW) return this.offerHalves(open)
        continue
      }
      open = this.remaining(changes, committed.results, taken)
    }
  }

  private async offerHalves(jobs: readonly string[]): Promise<void> {
    const middle = Math.ceil(jobs.length / 2)
    await this.offer(jobs.slice(0, middle))
    await this.offer(jobs.slice(middle))
  }

  private decide(job: string, loaded: Loaded, taken: ReadonlySet<string> | undefined): Change | null {
    const { facts, looker } = this.parts
    const hosted = facts.jobs.get(job)
    const mine = this.carried?.get(job)
    if (hosted === undefined || mine === undefined) return null
    const aggregate = loaded.jobs.get(job) ?? null
    // A node that starts brings a retired job back; one that goes on must not undo what somebody asked for meanwhile.
    if (aggregate?.header.retired && this.offered) return null
    const carried = carriedBy(job, loaded.nodes)
    carried.set(mine.hash, loaded.now)
    const inForce = aggregate?.header.definition
    if (inForce !== undefined) this.inForce.set(job, inForce)
    const patientMs = this.patientUntil - facts.clock.monotonic()
    if (inForce !== undefined && patientMs > 0) {
      carried.set(inForce, loaded.now)
      if (inForce !== mine.hash) this.checkIn(patientMs)
    }
    const input = {
      job,
      service: facts.service,
      name: hosted.name,
      hash: mine.hash,
      content: mine.content,
      release: facts.release,
      known: loaded.definitions.get(job) ?? [],
      carried,
      by: facts.label,
    }
    const zones = facts.zones === undefined ? {} : { zones: facts.zones }
    const context = { fleet: facts.fleet, now: loaded.now, changeId: facts.clock.id(), ...zones }
    try {
      const change = define(aggregate, input, taken === undefined ? context : { ...context, taken })
      if (change === null && inForce !== undefined && inForce !== mine.hash) {
        const seen = carried.get(inForce)
        if (seen === undefined || loaded.now - seen >= LIVE_MS) this.checkIn(RETRY_MS)
      }
      return change
    } catch (error) {
      looker.park(job, describeError(error).message)
      return null
    }
  }

  private remaining(
    changes: readonly Change[],
    results: readonly { readonly job: string; readonly outcome: string }[],
    taken: Map<string, Set<string>>,
  ): string[] {
    const { looker, membership } = this.parts
    const { buckets, graceMs } = membership.mine()
    const defined: string[] = []
    const byJob = new Map(results.map((result) => [result.job, result]))
    const open = changes.flatMap(({ job, header, definition }) => {
      const result = byJob.get(job) as Partial<{ outcome: string; keys: readonly string[]; why: string }> | undefined
      if (result?.outcome === 'won') {
        this.inForce.set(job, header.definition)
        // Only a step was taken: the ledger decides what is due before it changes the terms.
        if (definition === null && header.definition !== this.carried?.get(job)?.hash) return [job]
        this.parts.events.emit('job-defined', { job, hash: definition?.hash ?? header.definition })
        defined.push(job)
        if (header.wakeAt !== null) looker.wakeBy(job, header.wakeAt + (buckets.has(header.bucket) ? 0 : graceMs))
        return []
      }
      if (result?.outcome === 'refused') {
        looker.park(job, result.why ?? 'refused')
        return []
      }
      if (result?.outcome === 'clash') taken.set(job, new Set([...(taken.get(job) ?? []), ...(result.keys ?? [])]))
      return [job]
    })
    if (defined.length > 0) {
      const more = defined.length > NAMED ? ` and ${defined.length - NAMED} more` : ''
      this.parts.log.info(`defined ${defined.slice(0, NAMED).join(', ')}${more}`)
    }
    return open
  }

  /** Follows the stored zone where nobody named one; true: what this node carries has changed by it. */
  private learnZones(jobs: readonly string[], loaded: Loaded): boolean {
    let changed = false
    for (const job of jobs) {
      const known = this.carried?.get(job)
      const fresh = this.carry(job, loaded.jobs.get(job))
      if (fresh === known) continue
      this.carried?.set(job, fresh)
      changed = changed || fresh.hash !== known?.hash
    }
    return changed
  }

  /** What was hashed once is not hashed again: a fleet may have ten thousand jobs. */
  private carry(job: string, stored: Aggregate | undefined): Carried {
    const hosted = this.parts.facts.jobs.get(job)
    if (hosted === undefined) throw new Error(`the job ${job} is not hosted by this node`)
    const known = this.carried?.get(job)
    const content = withStoredZone(hosted.definition, hosted.zoneDefaulted, stored?.definition)
    if (known !== undefined && zoneOf(known.content) === zoneOf(content)) return known
    return { content, hash: definitionHash(content, hosted) }
  }

  private load(jobs: readonly string[], nodes: boolean): Promise<{ readonly reply: Loaded }> {
    return this.parts.link.call('load', this.parts.facts.leaseMs, (store) => store.load({ jobs, nodes }))
  }

  private checkIn(ms: number): void {
    const at = this.parts.facts.clock.monotonic() + ms
    if (this.dueAt !== null && this.dueAt <= at) return
    this.dueAt = at
    this.parts.looker.lookAgain()
  }
}

const LIVE_MS = 25_000
const PATIENCE_MS = 60_000
/** So many jobs are named in one line. */
const NAMED = 10
const AGAIN_MS = 2_000
const RETRY_MS = 30_000
const RECHECK_MS = 61_000

function zoneOf({ schedule }: Definition): string | null {
  return schedule !== null && 'timeZone' in schedule ? schedule.timeZone : null
}
