import type { EndedSession } from '../../ledger/types.js'
import type { Attendance, AttendQuery, SessionRef } from '../port.js'
import { carefully } from './careful.js'
import type { Ledger } from './ledger.js'
import { type AggregateRow, aggregatesOf } from './rows.js'
import { bucketArguments, helloArgument } from './sessions.js'

interface Answer extends Omit<Attendance, 'jobs' | 'unreadable' | 'ended' | 'after'> {
  readonly jobs?: readonly AggregateRow[]
  readonly ended?: readonly EndedSession[]
  readonly after?: Mark | null
}

/** Where a page ended: jobs to recover come first, by name; then jobs due, by instant and name. */
type Mark = { readonly recovered: string } | { readonly due: readonly [at: number, job: string] }

export function attend(ledger: Ledger, session: SessionRef, query: AttendQuery): Promise<Attendance> {
  const mark: Mark = query.after === undefined ? { recovered: '' } : (JSON.parse(query.after) as Mark)
  const args = {
    p_fleet: ledger.fleet,
    p_session: session.id,
    p_node: session.node,
    p_lease: session.leaseMs,
    p_hello: helloArgument(query.hello),
    p_services: JSON.stringify([...new Set(query.services)]),
    ...bucketArguments(query.buckets),
    p_grace: query.graceMs,
    p_limit: query.limit,
    p_recovered: 'recovered' in mark ? mark.recovered : '',
    p_due_at: 'due' in mark ? mark.due[0] : null,
    p_due_job: 'due' in mark ? mark.due[1] : '',
  }
  return carefully(async (isCareful) =>
    attendanceOf(await ledger.server.call<Answer>('attend', { ...args, p_careful: isCareful }), isCareful),
  )
}

function attendanceOf(answer: Answer, isCareful: boolean): Attendance {
  const { now, alive, jobs = [], ended = [], after = null, incarnation } = answer
  return {
    now,
    alive,
    ...aggregatesOf(jobs, isCareful),
    ended: new Map(ended.map((each) => [each.session, each])),
    after: after && JSON.stringify(after),
    nextWakeAt: answer.nextWakeAt ?? null,
    nextOtherWakeAt: answer.nextOtherWakeAt ?? null,
    nextEndAt: answer.nextEndAt ?? null,
    incarnation,
  }
}
