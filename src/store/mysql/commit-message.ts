import type { Change } from '../../ledger/types.js'
import type { SessionRef } from '../port.js'
import type { ChangeRows } from './commit-rows.js'
import {
  COMMIT_DEFINITIONS,
  COMMIT_DEMAND_ALIVE,
  COMMIT_DEMAND_CHANGED,
  COMMIT_DEMAND_FOREIGN,
  COMMIT_DEMAND_RUNS,
  COMMIT_DEMAND_UNCHANGED,
  COMMIT_EVENTS,
  COMMIT_IN_TIME,
  COMMIT_JOBS,
  COMMIT_LOCK,
  COMMIT_NEW_JOBS,
  COMMIT_NEW_RUNS,
  COMMIT_RUNS,
} from './commit-statements.js'
import type { Ledger } from './ledger.js'
import { joined, names, type Sql, rows as sqlRows } from './literal.js'
import { sessionParameters } from './sessions.js'

/** A change of a batch, and its place in it. */
export interface Item {
  readonly change: Change
  readonly rows: ChangeRows
  readonly place: number
}

/** The statements that write changes, in the hope that every guard holds. */
export function messageOf(ledger: Ledger, session: SessionRef, deadline: number, items: readonly Item[]): string[] {
  const { server } = ledger
  const all = (part: (rows: ChangeRows) => readonly Sql[]) => items.flatMap((item) => part(item.rows))
  const each = (part: (rows: ChangeRows) => Sql | null) => items.flatMap((item) => part(item.rows) ?? [])
  const runs = all((rows) => rows.runNames)
  const about = {
    ...sessionParameters(ledger, session),
    jobs: jobsOf(items),
    deadline,
    runs: orNone(runs),
  }
  const insert = (sql: string, list: readonly Sql[]) =>
    list.length === 0 ? [] : [server.sql(sql, { rows: joined(list) })]
  const expect = (sql: string, list: readonly Sql[]) =>
    list.length === 0 ? [] : [server.sql(sql, { ...about, expected: joined(list), count: list.length })]
  return [
    server.sql(COMMIT_LOCK, about),
    server.sql(COMMIT_DEMAND_ALIVE, about),
    ...expect(
      COMMIT_DEMAND_UNCHANGED,
      each((rows) => rows.unchanged),
    ),
    ...expect(
      COMMIT_DEMAND_CHANGED,
      each((rows) => rows.changed),
    ),
    ...expect(
      COMMIT_DEMAND_FOREIGN,
      each((rows) => rows.foreign),
    ),
    ...expect(
      COMMIT_DEMAND_RUNS,
      all((rows) => rows.runsExpected),
    ),
    ...insert(
      COMMIT_NEW_JOBS,
      all((each) => (each.isNew ? [each.job] : [])),
    ),
    ...insert(
      COMMIT_JOBS,
      all((each) => (each.isNew ? [] : [each.job])),
    ),
    ...insert(
      COMMIT_NEW_RUNS,
      all((each) => each.freshRuns),
    ),
    ...insert(
      COMMIT_RUNS,
      all((each) => each.runs),
    ),
    ...insert(
      COMMIT_DEFINITIONS,
      all((each) => each.definitions),
    ),
    ...insert(
      COMMIT_EVENTS,
      all((each) => each.events),
    ),
    server.sql(COMMIT_IN_TIME, about),
  ]
}

export function jobsOf(items: readonly Item[]): Sql {
  return names(items.map((item) => item.change.job))
}

/** A list of pairs that IN can take where there is none. */
export function orNone(list: readonly Sql[]): Sql {
  return list.length === 0 ? sqlRows([[null, null]]) : joined(list)
}
