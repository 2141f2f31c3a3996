import type { Aggregate } from '../../ledger/types.js'
import type { Attendance, AttendQuery, SessionRef, Unreadable } from '../port.js'
import { readOr } from '../readable.js'
import type { Ledger } from './ledger.js'
import { type AggregateRow, aggregateOf, bucketArguments, listArguments, numberOf, saidOf } from './rows.js'
import { ATTEND } from './scripts/attend.js'
import { script } from './server.js'

const SCRIPT = script(ATTEND)

type Mark = readonly [kind: 'recovered' | 'due', at: string, name: string]

type Answer = readonly [
  now: string,
  alive: number,
  incarnation: string,
  writes: number,
  jobs?: readonly AggregateRow[],
  ended?: readonly (readonly [session: string, node: string, leaseEnd: string, endedAt: string, returned: number])[],
  after?: Mark | null,
  nextWakeAt?: string | null,
  nextOtherWakeAt?: string | null,
  nextEndAt?: string | null,
]

export async function attend(ledger: Ledger, session: SessionRef, query: AttendQuery): Promise<Attendance> {
  const { server, main } = ledger
  const { hello } = query
  const mark: Mark = query.after === undefined ? ['recovered', '0', ''] : (JSON.parse(query.after) as Mark)
  const services = [...new Set(query.services)]
  const args = [
    ...server.history(),
    session.id,
    session.node,
    session.leaseMs,
    hello ? saidOf(hello) : '',
    hello ? JSON.stringify(hello.manifest) : '',
    query.graceMs,
    query.limit,
    ...bucketArguments(query.buckets),
    ...listArguments(services),
    ...mark,
  ]
  const keys = [`session:${session.id}`, ...services.map((service) => `due:${service}`)]
  const answer = await server.run<Answer>(main, SCRIPT, args, keys)
  const [now, alive, incarnation, writes, rows = [], ended = [], after = null, next, nextOther, nextEnd] = answer
  server.learn(incarnation, writes)
  const jobs: Aggregate[] = []
  const unreadable = readAggregates(rows, (aggregate) => jobs.push(aggregate))
  return {
    now: Number(now),
    alive: alive === 1,
    jobs,
    unreadable,
    ended: new Map(
      ended.map(([id, node, leaseEnd, endedAt, returned]) => [
        id,
        { session: id, node, leaseEnd: Number(leaseEnd), endedAt: Number(endedAt), returned: returned === 1 },
      ]),
    ),
    after: after && JSON.stringify(after),
    nextWakeAt: numberOf(next),
    nextOtherWakeAt: numberOf(nextOther),
    nextEndAt: numberOf(nextEnd),
    incarnation,
  }
}

/** Takes what can be read, and gives what cannot. */
export function readAggregates(
  rows: readonly AggregateRow[],
  take: (aggregate: Aggregate, index: number) => void,
): Unreadable[] {
  const unreadable: Unreadable[] = []
  for (const [index, row] of rows.entries()) {
    const aggregate = readOr(
      () => aggregateOf(row),
      (why) => void unreadable.push({ job: row[0], why }),
    )
    if (aggregate) take(aggregate, index)
  }
  return unreadable
}
