import type { Stop } from '../../ledger/types.js'
import type { Beat, BeatReply, SessionRef } from '../port.js'
import { parseRow, readOr } from '../readable.js'
import type { Ledger } from './ledger.js'
import { bucketArguments, inOrder, listArguments, numberOf, runOf, type SummaryRow, summaryOf } from './rows.js'
import { BEAT } from './scripts/beat.js'
import { script } from './server.js'

const SCRIPT = script(BEAT)

/** A beat that takes longer than a third of the lease is as good as none: the next one is due. */
const SHARE_OF_LEASE = 3

type Answer = readonly [
  now: string,
  alive: number,
  incarnation: string,
  writes: number,
  known: number,
  /** Of a run that was sent there is no body; an empty one cannot be read. */
  running: readonly (readonly [attemptId: string, stop: string | null, body: string | null])[],
  nodes: readonly SummaryRow[],
  nextWakeAt: string | null,
  nextOtherWakeAt: string | null,
  nextEndAt: string | null,
]

export async function beat(ledger: Ledger, session: SessionRef, sent: Beat): Promise<BeatReply> {
  const { server, line } = ledger
  const attempts = [...new Set(sent.attempts)]
  const services = [...new Set(sent.services)]
  const args = [
    ...server.history(),
    session.id,
    session.leaseMs,
    sent.room ? '1' : '0',
    sent.end ? '1' : '0',
    ...bucketArguments(sent.buckets),
    ...listArguments(services),
    ...listArguments(attempts),
  ]
  const callMs = Math.min(server.callMs, session.leaseMs / SHARE_OF_LEASE)
  const keys = [`session:${session.id}`, ...services.map((service) => `due:${service}`)]
  const answer = await server.run<Answer>(line.connection, SCRIPT, args, keys, callMs)
  const [now, alive, incarnation, writes, known, running, nodes, next, nextOther, nextEnd] = answer
  server.learn(incarnation, writes)
  const stops = new Map(running.map(([attemptId, stop]) => [attemptId, stop]))
  return {
    now: Number(now),
    alive: alive === 1,
    known: known === 1,
    gone: attempts.flatMap((attemptId) => {
      const stop = stops.get(attemptId)
      return stop === null ? [] : [{ attemptId, stop: stop === undefined ? null : stopOf(stop) }]
    }),
    strays: running.flatMap(([, stop, body]) =>
      readOr(
        () => (body === null ? [] : [runOf(body, stop)]),
        () => [],
      ),
    ),
    nextWakeAt: numberOf(next),
    nextOtherWakeAt: numberOf(nextOther),
    nextEndAt: numberOf(nextEnd),
    nodes: inOrder(nodes).flatMap((row) =>
      readOr(
        () => [summaryOf(row)],
        () => [],
      ),
    ),
    incarnation,
  }
}

function stopOf(text: string): Stop | null {
  return readOr(
    () => parseRow('a stop', text) as Stop,
    () => null,
  )
}
