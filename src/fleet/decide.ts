import { attend } from '../ledger/index.js'
import type { Aggregate, Change, EndedSession, Run } from '../ledger/types.js'
import type { Attendance, CommitResult } from '../store/port.js'
import { describeError } from './attempt-error.js'
import { inBatches } from './batches.js'
import type { AttemptRef } from './events.js'
import { shutOut } from './fence.js'
import type { Looker } from './looker.js'
import { Parking } from './parking.js'
import type { Parts } from './parts.js'
import { pause } from './pause.js'
import type { Session } from './session.js'

/** What the ledger decided about one job, and the runs it gives to this node. */
interface Decided {
  readonly job: Aggregate
  readonly change: Change
  readonly grants: readonly Run[]
}

/** What there is to decide on: an attendance, or jobs that were loaded. */
type Page = Pick<Attendance, 'now' | 'jobs' | 'unreadable' | 'ended'>

/** A job that somebody else changed meanwhile is read and decided again this often; then its new owner has it. */
const ROUNDS = 3

/** How long a failed recovery tries to shut out the handler that may still run elsewhere. */
const SHUT_OUT_MS = 30_000

/**
 * Decides one page: the ledger is asked about each job, its changes are committed together, and what was won is started.
 * Nothing is started on a guess: a commit of unknown outcome is read back once it is certain to be dead or done.
 */
export class Decider {
  readonly parking: Parking
  /** Runs that were given to this node so far. */
  granted = 0

  constructor(
    private readonly parts: Parts,
    private readonly looker: Looker,
  ) {
    this.parking = new Parking(parts)
  }

  /** True: something is due again at once. */
  async page(session: Session, page: Page): Promise<boolean> {
    const { facts, definitions, link } = this.parts
    for (const { header } of page.jobs) definitions.sawJob(header)
    const names = page.jobs.map(({ header }) => header.job)
    this.parking.sawRows(names, page.unreadable)
    this.parts.outage.saw(page.jobs)
    const taken = new Map<string, Set<string>>()
    const isMine = ({ header: { job }, definition }: Aggregate) =>
      facts.host(job, definition) !== null && this.looker.attendsNow(job) && !this.parking.isParked(job)
    let jobs = page.jobs.filter(isMine)
    let { now } = page
    let again = false
    for (let round = 0; jobs.length > 0; round += 1) {
      const decided = this.decide(session, jobs, now, page.ended, taken)
      if (decided.length === 0) return again
      if (!session.believed() || round === ROUNDS) return true
      const lost: string[] = []
      for (const [index, batch] of inBatches(decided).entries()) {
        // What is left when half the time of a commit has passed is decided anew rather than refused.
        if (index > 0 && !this.isInTime(session, now)) return true
        const results = await this.commit(session, now, batch)
        if (results === 'expired') {
          this.looker.tooMuch()
          return true
        }
        again = this.won(session, now, batch, results) || again
        lost.push(...this.losers(batch, results, taken))
      }
      if (lost.length === 0) return again
      const { reply } = await link.call('load', facts.leaseMs, (store) => store.load({ jobs: lost }))
      this.parking.sawRows(reply.jobs.keys(), reply.unreadable)
      jobs = lost.flatMap((job) => reply.jobs.get(job) ?? []).filter(isMine)
      now = reply.now
    }
    return again
  }

  private isInTime(session: Session, now: number): boolean {
    const { link, facts } = this.parts
    return session.believed() && link.storeNow() - now <= facts.leaseMs / 20
  }

  private decide(
    session: Session,
    jobs: readonly Aggregate[],
    now: number,
    ended: ReadonlyMap<string, EndedSession>,
    taken: ReadonlyMap<string, ReadonlySet<string>>,
  ): Decided[] {
    const { facts, attempts, link } = this.parts
    const decided: Decided[] = []
    let room = attempts.room()
    for (const job of jobs) {
      const known = taken.get(job.header.job)
      try {
        const change = attend(job, {
          fleet: facts.fleet,
          now,
          changeId: facts.clock.id(),
          session: session.ref.id,
          node: facts.label,
          room,
          ended,
          busy: attempts.busyKeys(job.header.job),
          ownTrouble: link.ownTrouble(),
          ...(facts.zones === undefined ? {} : { zones: facts.zones }),
          ...(known === undefined ? {} : { taken: known }),
        })
        if (change === null) continue
        const grants = change.runs.flatMap(({ run }) => (isGrant(run, change, session) ? [run] : []))
        room -= grants.length
        decided.push({ job, change, grants })
      } catch (error) {
        this.parking.park(job.header.job, describeError(error).message)
      }
    }
    return decided
  }

  private async commit(session: Session, now: number, decided: readonly Decided[]): Promise<'expired' | Results> {
    const { attempts, link, facts, events } = this.parts
    const ids = decided.flatMap(({ grants }) => grants.map((run) => run.attemptId ?? ''))
    attempts.expect(session, ids)
    let committed: Awaited<ReturnType<typeof link.store.commit>>
    try {
      const changes = decided.map(({ change }) => change)
      const answer = await link.call('commit', facts.leaseMs / 3, (store) => store.commit(session.ref, now, changes))
      committed = answer.reply
    } catch (error) {
      events.emit('commit-unknown', { session: session.ref.id, granted: ids, error })
      void this.readBack(session, now, decided)
      throw error
    }
    const results: Results = new Map(committed.expired ? [] : committed.results.map((result) => [result.job, result]))
    const won = decided.filter(({ job }) => results.get(job.header.job)?.outcome === 'won')
    const granted = won.flatMap(({ grants }) => grants)
    this.granted += granted.length
    const mine = new Set(granted.map((run) => run.attemptId))
    attempts.unexpect(ids.filter((id) => !mine.has(id)))
    events.emit('committed', {
      session: session.ref.id,
      won: won.map(({ job }) => job.header.job),
      granted: granted.map(refOf),
    })
    return committed.expired ? 'expired' : results
  }

  /** Starts what was won and notes when to look again; true: at once. */
  private won(session: Session, now: number, decided: readonly Decided[], results: Results): boolean {
    const { attempts, membership, facts } = this.parts
    const { buckets, graceMs } = membership.mine()
    let again = false
    for (const { job, change, grants } of decided) {
      const result = results.get(job.header.job)
      if (result?.outcome === 'refused') this.parking.park(job.header.job, result.why)
      if (result?.outcome !== 'won') continue
      this.parking.release(job.header.job)
      this.parts.outage.sawHeader(change.header)
      for (const run of grants) this.start(session, job, run)
      for (const { run, expect } of change.runs) {
        const gaveUp = expect?.state === 'running' && run.state !== 'running' && run.state !== 'queued'
        if (gaveUp && job.definition.fence) void shutOut(facts, run, SHUT_OUT_MS)
      }
      const { wakeAt, bucket } = change.header
      if (wakeAt === null) continue
      if (wakeAt <= now) again = again || attempts.room() > 0
      else this.looker.wakeBy(job.header.job, buckets.has(bucket) ? wakeAt : wakeAt + graceMs)
    }
    return again
  }

  private start(session: Session, job: Aggregate, run: Run): void {
    const { definition, header } = job
    this.parts.attempts.start({ run, definition, hash: header.definition, anchor: header.anchor, session })
  }

  private losers(decided: readonly Decided[], results: Results, taken: Map<string, Set<string>>): string[] {
    return decided.flatMap(({ job: { header } }) => {
      const result = results.get(header.job)
      if (result?.outcome === 'won' || result?.outcome === 'refused') return []
      if (result?.outcome === 'clash') {
        taken.set(header.job, new Set([...(taken.get(header.job) ?? []), ...result.keys]))
      }
      return [header.job]
    })
  }

  /**
   * A commit that was not answered may have been applied, may be applied yet, or never. A tenth of the lease after the
   * read it is based on the store refuses it for certain; what it says then is true for good.
   */
  private async readBack(session: Session, now: number, decided: readonly Decided[]): Promise<void> {
    const { clock, leaseMs } = this.parts.facts
    const { link, attempts, outage } = this.parts
    outage.doubt(decided, now)
    let open = decided.flatMap(({ job, grants }) => grants.map((run) => ({ job, id: run.attemptId ?? '' })))
    const deadAt = now + leaseMs / 10
    for (let tries = 0; tries < 3 && open.length > 0; tries += 1) {
      // The store's clock may be set back meanwhile: then a late commit shows itself as a stray.
      await pause(clock, Math.min(leaseMs / 5, Math.max(leaseMs / 50, link.untilMs(deadAt))))
      const wanted = { attempts: open.map(({ id }) => id) }
      try {
        const { reply } = await link.call('load', leaseMs / 3, (store) => store.load(wanted))
        const found = new Map(reply.runs.map((run) => [run.attemptId, run]))
        const known = open.filter(({ id }) => found.has(id))
        open = open.filter(({ id }) => !found.has(id))
        for (const { job, id } of known) {
          const run = found.get(id)
          if (run?.state === 'running' && run.session === session.ref.id) this.start(session, job, run)
          else attempts.unexpect([id])
        }
        if (reply.now > deadAt) break
      } catch {
        // Asked again; what is never learned shows itself as a stray.
      }
    }
    attempts.unexpect(open.map(({ id }) => id))
  }
}

type Results = Map<string, CommitResult>

function isGrant(run: Run, change: Change, session: Session): boolean {
  return (
    run.state === 'running' && run.session === session.ref.id && run.attemptId?.startsWith(`${change.id}.`) === true
  )
}

function refOf(run: Run): AttemptRef {
  const { job, key, attempt, attemptId, token } = run
  return { job, key, attempt, attemptId: attemptId ?? '', token }
}
