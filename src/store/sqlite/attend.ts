import type { Aggregate, EndedSession } from '../../ledger/types.js'
import type { Attendance, AttendQuery, SessionRef } from '../port.js'
import { readJobs } from '../readable.js'
import type { Ledger } from './ledger.js'
import { loadJob } from './load.js'
import { ANY_TIME, begin, maskOf, nextEnd, nextWakes, renew, sessionState } from './sessions.js'
import { ATTEND_DUE, ATTEND_ENDED, ATTEND_MARK, ATTEND_RECOVER } from './statements.js'

export function attend(ledger: Ledger, session: SessionRef, query: AttendQuery, now: number): Attendance {
  const { connection, fleet, incarnation } = ledger
  const { services, hello, graceMs } = query
  connection.run(ATTEND_MARK, { fleet, now })
  const before = sessionState(ledger, session.id, now)
  if (hello && !before.known) begin(ledger, session, hello, now)
  else if (before.alive) renew(ledger, session, hello, now)
  else return { ...NOTHING, now, incarnation }
  const mask = maskOf(query.buckets)
  const { names, after } = page(ledger, query, mask, now)
  const found = readJobs(names, (job) => loadJob(ledger, job))
  const jobs = [...found.jobs.values()]
  return {
    now,
    alive: true,
    jobs,
    unreadable: found.unreadable,
    ended: endedOf(ledger, jobs),
    after,
    ...nextWakes(ledger, { services, mask, after: now, othersAfter: now - graceMs }),
    nextEndAt: nextEnd(ledger, session.id),
    incarnation,
  }
}

const NOTHING = {
  alive: false,
  jobs: [],
  unreadable: [],
  ended: new Map(),
  after: null,
  nextWakeAt: null,
  nextOtherWakeAt: null,
  nextEndAt: null,
} as const

/** Where a page ended: jobs to recover come first, by name; then jobs due, by instant and name. */
type Mark = { readonly recovered: string } | { readonly due: readonly [at: number, job: string] }

function page(
  ledger: Ledger,
  query: AttendQuery,
  mask: string,
  now: number,
): { names: string[]; after: string | null } {
  const mark = query.after === undefined ? { recovered: '' } : (JSON.parse(query.after) as Mark)
  const wanted = query.limit + 1
  const found = new Map<string, Mark>()
  if ('recovered' in mark) {
    for (const job of toRecover(ledger, query.services, mark.recovered, wanted)) found.set(job, { recovered: job })
  }
  if (found.size < wanted) {
    const from = 'due' in mark ? mark.due : ([ANY_TIME, ''] as const)
    for (const [at, job] of due(ledger, { query, mask, from, limit: wanted }, now)) {
      if (found.size < wanted && !found.has(job)) found.set(job, { due: [at, job] })
    }
  }
  const shown = [...found].slice(0, query.limit)
  const last = shown.at(-1)
  return {
    names: shown.map(([job]) => job),
    after: found.size > query.limit && last ? JSON.stringify(last[1]) : null,
  }
}

function toRecover(ledger: Ledger, services: readonly string[], after: string, limit: number): string[] {
  const { connection, fleet } = ledger
  const parameters = { fleet, services: JSON.stringify(services), after, limit }
  return connection.all<{ job: string }>(ATTEND_RECOVER, parameters).map((row) => row.job)
}

interface DueQuery {
  readonly query: AttendQuery
  readonly mask: string
  readonly from: readonly [at: number, job: string]
  readonly limit: number
}

function due(ledger: Ledger, search: DueQuery, now: number): readonly (readonly [at: number, job: string])[] {
  const { connection, fleet } = ledger
  const { query, mask, from, limit } = search
  const others_until = now - query.graceMs
  const [after_at, after_job] = from
  const found = [...new Set(query.services)].flatMap((service) =>
    connection
      .all<{ job: string; wake_at: number }>(ATTEND_DUE, {
        fleet,
        service,
        now,
        others_until,
        mine: mask,
        after_at,
        after_job,
        limit,
      })
      .map((row) => [row.wake_at, row.job] as const),
  )
  return found.sort((a, b) => a[0] - b[0] || compareBytes(a[1], b[1])).slice(0, limit)
}

/** The order of SQLite: a page that ends at a name must not pass over a name that JavaScript would put elsewhere. */
function compareBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}

function endedOf(ledger: Ledger, jobs: readonly Aggregate[]): ReadonlyMap<string, EndedSession> {
  const { connection, fleet } = ledger
  const running = jobs.flatMap((job) => job.runs).filter((run) => run.state === 'running')
  const found = new Map<string, EndedSession>()
  for (const session of new Set(running.flatMap((run) => run.session ?? []))) {
    const row = connection.get<EndedColumns>(ATTEND_ENDED, { fleet, session })
    if (!row) continue
    const { node, lease_end, ended_at, returned } = row
    found.set(session, { session, node, leaseEnd: lease_end, endedAt: ended_at, returned: returned === 1 })
  }
  return found
}

interface EndedColumns {
  readonly node: string
  readonly lease_end: number
  readonly ended_at: number
  readonly returned: number
}
