import type { Run, Stop } from '../../ledger/types.js'
import type { Beat, BeatReply, SessionRef } from '../port.js'
import type { Ledger } from './ledger.js'
import { runOf, type SummaryColumns, summaryOf } from './rows.js'
import { bucketArguments } from './sessions.js'

/** Nodes seen within this time are listed. */
const SEEN_MS = 90_000

/** A beat that takes longer than a third of the lease is as good as none: the next one is due. */
const SHARE_OF_LEASE = 3

interface Answer extends Omit<BeatReply, 'gone' | 'strays' | 'nodes'> {
  /** Of a run that was sent there is no body. */
  readonly running: readonly (readonly [attemptId: string, stop: Stop | null, body: Run | null])[]
  readonly nodes: readonly SummaryColumns[]
}

export async function beat(ledger: Ledger, session: SessionRef, sent: Beat): Promise<BeatReply> {
  const { calls, line, fleet } = ledger
  const args = {
    p_fleet: fleet,
    p_session: session.id,
    p_lease: session.leaseMs,
    p_services: JSON.stringify([...new Set(sent.services)]),
    ...bucketArguments(sent.buckets),
    p_attempts: JSON.stringify(sent.attempts),
    p_room: sent.room,
    p_end: sent.end ?? false,
    p_seen_ms: SEEN_MS,
  }
  const statementMs = Math.min(calls.statementMs, session.leaseMs / SHARE_OF_LEASE)
  const { running, nodes, ...reply } = await line.call<Answer>('beat', args, statementMs)
  const stops = new Map(running.map(([attemptId, stop]) => [attemptId, stop]))
  return {
    ...reply,
    gone: [...new Set(sent.attempts)].flatMap((attemptId) => {
      const stop = stops.get(attemptId)
      return stop === null ? [] : [{ attemptId, stop: stop ?? null }]
    }),
    strays: running.flatMap(([, stop, body]) => (body === null ? [] : [runOf([body, stop])])),
    nodes: nodes.map(summaryOf),
  }
}
