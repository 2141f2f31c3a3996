import type { Aggregate } from '../ledger/types.js'
import type { Attendance, Loaded } from '../store/port.js'
import { Decider } from './decide.js'
import { isUnavailable } from './link.js'
import type { Parked } from './parking.js'
import type { Parts } from './parts.js'
import { Backoff, Nap, pause } from './pause.js'
import type { Session } from './session.js'
import { type Hint, WakeTimes } from './wakes.js'

/** Jobs of one page at most; one that could not be decided in time is halved. */
const PAGE = 200

/** Jobs of one page where this node has little room: others may skip, merge or queue what is due meanwhile. */
const SMALL_PAGE = 50

/** No timer is armed for longer: each arm only compares, and a suspended machine is noticed. */
const ARM_MS = 30_000

/**
 * Attends: waits until something is due, asks the store page by page what needs attention, and hands each page to the
 * decider. One attendance at a time; asking again while one is under way means one more afterwards.
 */
export class Looker {
  private readonly wakes = new WakeTimes()
  private readonly decider: Decider
  readonly backoff: Backoff
  private wanted = false
  /** Until something is due; and after a failure. */
  private readonly nap: Nap
  private readonly rest: Nap
  private introducing: Promise<void> | null = null
  /** The session before this one. */
  private before: string | null = null
  private looping: Promise<void> | null = null
  private quick = 0
  private limit = PAGE
  private startedAt = 0
  /** Monotonic instant of the last attendance that was answered. */
  lastAttendedAt: number | null = null

  constructor(private readonly parts: Parts) {
    this.decider = new Decider(parts, this)
    this.backoff = new Backoff(parts.facts.clock, 100, 5_000)
    this.nap = new Nap(parts.facts.clock)
    this.rest = new Nap(parts.facts.clock)
  }

  start(): void {
    const { clock, jobs } = this.parts.facts
    this.startedAt = clock.monotonic()
    const delays = new Set([...jobs.values()].map(({ initialDelayMs = 0 }) => initialDelayMs))
    for (const delayMs of delays) {
      if (delayMs > 0) void pause(clock, delayMs, this.parts.stopping).then(() => this.request())
    }
    this.wanted = true
    this.looping = this.loop()
  }

  /** Whether this node no longer leaves the job to others because of its initial delay. */
  attendsNow(job: string): boolean {
    const { clock, jobs } = this.parts.facts
    return clock.monotonic() - this.startedAt >= (jobs.get(job)?.initialDelayMs ?? 0)
  }

  /** Resolves when the loop has ended; it does so at the end of what it is at once the node stops. */
  async whenStopped(): Promise<void> {
    this.nap.wake()
    this.rest.wake()
    await this.looping
  }

  /** Looks as soon as possible. */
  request(): void {
    this.wanted = true
    this.nap.wake()
  }

  /** The store answers again: no need to wait longer. */
  nudge(): void {
    this.rest.wake()
  }

  /** Looks at an instant of the store's clock. */
  wakeBy(job: string, instant: number): void {
    this.wakes.keep(job, instant)
    this.nap.wake()
  }

  /** What a beat said about when to look: also what every other node has left alone for longer than the grace. */
  hint(hint: Hint): void {
    const { graceMs } = this.parts.membership.mine()
    this.wakes.add(hint)
    if (hint.nextOtherWakeAt !== null && hint.nextOtherWakeAt + graceMs <= hint.now) this.request()
    else this.nap.wake()
  }

  /** Lets the loop see that something it waits for may come earlier. */
  lookAgain(): void {
    this.nap.wake()
  }

  /** A run went back to the queue. If it was asked to stop just before, it is ended now: until it begins again it keeps its place. */
  async endIfStopped(job: string): Promise<void> {
    await this.attendOne(job, ({ runs }) => runs.some((run) => run.stop && run.state === 'queued'))
  }

  /** Decides about one job at once. The session is renewed first: it has to be believed in, and one that holds nothing seldom is. */
  async attendOne(job: string, isWanted: (found: Aggregate) => boolean = () => true): Promise<void> {
    const { sessions, link, facts, stopping } = this.parts
    const session = sessions.current
    if (!facts.attends || !session.introduced || stopping.aborted) return
    try {
      const { reply } = await link.call('load', facts.leaseMs / 2, (store) => store.load({ jobs: [job] }))
      const jobs = [...reply.jobs.values()].filter(isWanted)
      if (jobs.length === 0) return
      const { reply: heard, sent } = await this.attend(session, { limit: 0 })
      if (!heard.alive || !sessions.accept(session, sent) || stopping.aborted) return
      if (await this.decider.page(session, { now: reply.now, jobs, unreadable: [], ended: new Map() })) this.request()
    } catch {
      // It is looked at when it is due.
    }
  }

  /** Leaves one job alone for a while. */
  park(job: string, error: string): void {
    this.decider.parking.park(job, error)
  }

  /** Which jobs could be read, and which could not. */
  sawRows(loaded: Pick<Loaded, 'jobs' | 'unreadable'>): void {
    this.decider.parking.sawRows(loaded.jobs.keys(), loaded.unreadable)
  }

  parked(): readonly Parked[] {
    return this.decider.parking.list()
  }

  /** Milliseconds until this node looks next, as it stands; null: only beats. */
  nextInMs(): number | null {
    const { facts, link, membership, definitions } = this.parts
    const check = definitions.dueInMs()
    const wake = facts.attends ? this.wakes.untilMs(link, membership.mine()) : null
    return check === null || wake === null ? (check ?? wake) : Math.min(check, wake)
  }

  /** Begins the session in the store, unless that has been done. Several callers share one request. */
  introduce(): Promise<void> {
    if (this.parts.sessions.current.introduced) return Promise.resolve()
    this.introducing ??= this.sayHello().finally(() => {
      this.introducing = null
    })
    return this.introducing
  }

  /** Says hello once more, because what this node carries has changed. */
  async introduceAgain(): Promise<void> {
    await this.introducing
    if (this.parts.sessions.current.introduced) await this.sayHello()
  }

  private async sayHello(): Promise<void> {
    const { sessions, definitions, events } = this.parts
    const session = sessions.current
    const manifest = await definitions.manifest()
    const { reply, sent } = await this.attend(session, { limit: 0, manifest })
    definitions.sawIncarnation(reply.incarnation)
    if (!reply.alive) sessions.lose(session, 'refused')
    else if (sessions.accept(session, sent) && !session.introduced) {
      session.introduced = true
      events.emit('session-begun', { session: session.ref.id, before: this.before })
      this.before = session.ref.id
      this.request()
    }
  }

  private async loop(): Promise<void> {
    const { stopping, log } = this.parts
    while (!stopping.aborted) {
      try {
        await this.untilDue()
        if (stopping.aborted) return
        this.wanted = false
        if (await this.lookOnce()) {
          this.backoff.reset()
          continue
        }
      } catch (error) {
        if (!isUnavailable(error)) log.error('looking after jobs failed; trying again', { error: String(error) })
      }
      this.wanted = true
      if (!stopping.aborted) await this.rest.sleep(this.backoff.nextMs())
    }
  }

  /** False: the answer did not count, or the session is gone; look again a little later. */
  private async lookOnce(): Promise<boolean> {
    const { sessions, stopping, definitions, facts } = this.parts
    const session = sessions.current
    if (!session.introduced) await this.introduce()
    if (!session.introduced) return false
    await definitions.checkIfDue()
    await this.learnManifests()
    if (!facts.attends || session.lost !== null) return true
    let after: string | undefined
    let again = false
    const { granted } = this.decider
    do {
      const before = this.limit
      const limit = this.pageLimit()
      const { reply, sent } = await this.attend(session, after === undefined ? { limit } : { limit, after })
      this.lastAttendedAt = this.parts.facts.clock.monotonic()
      definitions.sawIncarnation(reply.incarnation)
      if (!reply.alive) {
        definitions.checkSoon()
        sessions.lose(session, 'refused')
        return false
      }
      if (!sessions.accept(session, sent)) {
        this.tooMuch()
        return false
      }
      this.parts.events.emit('attended', {
        session: session.ref.id,
        jobs: reply.jobs.length,
        last: reply.after === null,
      })
      this.wakes.replace(reply)
      again = (await this.decider.page(session, reply)) || again
      // In time: the next ones may be larger again, also while the work does not end.
      if (this.limit === before) this.limit = Math.min(PAGE, before + Math.ceil(before / 4))
      after = reply.after ?? undefined
    } while (after !== undefined && !stopping.aborted && session.lost === null)
    if (again) await this.soonAgain(this.decider.granted > granted)
    else {
      this.quick = 0
      this.limit = Math.min(PAGE, this.limit * 2)
    }
    return true
  }

  /** A job goes to a node that carries it: what others carry is looked at once for each manifest. */
  private async learnManifests(): Promise<void> {
    const { membership, link, facts } = this.parts
    if (!membership.wantsManifests) return
    try {
      const { reply } = await link.call('load', facts.leaseMs / 2, (store) => store.load({ nodes: true }))
      membership.learn(reply.nodes, reply.now)
    } catch {
      // It only saves time; the next look asks again.
    }
  }

  /** What cannot start here yet is better left alone: decided now, it would only be written twice. Decided it is all the same. */
  private pageLimit(): number {
    return Math.min(this.limit, Math.max(SMALL_PAGE, this.parts.attempts.room()))
  }

  /** A page took longer than its commit may be late: the next ones are smaller. */
  tooMuch(): void {
    this.limit = Math.max(1, Math.floor(this.limit / 2))
  }

  /** There is more to decide at once; a round that never ends, and starts nothing, is slowed down rather than believed. */
  private async soonAgain(hasStarted: boolean): Promise<void> {
    this.wanted = true
    this.quick = hasStarted ? 0 : this.quick + 1
    if (this.quick > 50) await pause(this.parts.facts.clock, 100, this.parts.stopping)
  }

  private async attend(
    session: Session,
    query: { limit: number; after?: string; manifest?: Readonly<Record<string, string>> },
  ): Promise<{ readonly reply: Attendance; readonly sent: number }> {
    const { facts, link, membership } = this.parts
    const { limit, after, manifest } = query
    const { buckets, graceMs } = membership.mine()
    const { label, service, attends, zoneData, release } = facts
    const hello = manifest && { label, services: [service], attends, manifest, zoneData, release }
    return link.call('attend', facts.leaseMs / 2, (store) =>
      store.attend(session.ref, {
        services: [service],
        buckets,
        graceMs,
        limit,
        ...(after === undefined ? {} : { after }),
        ...(hello === undefined ? {} : { hello }),
      }),
    )
  }

  private async untilDue(): Promise<void> {
    while (!this.wanted && !this.parts.stopping.aborted) {
      const ms = this.nextInMs() ?? ARM_MS
      if (ms === 0) return
      await this.nap.sleep(Math.min(ms, ARM_MS))
    }
  }
}
