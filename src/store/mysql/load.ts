import type { Aggregate, Run, StoredDefinition } from '../../ledger/types.js'
import type { Loaded, LoadQuery, Unreadable } from '../port.js'
import { readOr } from '../readable.js'
import { SEEN_MS } from '../retention.js'
import { completed, jobsSeen, readSeen, runOfRow } from './aggregates.js'
import type { Ledger } from './ledger.js'
import { columnKey, name, nameColumn, nameKey, names, rows as sqlRows } from './literal.js'
import {
  LOAD_ATTEMPTS,
  LOAD_CLOCK,
  LOAD_DEFINITIONS,
  LOAD_EVENTS,
  LOAD_GATE,
  LOAD_KEYS,
  LOAD_NODES,
} from './load-statements.js'
import { bytesAt, definitionOf, eventOf, integerAt, nodeOf, type Row, textAt } from './rows.js'
import type { Rows } from './server.js'
import { AGGREGATES } from './shared-statements.js'

export async function load(ledger: Ledger, query: LoadQuery): Promise<Loaded> {
  const { server } = ledger
  const { rows } = await server.read(statements(ledger, query))
  const found = rows.at(-1) ?? []
  const part = (letter: string) => found.filter((row) => textAt(row, 0) === letter)
  const asked = [...new Set(query.jobs ?? [])]
  const seen = await completed(ledger, jobsSeen(found))
  const { jobs, unreadable } = readSeen(asked.flatMap((job) => inFull(job, seen.get(nameKey(job)))))
  const runs = runsOf(part('R'))
  const known = definitionsOf(jobs, part('D'))
  const bad = new Map([...runs.unreadable, ...unreadable, ...known.unreadable].map((each) => [each.job, each]))
  return {
    now: integerAt(part('n')[0] ?? [], 1),
    jobs: new Map(
      jobs.filter(({ header: { job } }) => known.definitions.has(job)).map((each) => [each.header.job, each]),
    ),
    definitions: known.definitions,
    runs: runs.runs,
    unreadable: [...bad.values()],
    events: part('E').map((row) => eventOf(textAt(row, 1))),
    nodes: part('N')
      .sort((a, b) => integerAt(a, 1) - integerAt(b, 1))
      .flatMap((row) =>
        readOr(
          () => [nodeOf(row, 2)],
          () => [],
        ),
      ),
  }
}

/** The name by which it was asked for is the name in full. */
function inFull<T extends { readonly job: string }>(job: string, seen: T | undefined): T[] {
  return seen ? [{ ...seen, job }] : []
}

function statements({ server, fleet }: Ledger, query: LoadQuery): string[] {
  const { jobs = [], attempts = [], keys = [], requests = [], nodes = false } = query
  const about = {
    fleet: name(fleet),
    jobs: names(jobs),
    attempts: names(attempts),
    ids: names(requests),
    seen: SEEN_MS,
  }
  const pairs = sqlRows(keys.map(({ job, key }) => [name(job), name(key)]))
  const read = [
    server.sql(LOAD_CLOCK, about),
    ...(jobs.length > 0 ? [` UNION ALL ${server.sql(AGGREGATES, about)}`, server.sql(LOAD_DEFINITIONS, about)] : []),
    ...(attempts.length > 0 ? [server.sql(LOAD_ATTEMPTS, about)] : []),
    ...(keys.length > 0 ? [server.sql(LOAD_KEYS, { ...about, pairs })] : []),
    ...(requests.length > 0 ? [server.sql(LOAD_EVENTS, about)] : []),
    ...(nodes ? [server.sql(LOAD_NODES, about)] : []),
  ].join('')
  return attempts.length > 0 ? [server.sql(LOAD_GATE, about), read] : [read]
}

/** Each run once, though it may have been asked for by attempt and by key. */
function runsOf(rows: readonly Row[]): { runs: Run[]; unreadable: Unreadable[] } {
  const runs = new Map<string, Run>()
  const unreadable: Unreadable[] = []
  for (const row of rows) {
    readOr(
      () => void runs.set(`${columnKey(bytesAt(row, 1))} ${columnKey(bytesAt(row, 2))}`, runOfRow(row)),
      (why) => void unreadable.push({ job: nameColumn(bytesAt(row, 1)), why }),
    )
  }
  return { runs: [...runs.values()], unreadable }
}

/** Of each job, in order of entry. */
function definitionsOf(jobs: readonly Aggregate[], rows: Rows) {
  const byJob = new Map<string, Row[]>()
  for (const row of rows.toSorted((a, b) => integerAt(a, 3) - integerAt(b, 3))) {
    const key = columnKey(bytesAt(row, 1))
    byJob.set(key, [...(byJob.get(key) ?? []), row])
  }
  const definitions = new Map<string, readonly StoredDefinition[]>()
  const unreadable: Unreadable[] = []
  for (const { job } of jobs.map(({ header }) => header)) {
    const own = byJob.get(nameKey(job)) ?? []
    readOr(
      () =>
        void definitions.set(
          job,
          own.map((row) => definitionOf(nameColumn(bytesAt(row, 2)), textAt(row, 4))),
        ),
      (why) => void unreadable.push({ job, why }),
    )
  }
  return { definitions, unreadable }
}
