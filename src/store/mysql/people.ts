import type { Aggregate, LedgerEvent, Run } from '../../ledger/types.js'
import type { EventsQuery, JobsQuery, PruneQuery, RunsQuery } from '../port.js'
import { readOr } from '../readable.js'
import { pruneInstants, REQUEST_KINDS } from '../retention.js'
import { completed, jobsSeen, readSeen } from './aggregates.js'
import type { Ledger } from './ledger.js'
import { columnKey, compareKeys, name, named, nameKey, names, Sql, rows as sqlRows } from './literal.js'
import { EVENTS, EVENTS_OF_JOB, JOBS, RUNS, RUNS_OF_JOB } from './load-statements.js'
import type { Parameters } from './names.js'
import {
  PRUNE_CLOCK,
  PRUNE_DEFINITIONS,
  PRUNE_DEFINITIONS_FIND,
  PRUNE_EVENTS,
  PRUNE_EVENTS_FIND,
  PRUNE_NODES,
  PRUNE_NODES_FIND,
  PRUNE_RETIRED,
  PRUNE_RETIRED_DEFINITIONS,
  PRUNE_RETIRED_FIND,
  PRUNE_RETIRED_LOCK,
  PRUNE_RUNS,
  PRUNE_RUNS_FIND,
} from './people-statements.js'
import { bytesAt, columnKeyAt, eventOf, integerAt, type Row, runOf, textAt, textOrNullAt } from './rows.js'
import type { Rows } from './server.js'
import { aggregatesOn } from './shared-statements.js'

/** After every instant: where the first page begins. */
const LAST = Number.MAX_SAFE_INTEGER

const JOBS_PAGE = aggregatesOn(':page page')

export async function jobs(ledger: Ledger, query: JobsQuery): Promise<readonly Aggregate[]> {
  const { server, fleet } = ledger
  const found: Aggregate[] = []
  let after = nameKey(query.after ?? '')
  for (;;) {
    const limit = query.limit - found.length
    if (limit <= 0) return found
    const about = { fleet: name(fleet), any_service: query.service === undefined, service: name(query.service ?? '') }
    const page = new Sql(server.sql(JOBS, { ...about, after: named(after), limit }))
    const { rows } = await server.read([server.sql(JOBS_PAGE, { ...about, page })])
    const seen = await completed(ledger, jobsSeen(rows[0] ?? []))
    const keys = [...seen.keys()].sort(compareKeys)
    found.push(...readSeen(keys.flatMap((key) => seen.get(key) ?? [])).jobs)
    after = keys.at(-1) ?? after
    // A page that was not full is the last one; what cannot be read is passed over.
    if (keys.length < limit) return found
  }
}

export async function runs(ledger: Ledger, query: RunsQuery): Promise<readonly Run[]> {
  const { server, fleet } = ledger
  const { createdAt, key, job } = query.before ?? { createdAt: LAST, key: '', job: '' }
  const about = {
    fleet: name(fleet),
    job: name(query.job ?? ''),
    any_state: query.states === undefined,
    states: sqlRows([query.states === undefined || query.states.length === 0 ? [null] : [...query.states]]),
  }
  let before: Parameters = { created_at: createdAt, key: name(key), before_job: name(job) }
  const found: Run[] = []
  for (;;) {
    const limit = query.limit - found.length
    if (limit <= 0) return found
    const sql = server.sql(query.job === undefined ? RUNS : RUNS_OF_JOB, { ...about, ...before, limit })
    const page = (await server.read([sql])).rows[0] ?? []
    for (const row of page)
      found.push(
        ...readOr(
          () => [runOfPage(row)],
          () => [],
        ),
      )
    const last = page.at(-1)
    if (last === undefined || page.length < limit) return found
    before = {
      created_at: integerAt(last, 2),
      key: named(columnKeyAt(last, 1)),
      before_job: named(columnKeyAt(last, 0)),
    }
  }
}

function runOfPage(row: Row): Run {
  return runOf(textAt(row, 1), textAt(row, 3), textOrNullAt(row, 4))
}

export async function events({ server, fleet }: Ledger, query: EventsQuery): Promise<readonly LedgerEvent[]> {
  const { at, id } = query.before ?? { at: LAST, id: '' }
  const about = { fleet: name(fleet), job: name(query.job ?? ''), at, id: name(id), limit: query.limit }
  const { rows } = await server.read([server.sql(query.job === undefined ? EVENTS : EVENTS_OF_JOB, about)])
  return (rows[0] ?? []).flatMap((row) =>
    readOr(
      () => [eventOf(textAt(row, 0))],
      () => [],
    ),
  )
}

export async function prune(ledger: Ledger, query: PruneQuery): Promise<number> {
  const { server, fleet } = ledger
  const { rows } = await server.read([PRUNE_CLOCK])
  const { before, requestsBefore, nodesBefore, definitionsBefore } = pruneInstants(
    query.before,
    integerAt(rows[0]?.[0] ?? [], 0),
  )
  const about = {
    fleet: name(fleet),
    before: Math.floor(before),
    requests_before: Math.floor(requestsBefore),
    nodes_before: nodesBefore,
    definitions_before: definitionsBefore,
    kinds: names(REQUEST_KINDS),
  }
  let left = query.limit
  // How to find rows and to remove them; what goes with them, and what is locked before.
  const kinds: readonly (readonly [find: string, remove: string, more?: string, lock?: string])[] = [
    [PRUNE_RUNS_FIND, PRUNE_RUNS],
    [PRUNE_EVENTS_FIND, PRUNE_EVENTS],
    [PRUNE_NODES_FIND, PRUNE_NODES],
    [PRUNE_DEFINITIONS_FIND, PRUNE_DEFINITIONS],
    [PRUNE_RETIRED_FIND, PRUNE_RETIRED, PRUNE_RETIRED_DEFINITIONS, PRUNE_RETIRED_LOCK],
  ]
  for (const [find, remove, more, lock] of kinds) {
    if (left <= 0) break
    const found = (await server.read([server.sql(find, { ...about, limit: left })])).rows[0] ?? []
    if (found.length === 0) continue
    const list = foundRows(found)
    const sent = [lock, remove, more].filter((sql) => sql !== undefined)
    const { affected } = await server.write(sent.map((sql) => server.sql(sql, { ...about, found: list })))
    left -= affected[sent.indexOf(remove)] ?? 0
  }
  return query.limit - left
}

/** In the order of their names, so that two who prune at once do not wait for each other in a circle. */
function foundRows(found: Rows): Sql {
  const keys = found.map((row) => row.map((_, at) => columnKey(bytesAt(row, at))))
  const inOrder = keys.sort((a, b) => compareKeys(a.join(' '), b.join(' ')))
  return sqlRows(inOrder.map((row) => row.map(named)))
}
