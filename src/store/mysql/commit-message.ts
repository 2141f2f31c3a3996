import type { Change } from '../../ledger/types.js'
import type { SessionRef } from '../port.js'
import type { ChangeRows } from './commit-rows.js'
import {
  COMMIT_DEFINITIONS,
  COMMIT_DEMAND,
  COMMIT_DEMAND_RUNS,
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
  const { calls } = ledger
  const all = (part: (rows: ChangeRows) => readonly Sql[]) => items.flatMap((item) => part(item.rows))
  const versions = all(({ version }) => (version ? [version] : []))
  const kept = all((each) => (each.kept ? [each.kept] : []))
  const runs = all((each) => each.runNames)
  const about = {
    ...sessionParameters(ledger, session),
    jobs: jobsOf(items),
    deadline,
  }
  const insert = (sql: string, list: readonly Sql[]) =>
    list.length === 0 ? [] : [calls.sql(sql, { rows: joined(list) })]
  return [
    calls.sql(COMMIT_LOCK, about),
    calls.sql(COMMIT_DEMAND, {
      ...about,
      expected: orNone(versions),
      existing: versions.length,
      kept: orNone(kept),
      keeping: kept.length,
    }),
    ...(runs.length === 0
      ? []
      : [
          calls.sql(COMMIT_DEMAND_RUNS, {
            ...about,
            runs: joined(runs),
            expected: joined(all((each) => each.runsExpected)),
            count: runs.length,
          }),
        ]),
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
    calls.sql(COMMIT_IN_TIME, about),
  ]
}

export function jobsOf(items: readonly Item[]): Sql {
  return names(items.map((item) => item.change.job))
}

/** A list of pairs that IN can take where there is none. */
export function orNone(list: readonly Sql[]): Sql {
  return list.length === 0 ? sqlRows([[null, null]]) : joined(list)
}
