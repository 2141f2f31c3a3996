import type { EndedSession } from '../../ledger/types.js'
import type { Attendance, AttendQuery, SessionRef } from '../port.js'
import { completed, jobsSeen, readSeen, type Seen, wholeByKey } from './aggregates.js'
import {
  ATTEND_BEGIN,
  ATTEND_DUE,
  ATTEND_ENDED,
  ATTEND_HELLO,
  ATTEND_MARK,
  ATTEND_OVERDUE,
  ATTEND_RECOVER,
  ATTEND_RENEW,
  DUE,
  DUE_OF_ALL,
} from './attend-statements.js'
import type { Ledger } from './ledger.js'
import { columnKey, compareKeys, name, named, nameKey, names, Sql } from './literal.js'
import { bytesAt, integerAt, numberAt, textAt } from './rows.js'
import type { Rows } from './server.js'
import {
  ANY_TIME,
  helloParameters,
  maskOf,
  type Self,
  selfOf,
  sessionParameters,
  waitParts,
  waitsOf,
} from './sessions.js'
import { CLOCK, SELF } from './shared-statements.js'

/**
 * Renewing and looking are one message. Only where something is out of the ordinary others follow: a session to begin,
 * sessions to mark as ended, jobs to recover, runs that wait.
 */
export async function attend(ledger: Ledger, session: SessionRef, query: AttendQuery): Promise<Attendance> {
  const mark: Mark = query.after === undefined ? { recovered: '' } : (JSON.parse(query.after) as Mark)
  const { rows, self } = await look(ledger, session, query, mark)
  const incarnation = ledger.identity.of(self.word)
  if (!self.alive) return { ...NOTHING, now: self.now, incarnation }
  const ended = endedOf(rows)
  const { shown, after } = await page(ledger, query, mark, jobsSeen(rows), ended.size > 0)
  const { jobs, unreadable } = readSeen(shown)
  const sessions = new Set(
    jobs.flatMap(({ runs }) => runs.flatMap((run) => (run.state === 'running' ? run.session : []))),
  )
  return {
    now: self.now,
    alive: true,
    jobs,
    unreadable,
    ended: new Map(
      [...sessions].flatMap((id) => {
        const found = id === null ? undefined : ended.get(nameKey(id))
        return found ? [[found.session, found] as const] : []
      }),
    ),
    after,
    ...waitsOf(rows),
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

/** Where a page ended: jobs to recover come first, by name; then jobs due, by instant and name. Names go by their keys. */
type Mark = { readonly recovered: string } | { readonly due: readonly [at: number, job: string] }

/** Renews and looks; again after what has to be written first. */
async function look(
  ledger: Ledger,
  session: SessionRef,
  query: AttendQuery,
  mark: Mark,
): Promise<{ rows: Rows; self: Self }> {
  const { server } = ledger
  const { hello } = query
  const about = { ...sessionParameters(ledger, session), ...(hello && helloParameters(session, hello)) }
  const reading = lookSql(ledger, session, query, mark)
  let writing = [server.sql(hello ? ATTEND_HELLO : ATTEND_RENEW, about)]
  for (;;) {
    const rows = await server.writeThenRead(writing, reading)
    const self = selfOf(rows)
    const overdue = rows.filter((row) => textAt(row, 0) === 'x').map((row) => named(columnKey(bytesAt(row, 1))))
    if (overdue.length > 0) writing = overdue.map((each) => server.sql(ATTEND_MARK, { ...about, session: each }))
    else if (hello && !self.known) writing = [server.sql(ATTEND_BEGIN, about)]
    else return { rows, self }
  }
}

function lookSql(ledger: Ledger, session: SessionRef, query: AttendQuery, mark: Mark): string {
  const { server } = ledger
  const about = sessionParameters(ledger, session)
  const mask = maskOf(query.buckets)
  const { services } = query
  const othersAfter = new Sql(`${CLOCK} - ${Math.ceil(query.graceMs)}`)
  const [afterAt, afterJob] = 'due' in mark ? mark.due : [ANY_TIME, '']
  const dueOf = (service: string) =>
    server.sql(DUE, {
      ...about,
      service: name(service),
      after_at: afterAt,
      after_job: named(afterJob),
      grace: Math.ceil(query.graceMs),
      mine: mask,
      wanted: query.limit + 1,
    })
  const parts = [...new Set(services)].map(dueOf)
  const [first] = parts
  const due =
    parts.length > 1
      ? server.sql(DUE_OF_ALL, { parts: new Sql(parts.join(' UNION ALL ')), wanted: query.limit + 1 })
      : first
  return [
    server.sql(SELF, about),
    server.sql(ATTEND_OVERDUE, about),
    waitParts(ledger, session, { services, mask, after: new Sql(CLOCK), othersAfter }),
    server.sql(ATTEND_ENDED, about),
    due === undefined ? '' : server.sql(ATTEND_DUE, { ...about, page: new Sql(due) }),
  ].join('')
}

/** The page: jobs to recover, then jobs due, no more than asked for; and where it ended if there is more. */
async function page(
  ledger: Ledger,
  query: AttendQuery,
  mark: Mark,
  due: ReadonlyMap<string, Seen>,
  anyEnded: boolean,
): Promise<{ shown: Seen[]; after: string | null }> {
  const wanted = query.limit + 1
  const lost = 'recovered' in mark && anyEnded ? await toRecover(ledger, query, mark.recovered, wanted) : []
  const marks = new Map<string, Mark>(lost.map((key) => [key, { recovered: key }]))
  const inOrder = [...due].sort(([a, { at: x }], [b, { at: y }]) => (x ?? 0) - (y ?? 0) || compareKeys(a, b))
  for (const [key, { at }] of inOrder) {
    if (marks.size < wanted && !marks.has(key)) marks.set(key, { due: [at ?? 0, key] })
  }
  const keys = [...marks.keys()].slice(0, query.limit)
  const whole = await completed(ledger, new Map([...due].filter(([key]) => keys.includes(key))))
  const others = await wholeByKey(
    ledger,
    lost.filter((key) => !due.has(key) && keys.includes(key)),
  )
  const last = keys.at(-1)
  return {
    shown: keys.flatMap((key) => whole.get(key) ?? others.get(key) ?? []),
    after: marks.size > query.limit && last !== undefined ? JSON.stringify(marks.get(last)) : null,
  }
}

/** Jobs with runs of ended sessions, by the keys of their names. */
async function toRecover(ledger: Ledger, query: AttendQuery, after: string, wanted: number): Promise<string[]> {
  const { server, fleet } = ledger
  const about = { fleet: name(fleet), recovered: named(after), services: names(query.services), wanted }
  const { rows } = await server.read([server.sql(ATTEND_RECOVER, about)])
  return (rows[0] ?? []).map((row) => columnKey(bytesAt(row, 0)))
}

/** Ended sessions that hold runs, by the keys of their names. */
function endedOf(rows: Rows): ReadonlyMap<string, EndedSession> {
  return new Map(
    rows
      .filter((row) => textAt(row, 0) === 'g')
      .map((row) => {
        const { session, node } = JSON.parse(textAt(row, 2)) as { session: string; node: string }
        const [leaseEnd, endedAt, returned] = [integerAt(row, 3), integerAt(row, 4), numberAt(row, 5) !== null]
        return [columnKey(bytesAt(row, 1)), { session, node, leaseEnd, endedAt, returned }]
      }),
  )
}
