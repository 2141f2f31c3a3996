import type { Beat, BeatReply, SessionRef } from '../port.js'
import { SEEN_MS } from '../retention.js'
import { carefully } from './careful.js'
import type { Ledger } from './ledger.js'
import { type RunRow, readable, runOf, type SummaryColumns, stopOf, summaryOf } from './rows.js'
import { bucketArguments } from './sessions.js'

/** A beat that takes longer than a third of the lease is as good as none: the next one is due. */
const SHARE_OF_LEASE = 3

interface Answer extends Omit<BeatReply, 'gone' | 'strays' | 'nodes'> {
  /** Of a run that was sent there is no body. */
  readonly running: readonly (readonly [attemptId: string, isSent: boolean, run: RunRow])[]
  readonly nodes: readonly SummaryColumns[]
}

export function beat(ledger: Ledger, session: SessionRef, sent: Beat): Promise<BeatReply> {
  const { server, line, fleet } = ledger
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
  const statementMs = Math.min(server.statementMs, session.leaseMs / SHARE_OF_LEASE)
  return carefully(async (isCareful) =>
    replyOf(await line.call<Answer>('beat', { ...args, p_careful: isCareful }, statementMs), sent, isCareful),
  )
}

function replyOf({ running, nodes, ...reply }: Answer, sent: Beat, isCareful: boolean): BeatReply {
  // Whoever asked, a run goes on where it cannot be told what for; a stray that cannot be read is left out.
  const read = isCareful ? readable : readAll
  const stops = new Map(running.map((row) => [row[0], row[2]]))
  return {
    ...reply,
    gone: read([...new Set(sent.attempts)], (attemptId) => {
      const row = stops.get(attemptId)
      return { attemptId, stop: row === undefined ? null : stopOf(row), isGone: row === undefined }
    }).flatMap(({ attemptId, stop, isGone }) => (isGone || stop !== null ? [{ attemptId, stop }] : [])),
    strays: read(
      running.filter(([, isSent]) => !isSent),
      ([, , row]) => runOf(row),
    ),
    nodes: readable(nodes, summaryOf),
  }
}

function readAll<R, T>(rows: readonly R[], read: (row: R) => T): T[] {
  return rows.map(read)
}
