import type { Stop } from '../../ledger/types.js'
import type { Beat, BeatReply, SessionRef } from '../port.js'
import { parseRow, readOr } from '../readable.js'
import { SEEN_MS } from '../retention.js'
import type { Ledger } from './ledger.js'
import { type RunColumns, runOf, type SummaryColumns, summaryOf } from './rows.js'
import { ANY_TIME, maskOf, nextEnd, nextWakes, sessionState } from './sessions.js'
import { BEAT_END, BEAT_NODES, BEAT_RENEW, BEAT_RUNNING, LOAD_ATTEMPT } from './statements.js'

export function beat(ledger: Ledger, session: SessionRef, sent: Beat, now: number): BeatReply {
  const { connection, fleet, incarnation } = ledger
  const { known, alive } = sessionState(ledger, session.id, now)
  if (alive) {
    const lease_end = now + session.leaseMs
    connection.run(BEAT_RENEW, { fleet, session: session.id, now, lease_end, room: sent.room ? 1 : 0 })
  }
  if (known && sent.end) connection.run(BEAT_END, { fleet, session: session.id, now })
  const { services } = sent
  const mask = maskOf(sent.buckets)
  return {
    now,
    alive,
    known,
    ...compared(ledger, session, new Set(sent.attempts)),
    ...nextWakes(ledger, { services, mask, after: ANY_TIME, othersAfter: ANY_TIME }),
    nextEndAt: nextEnd(ledger, session.id),
    nodes: connection
      .all<SummaryColumns>(BEAT_NODES, { fleet, since: now - SEEN_MS })
      .flatMap((row) => readOr(() => [summaryOf(row)], leftOut)),
    incarnation,
  }
}

/** Compares what the node runs with what the ledger says it runs, both ways. */
function compared(
  ledger: Ledger,
  session: SessionRef,
  attempts: ReadonlySet<string>,
): Pick<BeatReply, 'gone' | 'strays'> {
  const { connection, fleet } = ledger
  const rows = connection.all<{ attempt_id: string; stop: string | null }>(BEAT_RUNNING, { fleet, session: session.id })
  const stops = new Map(rows.map((row) => [row.attempt_id, row.stop]))
  return {
    gone: [...attempts].flatMap((attemptId): BeatReply['gone'] => {
      const stop = stops.get(attemptId)
      if (stop === null) return []
      if (stop === undefined) return [{ attemptId, stop: null }]
      // Whoever asked, the run goes on where it cannot be told what for.
      return readOr(() => [{ attemptId, stop: parseRow('stop', stop) as Stop }], leftOut)
    }),
    strays: rows.flatMap(({ attempt_id: attempt }) => {
      const row = attempts.has(attempt) ? undefined : connection.get<RunColumns>(LOAD_ATTEMPT, { fleet, attempt })
      return row ? readOr(() => [runOf(row)], leftOut) : []
    }),
  }
}

function leftOut(): [] {
  return []
}
