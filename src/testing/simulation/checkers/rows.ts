import type { Run, RunState } from '../../../ledger/types.js'
import type { RowChange } from '../observations.js'
import { DISTURBED } from '../truth.js'
import type { Checker, CheckerContext } from './checker.js'

/** What one atomic write may do to a row: S6's table, read by the checkers in their own words. */
const STEPS: Readonly<Record<RunState | 'absent', readonly RunState[]>> = {
  // A run may be queued and granted at once; it may be asked for and taken back at once.
  absent: ['queued', 'running', 'skipped', 'missed', 'cancelled'],
  queued: ['queued', 'running', 'cancelled', 'skipped'],
  running: ['running', 'queued', 'succeeded', 'failed', 'cancelled'],
  succeeded: [],
  failed: [],
  cancelled: [],
  skipped: ['skipped'],
  missed: ['missed'],
}

/** Fields that a row keeps from the moment it is made. */
const FIXED = ['job', 'key', 'cause', 'lane', 'resource', 'data', 'retryOf', 'position', 'createdAt'] as const

/** Fields that are frozen at the first grant: every attempt sees the same. */
const FROZEN = ['scheduledAt', 'date', 'since', 'startedAt'] as const

/**
 * S1, S2, S3, S6: rows. Held against every difference in what the store holds, whoever made it.
 */
export function checkRows({ truth, broken }: CheckerContext): Checker {
  const lastToken = new Map<string, number>()

  const step = ({ job, key, before, after }: RowChange, by: string): void => {
    const name = `${job}/${key}`
    if (after === null) {
      broken('S1', `the row ${name} (${before?.state}) is gone`)
      return
    }
    const from = before?.state ?? 'absent'
    if (!STEPS[from].includes(after.state)) broken('S6', `${name} went from ${from} to ${after.state} by a ${by}`)
    if (before === null) born(name, after)
    else {
      for (const field of FIXED) {
        if (before[field] !== after[field])
          broken('S6', `${name}: ${field} changed from ${before[field]} to ${after[field]}`)
      }
      if (before.attempt > 0) frozen(name, before, after)
      if (isOver(before.state)) extended(name, before, after)
      stopKept(name, before, after)
      counts(name, before, after)
    }
    if (after.state === 'running' && after.attemptId !== before?.attemptId) granted(name, job, before, after, by)
    if (isOver(after.state) && after.place) broken('S6', `${name} is ${after.state} and still holds a place`)
    if (isOver(after.state) && after.endedAt === null) broken('S6', `${name} is ${after.state} without an end`)
  }

  const born = (name: string, run: Run): void => {
    const manual = run.cause === 'manual'
    if (manual !== run.key.startsWith('manual:')) broken('S14', `${name} is ${run.cause}`)
    if ((run.cause === 'backfill') !== run.key.startsWith('backfill:')) broken('S14', `${name} is ${run.cause}`)
    if (!manual && run.covers === null) broken('S7', `${name} covers nothing`)
  }

  const frozen = (name: string, before: Run, after: Run): void => {
    for (const field of FROZEN) {
      if (before[field] !== after[field]) {
        broken('S6', `${name}: ${field} changed from ${before[field]} to ${after[field]} after the first grant`)
      }
    }
    const [a, b] = [before.covers, after.covers]
    if (a?.from !== b?.from || a?.to !== b?.to || a?.count !== b?.count) {
      broken('S6', `${name}: covers changed from ${JSON.stringify(a)} to ${JSON.stringify(b)} after the first grant`)
    }
    if (after.attempt < before.attempt)
      broken('S2', `${name}: attempts went from ${before.attempt} to ${after.attempt}`)
  }

  const extended = (name: string, before: Run, after: Run): void => {
    if (
      before.reason !== after.reason ||
      before.attempt !== after.attempt ||
      before.covers?.from !== after.covers?.from
    ) {
      broken('S6', `${name}: a terminal row changed in more than what it covers`)
    }
    if ((after.covers?.count ?? 0) <= (before.covers?.count ?? 0))
      broken('S6', `${name}: was written again as ${after.state}`)
  }

  const stopKept = (name: string, before: Run, after: Run): void => {
    if (before.stop !== null && after.stop === null) broken('S6', `${name}: what it was asked to stop for is forgotten`)
    if (before.stop !== null && after.state === 'running' && after.attemptId !== before.attemptId) {
      broken('S6', `${name}: was granted again although it had been asked to stop`)
    }
    if (before.stop !== null && before.state === 'queued' && after.state === 'queued') {
      broken('S6', `${name}: waits on although it had been asked to stop`)
    }
  }

  const counts = (name: string, before: Run, after: Run): void => {
    for (const field of ['retries', 'recoveries', 'repeats'] as const) {
      const by = after[field] - before[field]
      if (by < 0 || by > 1) broken('L6', `${name}: ${field} went from ${before[field]} to ${after[field]}`)
    }
  }

  const granted = (name: string, job: string, before: Run | null, after: Run, by: string): void => {
    if (by !== 'commit') broken('S2', `${name} was granted by a ${by}`)
    if (after.token <= (before?.token ?? 0)) broken('S2', `${name}: token ${after.token} after ${before?.token}`)
    if (after.attempt !== (before?.attempt ?? 0) + 1)
      broken('S2', `${name}: attempt ${after.attempt} after ${before?.attempt}`)
    const last = after.attempts.at(-1)
    if (last?.id !== after.attemptId || last?.token !== after.token || last?.session !== after.session) {
      broken('S2', `${name}: its list of attempts does not end with the one that runs`)
    }
    const greatest = lastToken.get(job) ?? 0
    // A store that was set back to an earlier state while its clock had been set back may repeat: the fence learns (S3).
    const excused = truth.restoredAt > 0 && truth.steppedBackAt > 0
    if (after.token <= greatest && !excused)
      broken('S3', `${name}: token ${after.token}, but ${job} had ${greatest} before`)
    if (!Number.isSafeInteger(after.token)) broken('S3', `${name}: token ${after.token} is not below 2^53`)
    lastToken.set(job, Math.max(greatest, after.token))
    if (!after.place) broken('S6', `${name} runs without a place`)
    if (before === null || before.attempt === 0) sinceAsPromised(name, job, after)
  }

  /** `since` is what had succeeded by the settlements that the grant's commit had read. */
  const sinceAsPromised = (name: string, job: string, run: Run): void => {
    const until = succeeded.get(`${job}#${settledRead.get(job)}`)
    if (until !== undefined && run.since !== until) {
      broken('S6', `${name}: since is ${run.since}, what succeeded last ended at ${until}`)
    }
  }

  /** Up to when a job had succeeded, by the count of its settlements. */
  const succeeded = new Map<string, number | null>()
  let settledRead = new Map<string, number>()

  return {
    see(seen) {
      if (seen.kind === 'commit' || seen.kind === 'settle') {
        settledRead = new Map(
          seen.kind === 'commit' ? seen.changes.map(({ job, expect }) => [job, expect.settled]) : [],
        )
        for (const { job, after } of seen.jobs) {
          if (after) succeeded.set(`${job}#${after.tally.settled}`, after.tally.succeededUntil)
        }
        const rows = [...seen.rows].sort((a, b) => (a.after?.token ?? 0) - (b.after?.token ?? 0))
        for (const row of rows) step(row, seen.kind)
      }
      if (seen.kind === 'world' && DISTURBED.has(seen.what)) succeeded.clear()
    },
  }
}

function isOver(state: RunState): boolean {
  return state !== 'queued' && state !== 'running'
}
