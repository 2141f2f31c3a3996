import type { Lane } from '../../../ledger/types.js'
import type { CommitSeen, RowChange, SettleSeen } from '../observations.js'
import type { Checker, CheckerContext } from './checker.js'

/**
 * Places and turns: a grant takes one of the job's places, in the order of its lane; counts of who waits are right; a
 * job is paused after its failures in a row; and wakeAt is never late (L3).
 */
export function checkPlaces({ truth, broken }: CheckerContext): Checker {
  const commit = (seen: CommitSeen): void => {
    for (const { job, before, after } of seen.jobs) {
      if (after === null) continue
      const rows = seen.rows.filter((row) => row.job === job)
      const concurrency = truth.definition(after)?.concurrency ?? 1
      const held = [...truth.ledger.live(job)].filter((run) => run.place)
      const taken = rows.filter((row) => row.after?.place && !row.before?.place)
      // A store that was set back after a decision's reading has places taken that were free.
      const setBack = truth.restoredAt > truth.now - truth.world.plan.leaseMs
      if (taken.length > 0 && held.length > concurrency && !setBack) {
        broken('S4', `${held.length} runs of ${job} hold places, there are ${concurrency}`)
      }
      for (const row of taken) inTurn(job, row, rows, seen.read)
      alternate(job, before?.header.turn ?? 'schedule', taken, seen.read)
      waitingCounted(job)
      pausedStarts(job, taken, seen)
      readyStarts(rows, seen.read)
      pausedAfter(job, rows, failuresRead.get(`${job}|${seen.changes.find((one) => one.job === job)?.expect.settled}`))
    }
  }

  /** Nobody of the same lane waits who was there before, is ready, and could have been taken. */
  const inTurn = (job: string, { key, after }: RowChange, rows: readonly RowChange[], now: number): void => {
    if (after === null) return
    for (const other of truth.ledger.live(job)) {
      const waits = other.state === 'queued' && !other.place && other.lane === after.lane
      if (!waits || other.position >= after.position || other.readyAt > now) continue
      // A node does not start a run whose earlier handler still runs in it.
      const hadHandler = other.attempt > 0 || truth.wasGranted(job, other.key)
      if (hadHandler || rows.some((row) => row.key === other.key)) continue
      broken('L3', `${job}/${key} was granted before ${other.key}, which waited longer`)
    }
  }

  // A run whose earlier handler may still live (its store was set back) is passed over by the node that has it.
  /** Lanes take turns: two grants in a row to one lane only while no other lane has anybody to send. */
  const alternate = (job: string, before: Lane, taken: readonly RowChange[], now: number): void => {
    // A store that was set back shows runs as waiting whose handlers still end in some node, which leaves them to others.
    if (truth.restoredAt > truth.now - truth.world.plan.leaseMs) return
    const paused = truth.ledger.job(job)?.header.pause != null
    const others = [...truth.ledger.live(job)].filter((run) => {
      return run.state === 'queued' && !run.place && run.createdAt <= now && (!paused || run.lane === 'manual')
    })
    // Who awaits a poke, or a retry, has nobody to send.
    const free = others.filter((run) => !truth.wasGranted(job, run.key) && run.readyAt <= now)
    let turn = before
    for (const { key, after } of [...taken].sort((a, b) => (a.after?.token ?? 0) - (b.after?.token ?? 0))) {
      if (after === null) continue
      const other = free.find((run) => run.lane !== after.lane)
      if (after.lane === turn && other)
        broken('L3', `${job}/${key} was granted out of turn: ${other.key} of lane ${other.lane} waits`)
      turn = after.lane
    }
  }

  const waitingCounted = (job: string): void => {
    const row = truth.ledger.job(job)
    if (row === null) return
    const counts = { schedule: 0, manual: 0, backlog: 0 }
    for (const run of truth.ledger.live(job)) if (run.state === 'queued' && !run.place) counts[run.lane] += 1
    if (JSON.stringify(counts) !== JSON.stringify({ ...counts, ...row.header.waiting })) {
      broken(
        'L3',
        `${job} counts ${JSON.stringify(row.header.waiting)} waiting runs, there are ${JSON.stringify(counts)}`,
      )
    }
  }

  const pausedStarts = (job: string, taken: readonly RowChange[], seen: CommitSeen): void => {
    const pause = truth.ledger.job(job)?.header.pause
    if (pause == null) return
    for (const { key, after } of taken) {
      if (after?.cause !== 'manual')
        broken('S7', `${job}/${key} was started by ${seen.process} although the job is paused`)
    }
  }

  const readyStarts = (rows: readonly RowChange[], now: number): void => {
    for (const { job, key, before, after } of rows) {
      // A store's clock that was set back must not keep a run waiting for as long.
      const setBack = truth.steppedBackAt > truth.now - SET_BACK_MS
      if (after?.state === 'running' && before?.state === 'queued' && before.readyAt > now && !setBack) {
        broken('L6', `${job}/${key} was started ${before.readyAt - now} ms before its retry is due, or unpoked`)
      }
    }
  }

  /** Failures in a row, by the count of settlements that a committer may have read. */
  const failuresRead = new Map<string, number>()

  const pausedAfter = (job: string, rows: readonly RowChange[], failures: number | undefined): void => {
    const row = truth.ledger.job(job)
    const limit = row && truth.definition(row)?.pauseAfter
    if (!row || limit == null || failures === undefined || row.tally.failures < limit) return
    const gaveUp = rows.some(({ before, after }) => before?.state === 'running' && after?.state === 'failed')
    const started = rows.find(({ before, after }) => after?.place && !before?.place && after.cause !== 'manual')
    if (started && failures + (gaveUp ? 1 : 0) >= limit) {
      broken('L6', `${job}/${started.key} was started after ${failures} failures in a row`)
    }
  }

  /** Failures in a row, by what settlements and recoveries have left behind. */
  const failures = (seen: SettleSeen | CommitSeen): void => {
    for (const { job, before, after } of seen.jobs) {
      if (before === null || after === null) continue
      const rows = seen.rows.filter((row) => row.job === job && row.before?.state === 'running')
      // The end of a pause forgets the failures.
      if (before.header.pause !== null && after.header.pause === null) continue
      const succeeded = rows.some((row) => row.after?.state === 'succeeded')
      const failed = rows.filter((row) => row.after?.state === 'failed').length
      const [was, is] = [before.tally.failures, after.tally.failures]
      if (succeeded && seen.kind === 'settle' && rows.length === 1 && is !== 0)
        broken('L6', `${job} succeeded and counts ${is} failures in a row`)
      if (!succeeded && failed > 0 && is < was + 1)
        broken('L6', `${job} failed and counts ${is} failures in a row, ${was} before`)
      if (failed === 0 && is > was) broken('L6', `${job} counts ${is} failures in a row and nothing failed`)
    }
  }

  return {
    see(seen) {
      if (seen.kind === 'commit') commit(seen)
      if (seen.kind !== 'commit' && seen.kind !== 'settle') return
      failures(seen)
      for (const { job, after } of seen.jobs) {
        if (after) failuresRead.set(`${job}|${after.tally.settled}`, after.tally.failures)
      }
    },
  }
}

/** The longest step of a store's clock, and the longest delay of a retry. */
const SET_BACK_MS = 200_000
