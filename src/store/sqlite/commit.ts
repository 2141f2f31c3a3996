import type { Change, Expected } from '../../ledger/types.js'
import { committedTally, committedWakeAt, type Found, isEarlier, judge, NO_TALLY, waitingTotal } from '../guards.js'
import type { CommitResult, Committed, SessionRef } from '../port.js'
import { isAboutData } from './driver.js'
import type { Ledger } from './ledger.js'
import { runColumns, stopColumn, type TallyColumns, tallyOf } from './rows.js'
import { sessionState } from './sessions.js'
import {
  COMMIT_ATTEMPT,
  COMMIT_BEGIN,
  COMMIT_DEFINITION,
  COMMIT_END,
  COMMIT_EVENT,
  COMMIT_JOB,
  COMMIT_NEW_RUN,
  COMMIT_PUT_DEFINITION,
  COMMIT_PUT_EVENT,
  COMMIT_PUT_JOB,
  COMMIT_PUT_RUN,
  COMMIT_RUN,
  COMMIT_UNDO,
} from './statements.js'

/** Some change of a commit holds data that SQLite refuses: all was undone, to be written once more with care. */
export class Undone extends Error {}

/**
 * @param isCareful whether each change is written behind a savepoint, so that one that is refused goes alone. SQLite copies
 * every page that is changed behind one, which costs several times what the change itself does: without care, a refusal
 * undoes all and throws `Undone`.
 */
export function commit(
  ledger: Ledger,
  session: SessionRef,
  read: number,
  changes: readonly Change[],
  now: number,
  isCareful: boolean,
): Committed {
  const isLate = now > read + session.leaseMs / 10
  if (isLate || !sessionState(ledger, session.id, now).alive) return { expired: true, now }
  const results = new Map<Change, CommitResult>()
  for (const change of changes.toSorted((a, b) => (a.job < b.job ? -1 : a.job > b.job ? 1 : 0))) {
    results.set(change, isCareful ? commitAlone(ledger, change, now) : commitOne(ledger, change, now))
  }
  return { expired: false, now, results: changes.flatMap((change) => results.get(change) ?? []) }
}

interface JobRow extends TallyColumns {
  readonly version: string
  readonly wake_at: number | null
}

/** A change whose data SQLite refuses is taken back alone; a failure of the whole file goes on to the caller. */
function commitAlone(ledger: Ledger, change: Change, now: number): CommitResult {
  const { connection } = ledger
  connection.run(COMMIT_BEGIN, {})
  try {
    const result = writeChange(ledger, change, now)
    connection.run(COMMIT_END, {})
    return result
  } catch (error) {
    if (!isAboutData(error)) throw error
    connection.run(COMMIT_UNDO, {})
    connection.run(COMMIT_END, {})
    return { job: change.job, outcome: 'refused', why: error instanceof Error ? error.message : String(error) }
  }
}

function commitOne(ledger: Ledger, change: Change, now: number): CommitResult {
  try {
    return writeChange(ledger, change, now)
  } catch (cause) {
    if (!isAboutData(cause)) throw cause
    ledger.woken.clear()
    throw new Undone(`A change of the job ${change.job} is refused.`, { cause })
  }
}

function writeChange(ledger: Ledger, change: Change, now: number): CommitResult {
  const { connection, fleet } = ledger
  const { job } = change
  const row = connection.get<JobRow>(COMMIT_JOB, { fleet, job })
  const refusal = judge(change, found(ledger, job, row))
  if (!refusal) apply(ledger, change, row, now)
  return refusal ?? { job, outcome: 'won' }
}

function found(ledger: Ledger, job: string, row: JobRow | undefined): Found {
  const { connection, fleet } = ledger
  return {
    version: row?.version ?? null,
    settled: row?.settled ?? 0,
    run: (key) => connection.get<Exclude<Expected, null>>(COMMIT_RUN, { fleet, job, key }) ?? null,
    event: (id) => connection.get(COMMIT_EVENT, { fleet, id }) !== undefined,
    definition: (hash) => connection.get(COMMIT_DEFINITION, { fleet, job, hash }) !== undefined,
    attempt: (id) => connection.get<{ job: string; key: string }>(COMMIT_ATTEMPT, { fleet, attempt: id }) ?? null,
  }
}

function apply(ledger: Ledger, change: Change, row: JobRow | undefined, now: number): void {
  const { connection, fleet } = ledger
  const { job, header } = change
  const before = row ? tallyOf(row) : NO_TALLY
  const wakeAt = committedWakeAt(change, before, now)
  connection.run(COMMIT_PUT_JOB, {
    fleet,
    job,
    service: header.service,
    name: header.name,
    bucket: header.bucket,
    version: change.id,
    definition: header.definition,
    wake_at: wakeAt,
    waiting: waitingTotal(header),
    fate_key: header.lastFate?.key ?? null,
    failures: committedTally(before, change).failures,
    header: JSON.stringify(header),
  })
  for (const { run, expect } of change.runs.toSorted((a, b) => (a.run.key < b.run.key ? -1 : 1))) {
    const { cause, lane, createdAt: created_at } = run
    const columns = { fleet, ...runColumns(run), lane, stop: stopColumn(run.stop) }
    if (expect === null) connection.run(COMMIT_NEW_RUN, { ...columns, cause, created_at })
    else connection.run(COMMIT_PUT_RUN, columns)
  }
  if (change.definition) {
    const { hash, seq, enteredAt: entered_at, release, content } = change.definition
    const columns = { fleet, job, hash, seq, entered_at, release, content: JSON.stringify(content) }
    connection.run(COMMIT_PUT_DEFINITION, columns)
  }
  for (const { id, at, kind, by, why, data, job: about } of change.events) {
    connection.run(COMMIT_PUT_EVENT, { fleet, id, at, job: about, kind, by, why, data })
  }
  if (isEarlier(wakeAt, row?.wake_at ?? null)) ledger.woken.add(header.bucket)
}
