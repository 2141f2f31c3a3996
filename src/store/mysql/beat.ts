import type { Stop } from '../../ledger/types.js'
import type { Beat, BeatReply, SessionRef } from '../port.js'
import { parseRow, readOr } from '../readable.js'
import { SEEN_MS } from '../retention.js'
import { BEAT_END, BEAT_MADE, BEAT_NODES, BEAT_RENEW, BEAT_RUNNING } from './attend-statements.js'
import type { Ledger } from './ledger.js'
import { columnKey, nameColumn, nameKey, names } from './literal.js'
import { bytesAt, integerAt, type Row, runOf, summaryOf, textAt, textOrNullAt } from './rows.js'
import type { Rows } from './server.js'
import { ANY_TIME, maskOf, selfOf, sessionParameters, waitParts, waitsOf } from './sessions.js'
import { SELF } from './shared-statements.js'

/** A beat that takes longer than a third of the lease is as good as none: the next one is due. */
const SHARE_OF_LEASE = 3

/** One message, on the connection that beats have to themselves. */
export async function beat(ledger: Ledger, session: SessionRef, sent: Beat): Promise<BeatReply> {
  const { server, line, identity } = ledger
  const about = {
    ...sessionParameters(ledger, session),
    room: sent.room,
    attempts: names(sent.attempts),
    seen: SEEN_MS,
  }
  const mask = maskOf(sent.buckets)
  const read = [
    server.sql(SELF, about),
    server.sql(BEAT_MADE, { meta: `${server.prefix}meta` }),
    waitParts(ledger, session, { services: sent.services, mask, after: ANY_TIME, othersAfter: ANY_TIME }),
    server.sql(BEAT_RUNNING, about),
    server.sql(BEAT_NODES, about),
  ].join('')
  // A session that ends is looked at before, to say whether it was alive.
  const ending = sent.end ? [server.sql(SELF, about), server.sql(BEAT_END, about)] : []
  const ms = Math.min(server.statementMs, session.leaseMs / SHARE_OF_LEASE)
  const { rows } = await line.send([server.sql(BEAT_RENEW, about), ...ending, read], ms)
  const found = rows.at(-1) ?? []
  const self = selfOf((sent.end ? rows[1] : found) ?? [])
  const part = (letter: string) => found.filter((row) => textAt(row, 0) === letter)
  identity.sawMade(textAt(part('i')[0] ?? [], 1))
  if (self.alive) identity.sawBeats(session.id, self.beats)
  if (sent.end || !self.alive) identity.forget(session.id)
  return {
    now: self.now,
    alive: self.alive,
    known: self.known,
    ...compared(part('h'), sent.attempts),
    ...waitsOf(found),
    nodes: part('v')
      .sort((a, b) => integerAt(a, 1) - integerAt(b, 1))
      .flatMap((row) => readOr(() => [summaryOf(row, 2)], leftOut)),
    incarnation: identity.of(self.word),
  }
}

/** Compares what the node runs with what the ledger says it runs, both ways. */
function compared(rows: Rows, attempts: readonly string[]): Pick<BeatReply, 'gone' | 'strays'> {
  const stops = new Map(rows.map((row) => [columnKey(bytesAt(row, 1)), textOrNullAt(row, 3)]))
  const sent = new Set(attempts)
  const known = new Set([...sent].map(nameKey))
  return {
    gone: [...sent].flatMap((attemptId): BeatReply['gone'] => {
      const stop = stops.get(nameKey(attemptId))
      if (stop === null) return []
      if (stop === undefined) return [{ attemptId, stop: null }]
      // Whoever asked, the run goes on where it cannot be told what for.
      return readOr(() => [{ attemptId, stop: parseRow('stop', stop) as Stop }], leftOut)
    }),
    strays: rows
      .filter((row) => !known.has(columnKey(bytesAt(row, 1))))
      .flatMap((row) => readOr(() => [strayOf(row)], leftOut)),
  }
}

function strayOf(row: Row) {
  return runOf(nameColumn(bytesAt(row, 2)), textAt(row, 4), textOrNullAt(row, 3))
}

function leftOut(): [] {
  return []
}
