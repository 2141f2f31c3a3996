import type { Change, Settlement } from '../../ledger/types.js'
import {
  committedTally,
  committedWakeAt,
  judge,
  NO_TALLY,
  settledTally,
  settledWakeAt,
  waitingTotal,
} from '../guards.js'
import type { CommitResult, Committed, SessionRef, SettleResult } from '../port.js'
import { isAlive } from './sessions.js'
import type { State } from './state.js'
import { compareText } from './wakes.js'

/** Attempts of a run whose settlement is recognised when it comes again. */
const REMEMBERED = 20

export function commit(
  state: State,
  session: SessionRef,
  read: number,
  changes: readonly Change[],
  now: number,
): Committed {
  if (!isAlive(state, session.id, now) || now > read + session.leaseMs / 10) return { expired: true, now }
  const results = new Map<Change, CommitResult>()
  for (const change of changes.toSorted((a, b) => compareText(a.job, b.job))) {
    const refusal = judge(change, found(state, change.job))
    if (!refusal) apply(state, change, now)
    results.set(change, refusal ?? { job: change.job, outcome: 'won' })
  }
  return { expired: false, now, results: changes.flatMap((change) => results.get(change) ?? []) }
}

function found(state: State, job: string) {
  const entry = state.jobs.get(job)
  return {
    version: entry?.row.version ?? null,
    settled: entry?.row.tally.settled ?? 0,
    run: (key: string) => {
      const run = entry?.runs.get(key)?.run
      return run ? { state: run.state, token: run.token } : null
    },
    event: (id: string) => state.events.has(id),
    definition: (hash: string) => entry?.definitions.has(hash) ?? false,
    attempt: (id: string) => state.attempts.get(id)?.run ?? null,
  }
}

function apply(state: State, change: Change, now: number): void {
  const tally = state.jobs.get(change.job)?.row.tally ?? NO_TALLY
  const entry = state.putJob({
    header: { ...change.header, wakeAt: committedWakeAt(change, tally, now) },
    tally: committedTally(tally, change),
    version: change.id,
  })
  if (change.definition) {
    // Entered anew it is the latest again: the map keeps the order of entry.
    entry.definitions.delete(change.definition.hash)
    entry.definitions.set(change.definition.hash, change.definition)
  }
  state.putRuns(entry, change.runs)
  for (const event of change.events) state.putEvent(event)
}

export function settle(state: State, settlement: Settlement, now: number): SettleResult {
  const { job, key, token, attemptId } = settlement
  const entry = state.jobs.get(job)
  const row = entry?.runs.get(key)
  if (!entry || !row) return 'lost'
  const { run } = row
  if (run.state !== 'running' || run.token !== token || run.attemptId !== attemptId) {
    return row.settledBy.find(([attempt]) => attempt === attemptId)?.[1] ?? 'lost'
  }
  const result = state.nodes.get(run.session ?? '')?.endedAt === null ? 'settled' : 'late'
  const settledBy = [...row.settledBy, [attemptId, result] as const].slice(-REMEMBERED)
  state.putRun(entry, { run: { ...settlement.run, stop: run.stop }, settledBy })
  const { header, tally, version } = entry.row
  const wakeAt = settledWakeAt(header.wakeAt, waitingTotal(header), settlement.wakeAt, now)
  state.putJob({ header: { ...header, wakeAt }, tally: settledTally(tally, settlement), version })
  return result
}
