import type { Run } from '../../../ledger/types.js'
import type { RowChange, SettleSeen } from '../observations.js'
import type { Checker, CheckerContext } from './checker.js'

/** Uncharged repeats of a run at most (L6). */
const REPEATS_MOST = 10

/** A beat that failed this long ago may still be why a session ran out. */
const TROUBLE_MS = 60_000

/** An attendance that is decided on in several rounds knows of returned nodes what its first reading said. */
const RETURN_MS = 2_000

/** What a node's picture of the store's clock may be off. */
const SLACK_MS = 600

interface End {
  readonly at: number
  readonly how: string
  readonly aborted: boolean
  readonly why: string | null
}

/**
 * What became of an attempt, and who pays for it (L6): what its handler did decides; a hand-back and an excused loss
 * cost nothing, a lost node costs `recover`, an error costs `retry`, and nothing is repeated beyond its limit.
 */
export function checkOutcomes({ truth, broken }: CheckerContext): Checker {
  /** How handlers ended, by attempt. */
  const ends = new Map<string, End>()
  const whys = new Map<number, string>()
  const called = new Set<string>()
  /** The attempt that has each token of a run. */
  const owners = new Map<string, string>()

  const settled = ({ before, after }: RowChange): void => {
    if (before === null || after === null || before.attemptId === null) return
    // What a store has forgotten, its holder hands back as never called, whatever had become of it.
    if (after.attempts.at(-1)?.outcome === 'handed-back' && isForgotten(before)) return
    const name = `${after.job}/${after.key}#${before.token}`
    const outcome = after.attempts.find((one) => one.id === before.attemptId)?.outcome
    const end = ends.get(`${after.job}|${after.key}|${before.token}`)
    const wasCalled = called.has(`${after.job}|${after.key}|${before.token}`)
    const definition = truth.grants.get(before.attemptId)?.definition
    if (after.state === 'succeeded' && end?.how !== 'returned')
      broken('S6', `${name} succeeded, its handler ${end?.how ?? 'did not end'}`)
    if (after.reason === 'error' && end?.how !== 'threw')
      broken('L6', `${name} failed with an error, its handler ${end?.how ?? 'did not end'}`)
    if (end?.how === 'returned' && !end.aborted && after.state !== 'succeeded')
      broken('S6', `${name} returned and is ${after.state}`)
    if (outcome === 'failed') threw(name, before, after, end ?? null, definition?.retry.limit ?? 0)
    if (outcome === 'handed-back') handedBack(name, before, after, wasCalled)
    if (after.reason === 'timeout' && definition?.timeoutMs == null) broken('L6', `${name} timed out without a timeout`)
    if (outcome === 'cancelled' && before.stop === null && !isForgotten(before))
      broken('S6', `${name} is cancelled, and nobody asked for it`)
    if (outcome === null || outcome === undefined) broken('S2', `${name} was settled and its attempt has no outcome`)
  }

  const isForgotten = (run: Run) => {
    const grant = truth.grants.get(run.attemptId ?? '')
    return grant === undefined || truth.restoredAt > grant.at
  }

  const threw = (name: string, before: Run, after: Run, end: End | null, limit: number): void => {
    if (end?.how === 'obeyed') broken('L6', `${name} obeyed its signal (${end.why}) and counts as failed`)
    if (after.state === 'queued' && after.retries !== before.retries + 1)
      broken('L6', `${name} is retried and not charged`)
    if (after.retries > limit && after.retries > before.retries)
      broken('L6', `${name} is retried ${after.retries} times, ${limit} are allowed`)
    if (after.state === 'failed' && before.retries < limit)
      broken('L6', `${name} failed with ${before.retries} of ${limit} retries`)
    uncharged(name, before, after, ['recoveries', 'repeats'])
    if (after.state === 'queued' && end) delayed(name, before, after, end.at)
  }

  /** A retry waits for its delay, less the jitter of a quarter. */
  const delayed = (name: string, before: Run, after: Run, endedAt: number): void => {
    const retry = definitionOf(before)?.retry
    if (!retry || truth.steppedAt > endedAt - SLACK_MS * 10) return
    const least = 0.75 * Math.min(retry.maxDelayMs, retry.delayMs * retry.factor ** before.retries)
    const waits = after.readyAt - (endedAt + truth.world.storeOffsetMs)
    if (waits < least - SLACK_MS) broken('L6', `${name} is retried after ${waits} ms, at least ${least} are due`)
  }

  const handedBack = (name: string, before: Run, after: Run, wasCalled: boolean): void => {
    uncharged(name, before, after, before.repeats >= REPEATS_MOST ? ['retries'] : ['retries', 'recoveries'])
    if (after.repeats > REPEATS_MOST) broken('L6', `${name} was repeated ${after.repeats} times without charge`)
    if (
      wasCalled &&
      after.state === 'queued' &&
      after.repeats + after.recoveries === before.repeats + before.recoveries
    ) {
      broken('L6', `${name} was handed back after its handler had been called, and nothing counts it`)
    }
    if (after.state === 'failed' && before.repeats < REPEATS_MOST && definitionOf(before)?.recover !== 0) {
      broken('L6', `${name} was handed back and failed`)
    }
  }

  const uncharged = (
    name: string,
    before: Run,
    after: Run,
    fields: readonly ('retries' | 'recoveries' | 'repeats')[],
  ): void => {
    for (const field of fields) {
      if (after[field] !== before[field])
        broken('L6', `${name}: ${field} went from ${before[field]} to ${after[field]}`)
    }
  }

  const definitionOf = (run: Run) => truth.grants.get(run.attemptId ?? '')?.definition

  /** A run whose session was marked, as a commit has left it. */
  const recovered = ({ before, after }: RowChange, process: string, read: number): void => {
    if (before?.state !== 'running' || after === null || before.attemptId === null) return
    if (after.attemptId === before.attemptId && after.state === 'running') return
    const name = `${after.job}/${after.key}#${before.token}`
    const outcome = after.attempts.find((one) => one.id === before.attemptId)?.outcome
    if (outcome !== 'lost') broken('L6', `${name} was taken from its session as ${outcome}`)
    const definition = currentDefinition(after.job)
    const recover = definition?.recover ?? 0
    if (after.recoveries > recover && after.recoveries > before.recoveries) {
      broken('L6', `${name} is recovered ${after.recoveries} times, ${recover} are allowed`)
    }
    if (after.repeats > REPEATS_MOST) broken('L6', `${name} was repeated ${after.repeats} times without charge`)
    if (after.retries !== before.retries) broken('L6', `${name} was lost and pays a retry`)
    if (after.state === 'failed') {
      if (before.recoveries < recover && recover > 0)
        broken('L6', `${name} was given up after ${before.recoveries} of ${recover} recoveries`)
      return
    }
    if (after.state === 'cancelled') {
      if (after.stop === null) broken('S6', `${name} was cancelled when its session had ended, and nobody had asked`)
      return
    }
    if (recover === 0) broken('L6', `${name} is repeated although recover is 0`)
    charged(name, before, after, process, read)
  }

  const charged = (name: string, before: Run, after: Run, process: string, read: number): void => {
    const session = truth.sessions.get(before.session ?? '')
    const paid = after.recoveries - before.recoveries
    const free = after.repeats - before.repeats
    if (paid + free !== 1) broken('L6', `${name} was recovered, and nothing counts it`)
    if (!session || truth.restoredAt > 0) return
    const returned = [...truth.sessions.values()].some((one) => one.node === session.node && one.order > session.order)
    const recoverer = truth.process(process)
    const trouble = recoverer !== undefined && recoverer.failedAt > truth.now - TROUBLE_MS
    const isBack = [...truth.sessions.values()].some((one) => {
      return one.node === session.node && one.order > session.order && one.begunAt < read - RETURN_MS
    })
    if (isBack && paid > 0 && before.repeats < REPEATS_MOST && truth.steppedAt < 0) {
      broken('L6', `${name}: its node lives on, and a recovery is charged`)
    }
    if (!returned && !trouble && paid === 0) broken('L6', `${name}: its node is lost, and nothing is charged`)
  }

  const currentDefinition = (job: string) => {
    const row = truth.ledger.job(job)
    return row && truth.definition(row)
  }

  /** `recover: 0`: once a handler was called no other attempt follows, except after an error it threw. */
  const followed = ({ job, key, before, after }: RowChange): void => {
    if (after?.state !== 'running' || before === null || before.attemptId === after.attemptId) return
    if (currentDefinition(job)?.recover !== 0) return
    const last = after.attempts.at(-2)
    if (!last || !called.has(`${job}|${key}|${last.token}`)) return
    const allowed = last.outcome === 'failed' || truth.restoredAt > 0
    if (!allowed && definitionAt(last.id)?.recover === 0)
      broken('L6', `${job}/${key} follows an attempt that was ${last.outcome}, recover is 0`)
  }

  const definitionAt = (attemptId: string) => truth.grants.get(attemptId)?.definition

  /** How far the job has come: the newest occurrence that succeeded. */
  const succeededUntil = ({ jobs, rows }: SettleSeen): void => {
    for (const { job, before, after } of jobs) {
      if (before === null || after === null) continue
      const done = rows.filter((row) => row.job === job && row.after?.state === 'succeeded' && isScheduled(row.after))
      const instants = [before.tally.succeededUntil, ...done.map((row) => row.after?.scheduledAt ?? null)]
      const until = instants.reduce((a, b) => (a === null ? b : b === null ? a : Math.max(a, b)), null)
      if (after.tally.succeededUntil !== until) {
        broken('S6', `${job} has succeeded up to ${after.tally.succeededUntil}, its runs up to ${until}`)
      }
    }
  }

  /** A store that was set back, and its clock too, can give a token to a second attempt: what the first did is not its. */
  const grantedAnew = ({ state, job, key, token, attemptId }: Run): void => {
    if (state !== 'running' || attemptId === null) return
    const name = `${job}|${key}|${token}`
    if (owners.get(name) === attemptId) return
    owners.set(name, attemptId)
    called.delete(name)
    ends.delete(name)
  }

  return {
    see(seen) {
      if (seen.kind === 'commit') for (const { after } of seen.rows) if (after) grantedAnew(after)
      if (seen.kind === 'handler-started') called.add(`${seen.job}|${seen.key}|${seen.token}`)
      if (seen.kind === 'handler-aborted') whys.set(seen.handler, seen.why)
      if (seen.kind === 'handler-ended') {
        const { how, aborted } = seen
        const why = whys.get(seen.handler) ?? null
        ends.set(`${seen.job}|${seen.key}|${seen.token}`, { at: seen.at, how, aborted, why })
      }
      if (seen.kind === 'settle') {
        for (const row of seen.rows) settled(row)
        succeededUntil(seen)
      }
      if (seen.kind === 'commit') {
        for (const row of seen.rows) {
          recovered(row, seen.process, seen.read)
          followed(row)
        }
      }
    },
  }
}

function isScheduled(run: Run): boolean {
  return run.cause === 'schedule' || run.cause === 'catch-up'
}
