import { bucketOf } from '../ledger/index.js'
import type { Run } from '../ledger/types.js'
import type { BeatReply, NodeSummary } from '../store/port.js'
import type { Timer } from './clock.js'
import { isUnavailable } from './link.js'
import type { Parts } from './parts.js'
import type { Session } from './session.js'

/**
 * While a node holds nothing its beats only show that it lives: six statements a minute. With a shorter lease they come
 * as often as that, since a beat is how a node learns of sessions whose end it has to watch for.
 */
const IDLE_MS = 10_000

/** Hints to beat at once are heeded this often. */
const SOON_MS = 200

/** Beats of which no answer has come yet; a slow store must not be met with ever more of them. */
const OUTSTANDING = 3

/**
 * Renews the session, and compares what this node runs with what the ledger says it runs, both ways: an attempt that is
 * no longer ours loses its signal, and a run that the ledger gives us and we do not know of is handed back once two
 * beats in a row have shown it. Beats do not wait for each other: an answer counts from when its own request was sent.
 */
export class Beats {
  private timer: Timer | null = null
  private dueAt = 0
  private lastSent: number
  private outstanding = 0
  private stopped = true
  private failures = 0
  /** Strays by attempt: when (monotonic) the answer came that showed them first. */
  private strays = new Map<string, number>()
  /** Sessions that had ended when the last beat was answered. */
  private ended: ReadonlySet<string> = new Set()

  constructor(private readonly parts: Parts) {
    this.lastSent = parts.facts.clock.monotonic()
  }

  start(): void {
    this.stopped = false
    this.lastSent = this.parts.facts.clock.monotonic()
    this.reschedule()
  }

  stop(): void {
    this.stopped = true
    this.timer?.cancel()
    this.timer = null
  }

  /** Called when the session takes something on: the next beat may be needed earlier. */
  reschedule(): void {
    if (this.stopped) return
    const due = this.lastSent + this.intervalMs()
    if (this.timer !== null && this.dueAt <= due) return
    this.arm(due)
  }

  /** A beat now, for instance because a run may have been asked to stop; many hints are one. */
  soon(): void {
    const due = Math.max(this.parts.facts.clock.monotonic(), this.lastSent + SOON_MS)
    if (!this.stopped && (this.timer === null || due < this.dueAt)) this.arm(due)
  }

  /** The last beat of a clean stop. */
  async end(): Promise<void> {
    const { sessions, link, facts } = this.parts
    const { current } = sessions
    if (!current.introduced) return
    const beat = { ...this.message(current), room: false, end: true }
    await link.call('beat', facts.leaseMs, (store) => store.beat(current.ref, beat))
  }

  private intervalMs(): number {
    const { facts, sessions, attempts } = this.parts
    // A stray is a run, too, as the ledger sees it.
    const holds = attempts.holds(sessions.current) || this.strays.size > 0
    return Math.min(IDLE_MS, holds ? facts.leaseMs / 3 : facts.leaseMs)
  }

  private arm(dueAt: number): void {
    this.timer?.cancel()
    this.dueAt = dueAt
    const delay = Math.max(1, dueAt - this.parts.facts.clock.monotonic())
    this.timer = this.parts.facts.clock.after(delay, () => {
      this.timer = null
      this.tick()
    })
  }

  private tick(): void {
    if (this.stopped) return
    this.parts.sessions.check()
    this.lastSent = this.parts.facts.clock.monotonic()
    this.arm(this.lastSent + this.intervalMs())
    if (this.outstanding < OUTSTANDING) void this.beat()
  }

  private async beat(): Promise<void> {
    const { sessions, link, facts, looker, stopping, log } = this.parts
    const session = sessions.current
    this.outstanding += 1
    try {
      if (!session.introduced) {
        if (!stopping.aborted) await looker.introduce()
        return
      }
      const message = this.message(session)
      const { reply, sent } = await link.call('beat', facts.leaseMs / 2, (store) => store.beat(session.ref, message))
      this.failures = 0
      this.answered(session, reply, sent)
    } catch (error) {
      if (!isUnavailable(error)) log.error('a beat failed', { error: String(error) })
      this.retrySooner()
    } finally {
      this.outstanding -= 1
    }
  }

  /** A failed beat says nothing: belief goes on. The next one comes earlier, since belief has an end. */
  private retrySooner(): void {
    const { clock, leaseMs } = this.parts.facts
    this.failures += 1
    const most = this.intervalMs()
    const delay = Math.min(most, (leaseMs / 40) * 2 ** Math.min(this.failures, 10)) * (0.5 + clock.random() / 2)
    const due = clock.monotonic() + delay
    if (!this.stopped && (this.timer === null || due < this.dueAt)) this.arm(due)
  }

  private message(session: Session) {
    const { facts, attempts, settling, membership, stopping } = this.parts
    return {
      services: [facts.service],
      buckets: membership.mine().buckets,
      attempts: [...new Set([...attempts.idsOf(session), ...settling.idsOf(session)])],
      room: facts.attends && !stopping.aborted && !attempts.isFull(),
    }
  }

  private answered(session: Session, reply: BeatReply, sent: number): void {
    const { sessions, attempts, membership, looker, definitions, events, remarks, retention, keyRetention } = this.parts
    events.emit('beaten', { session: session.ref.id, alive: reply.alive, runs: attempts.idsOf(session).length })
    membership.update(reply.nodes, reply.now)
    remarks.saw(reply.nodes)
    retention.saw(reply.nodes, reply.now)
    keyRetention.saw(reply.nodes, reply.now)
    definitions.sawIncarnation(reply.incarnation)
    if (session.lost !== null) return
    if (!reply.alive) {
      if (!reply.known) definitions.checkSoon()
      sessions.lose(session, 'refused')
      return
    }
    sessions.accept(session, sent)
    for (const { attemptId, stop } of reply.gone) attempts.fire(attemptId, stop?.kind ?? 'lost')
    this.compareStrays(session, reply.strays, sent)
    definitions.sawNodes(reply.nodes, reply.now)
    looker.hint(reply)
    if (this.sawEnd(reply.nodes)) looker.request()
    this.parts.outage.refreshIfDue()
    if (membership.wantsManifests) looker.request()
  }

  /**
   * Whether a session has ended since the last beat. Whoever marked it may not carry the jobs that it held, or be gone before
   * it took them over, and then nothing else tells of them.
   */
  private sawEnd(nodes: readonly NodeSummary[]): boolean {
    const before = this.ended
    this.ended = new Set(nodes.flatMap(({ session, endedAt }) => (endedAt === null ? [] : [session])))
    return [...this.ended].some((session) => !before.has(session))
  }

  private compareStrays(session: Session, strays: readonly Run[], sent: number): void {
    const { attempts, settling, facts } = this.parts
    const before = this.strays
    this.strays = new Map()
    for (const run of strays) {
      const id = run.attemptId
      if (id === null || attempts.isKnown(id) || settling.isKnown(id)) continue
      const shownAt = before.get(id) ?? facts.clock.monotonic()
      this.strays.set(id, shownAt)
      if (before.has(id) && sent > shownAt) void this.handBack(session, run)
    }
    if (this.strays.size > 0) this.reschedule()
  }

  private async handBack(session: Session, run: Run): Promise<void> {
    const { link, facts, settling, events } = this.parts
    try {
      const { reply } = await link.call('load', facts.leaseMs, (store) => store.load({ jobs: [run.job] }))
      const definition = reply.jobs.get(run.job)?.definition ?? facts.jobs.get(run.job)?.definition
      if (definition === undefined || session.lost !== null || this.parts.attempts.isKnown(run.attemptId ?? '')) return
      const { job, key, attempt, attemptId, token } = run
      events.emit('stray-returned', { job, key, attempt, attemptId: attemptId ?? '', token })
      const why = 'the ledger gave it to this node, which never learned of it'
      settling.offer({ run, definition, session: null }, { kind: 'handed-back', why, called: false })
    } catch {
      // The next two beats show it again.
    }
  }

  /** Whether a wake-up in a bucket may mean that a run held here is asked to stop. */
  concerns(bucket: number): boolean {
    return this.parts.attempts.holdsBucket(bucket, bucketOf)
  }
}
