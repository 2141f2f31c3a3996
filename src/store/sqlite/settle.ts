import type { Settlement } from '../../ledger/types.js'
import { isEarlier, settledTally, settledWakeAt } from '../guards.js'
import type { SettleResult } from '../port.js'
import { parseRow, readOr } from '../readable.js'
import type { Ledger } from './ledger.js'
import { runColumns, type TallyColumns, tallyOf } from './rows.js'
import { SETTLE_JOB, SETTLE_PUT_JOB, SETTLE_PUT_RUN, SETTLE_RUN, SETTLE_SESSION } from './statements.js'

/** Attempts of a run whose settlement is recognised when it comes again. */
const REMEMBERED = 20

type Answer = readonly [attemptId: string, result: SettleResult]

interface RunRow {
  readonly state: string
  readonly token: number
  readonly attempt_id: string | null
  readonly session: string | null
  readonly settled_by: string | null
}

interface JobRow extends TallyColumns {
  readonly bucket: number
  readonly waiting: number
  readonly wake_at: number | null
}

export function settle(ledger: Ledger, settlement: Settlement, now: number): SettleResult {
  const { connection, fleet } = ledger
  const { job, key, token, attemptId, run } = settlement
  const row = connection.get<RunRow>(SETTLE_RUN, { fleet, job, key })
  const jobRow = connection.get<JobRow>(SETTLE_JOB, { fleet, job })
  if (!row || !jobRow) return 'lost'
  const answers = answersOf(row.settled_by)
  if (row.state !== 'running' || row.token !== token || row.attempt_id !== attemptId) {
    return answers.find(([attempt]) => attempt === attemptId)?.[1] ?? 'lost'
  }
  const isLive = connection.get(SETTLE_SESSION, { fleet, session: row.session }) !== undefined
  const result = isLive ? 'settled' : 'late'
  const settled_by = JSON.stringify([...answers, [attemptId, result]].slice(-REMEMBERED))
  connection.run(SETTLE_PUT_RUN, { fleet, ...runColumns(run), job, key, settled_by })
  const wakeAt = settledWakeAt(jobRow.wake_at, jobRow.waiting, settlement.wakeAt, now)
  const { settled, failures, succeededUntil, tokenFloor } = settledTally(tallyOf(jobRow), settlement)
  connection.run(SETTLE_PUT_JOB, {
    fleet,
    job,
    wake_at: wakeAt,
    settled,
    failures,
    succeeded_until: succeededUntil,
    token_floor: tokenFloor,
  })
  if (isEarlier(wakeAt, jobRow.wake_at)) ledger.woken.add(jobRow.bucket)
  return result
}

/** What was answered before is worth less than the end of a run: where it cannot be read it is begun anew. */
function answersOf(text: string | null): Answer[] {
  const found =
    text === null
      ? []
      : readOr(
          () => parseRow('the answers', text),
          () => [],
        )
  return Array.isArray(found) ? found : []
}
