import { Attempt } from './attempt.js'
import type { AbortKind } from './events.js'
import type { Grant, Parts } from './parts.js'
import type { Session } from './session.js'

/** A node that has no room for so short a time is not passed over: a burst is over before the others hear of it. */
const FULL_MS = 2_000

/**
 * Every attempt this node knows of, so that what it runs and what the ledger says it runs can be compared both ways.
 * An attempt is in one place at a time: pending (its commit is on its way, or of unknown outcome), held (its handler has
 * a place here), abandoned (its handler did not obey and goes on), or gone; `Settling` keeps outcomes until the store has them.
 */
export class Attempts {
  private readonly pending = new Map<string, Session>()
  private readonly held = new Map<string, Attempt>()
  private readonly abandoned = new Map<string, Attempt>()
  private idle: (() => void)[] = []
  /** Monotonic instant since which there has been no room. */
  private fullSince: number | null = null

  constructor(private readonly parts: Parts) {}

  /** Runs that this node could take now. */
  room(): number {
    return Math.max(0, this.parts.facts.maxRuns - this.held.size - this.pending.size)
  }

  /** Whether what comes next is better left to others: there has been no room for a while. */
  isFull(): boolean {
    this.watchRoom()
    return this.fullSince !== null && this.parts.facts.clock.monotonic() - this.fullSince >= FULL_MS
  }

  /** Whether anything runs, or may run, under the session. */
  holds(session: Session): boolean {
    for (const one of this.pending.values()) if (one === session) return true
    for (const one of this.held.values()) if (one.grant.session === session) return true
    return this.parts.settling.holds(session)
  }

  isKnown(attemptId: string): boolean {
    return this.pending.has(attemptId) || this.held.has(attemptId)
  }

  /** Ids of the attempts that run under the session: what a beat compares. */
  idsOf(session: Session): string[] {
    return [...this.held].flatMap(([id, attempt]) => (attempt.grant.session === session ? [id] : []))
  }

  /** Keys of a job's runs whose handler, of whatever session, still runs in this process. */
  busyKeys(job: string): ReadonlySet<string> {
    const all = [...this.held.values(), ...this.abandoned.values()]
    return new Set(all.flatMap(({ grant: { run } }) => (run.job === job ? [run.key] : [])))
  }

  expect(session: Session, attemptIds: readonly string[]): void {
    for (const id of attemptIds) this.pending.set(id, session)
    this.watchRoom()
    this.parts.sessions.watch()
    this.parts.beats.reschedule()
  }

  unexpect(attemptIds: readonly string[]): void {
    for (const id of attemptIds) this.pending.delete(id)
    this.changed()
  }

  /** Starts what was won, unless this node may not believe in it any more: then it is handed back at once. */
  start(grant: Grant): void {
    const { sessions, settling, stopping } = this.parts
    const { attemptId } = grant.run
    if (attemptId === null || this.held.has(attemptId)) return
    this.pending.delete(attemptId)
    sessions.check()
    const hosted = this.parts.facts.host(grant.run.job, grant.definition)
    const why = stopping.aborted ? 'the node stops' : grant.session.believed() ? null : 'the session was lost'
    if (why !== null || hosted === null) {
      settling.offer(grant, { kind: 'handed-back', why: why ?? 'the job is not hosted here', called: false })
      this.changed()
      return
    }
    const attempt = new Attempt(this.parts, hosted, grant, {
      ended: () => {
        this.held.delete(attemptId)
        if (this.abandoned.delete(attemptId)) this.parts.looker.request()
        this.changed()
      },
      abandoned: () => {
        this.held.delete(attemptId)
        this.abandoned.set(attemptId, attempt)
        this.changed()
      },
    })
    this.held.set(attemptId, attempt)
    sessions.watch()
    this.parts.beats.reschedule()
    attempt.begin()
  }

  fire(attemptId: string, why: AbortKind): void {
    this.held.get(attemptId)?.fire(why)
  }

  /** Fires every signal of a session, or of all. */
  fireAll(why: AbortKind, session?: Session): void {
    for (const attempt of [...this.held.values()]) {
      if (session === undefined || attempt.grant.session === session) attempt.fire(why)
    }
  }

  /** Whether an attempt of a job in this bucket is held: a wake may mean that it is asked to stop. */
  holdsBucket(bucket: number, bucketOf: (job: string) => number): boolean {
    return [...this.held.values()].some(({ grant }) => bucket < 0 || bucketOf(grant.run.job) === bucket)
  }

  /** Resolves when no handler has a place and no grant is on its way. */
  whenIdle(): Promise<void> {
    if (this.isIdle()) return Promise.resolve()
    return new Promise((resolve) => this.idle.push(resolve))
  }

  list(): readonly Attempt[] {
    return [...this.held.values()]
  }

  listAbandoned(): readonly Attempt[] {
    return [...this.abandoned.values()]
  }

  private isIdle(): boolean {
    return this.held.size === 0 && this.pending.size === 0
  }

  private watchRoom(): void {
    if (this.room() > 0) this.fullSince = null
    else this.fullSince ??= this.parts.facts.clock.monotonic()
  }

  private changed(): void {
    this.watchRoom()
    if (!this.isIdle()) return
    const waiting = this.idle
    this.idle = []
    for (const resolve of waiting) resolve()
  }
}
