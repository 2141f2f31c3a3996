import type { AttendSeen, BeatSeen } from '../observations.js'
import { DISTURBED } from '../truth.js'
import type { Checker, CheckerContext } from './checker.js'

/**
 * S8 and S9 at the store: only what is neither marked nor run out is renewed; a run goes to another attempt only when
 * its session has been marked; a beat tells both ways what differs.
 */
export function checkSessions({ truth, broken }: CheckerContext): Checker {
  const ended = new Set<string>()
  /** Lease ends as they stood before the act that is looked at. */
  const leaseEnds = new Map<string, number>()

  const held = (session: string): string[] => {
    const found: string[] = []
    for (const { header } of truth.ledger.jobs()) {
      for (const run of truth.ledger.live(header.job)) {
        if (run.state === 'running' && run.session === session && run.attemptId !== null) found.push(run.attemptId)
      }
    }
    return found
  }

  const renewed = (seen: AttendSeen | BeatSeen): void => {
    const { id, leaseMs } = seen.session
    const before = leaseEnds.get(id)
    const leaseEnd = truth.ledger.session(id)?.leaseEnd ?? Number.NEGATIVE_INFINITY
    leaseEnds.set(id, leaseEnd)
    if (!seen.reply.alive) return
    if (leaseEnd !== seen.storeNow + leaseMs)
      broken('S8', `session ${id} was renewed until ${leaseEnd} at ${seen.storeNow}`)
    if (ended.has(id)) broken('S8', `session ${id} was renewed although it had ended`)
    if (before !== undefined && before < seen.storeNow && held(id).length > 0) {
      broken('S8', `session ${id} was renewed ${seen.storeNow - before} ms after it had run out, holding runs`)
    }
  }

  const compared = (seen: BeatSeen): void => {
    const { gone, strays } = seen.reply
    const mine = held(seen.session.id)
    const sent = new Set(seen.beat.attempts)
    for (const { attemptId, stop } of gone) {
      const grant = truth.grants.get(attemptId)
      const run = grant && truth.ledger.run(grant.job, grant.key)
      if (mine.includes(attemptId) && run?.stop == null)
        broken('S9', `the beat of ${seen.process} calls ${attemptId} gone`)
      if ((run?.attemptId === attemptId && run.state === 'running' ? run.stop : null)?.kind !== stop?.kind) {
        broken('S9', `the beat of ${seen.process} says that ${attemptId} is asked to stop: ${stop?.kind}`)
      }
    }
    const told = new Set(gone.map((one) => one.attemptId))
    for (const attemptId of sent) {
      const grant = truth.grants.get(attemptId)
      const run = grant && truth.ledger.run(grant.job, grant.key)
      const isMine = mine.includes(attemptId)
      if ((!isMine || run?.stop != null) && !told.has(attemptId)) {
        broken(
          'S9',
          `the beat of ${seen.process} is silent about ${attemptId}, which is ${isMine ? 'asked to stop' : 'gone'}`,
        )
      }
    }
    const shown = new Set(strays.map((run) => run.attemptId))
    for (const attemptId of mine) {
      if (!sent.has(attemptId) && !shown.has(attemptId)) {
        broken('S9', `the beat of ${seen.process} is silent about the stray ${attemptId}`)
      }
    }
  }

  return {
    see(seen) {
      if (seen.kind === 'attend' || seen.kind === 'beat') {
        renewed(seen)
        if (seen.kind === 'beat') compared(seen)
        for (const row of truth.ledger.sessions()) if (row.endedAt !== null) ended.add(row.session)
      }
      if (seen.kind === 'commit' || seen.kind === 'settle') {
        for (const { session, leaseEnd } of truth.ledger.sessions()) {
          const before = leaseEnds.get(session)
          if (before !== undefined && before !== leaseEnd)
            broken('S8', `a ${seen.kind} moved the end of session ${session} from ${before} to ${leaseEnd}`)
        }
      }
      if (seen.kind === 'commit') {
        for (const { key, job, before, after } of seen.rows) {
          if (before?.state !== 'running' || after === null || before.session === null) continue
          if (after.attemptId === before.attemptId && after.state === 'running') continue
          const row = truth.ledger.session(before.session)
          // The mark that an attendance showed is gone where the store was set back before the commit.
          const setBack = truth.restoredAt > truth.now - truth.world.plan.leaseMs
          if (row !== null && row.endedAt === null && !setBack)
            broken('S8', `${job}/${key} was taken from a session that is not marked`)
        }
      }
      if (seen.kind === 'world' && DISTURBED.has(seen.what)) {
        ended.clear()
        leaseEnds.clear()
        for (const row of truth.ledger.sessions()) {
          if (row.endedAt !== null) ended.add(row.session)
          leaseEnds.set(row.session, row.leaseEnd)
        }
      }
    },
  }
}
