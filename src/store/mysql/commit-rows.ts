import type { Change, RunWrite } from '../../ledger/types.js'
import { waitingTotal } from '../guards.js'
import { json, name, nameOrNull, rows, type Sql, type Value } from './literal.js'
import { RUN_COLUMNS, runColumns, stopColumn } from './rows.js'

/** The rows that one change writes, as parts of statements: made once, however often they are sent. */
export interface ChangeRows {
  readonly isNew: boolean
  readonly job: Sql
  /** The job with its version as read, and the definition that the change leaves in force. */
  readonly unchanged: Sql | null
  /** The job with its version as read, where the change brings the definition itself, or that is known to be there. */
  readonly changed: Sql | null
  /** A new job's definition, where the change does not bring it. */
  readonly foreign: Sql | null
  readonly freshRuns: readonly Sql[]
  readonly runs: readonly Sql[]
  readonly runNames: readonly Sql[]
  readonly runsExpected: readonly Sql[]
  readonly definitions: readonly Sql[]
  readonly events: readonly Sql[]
  readonly bytes: number
}

/** @throws DataError where a value cannot be kept; `isKnown`: the definition in force was looked up */
export function rowsOf(fleet: Sql, change: Change, isKnown = false): ChangeRows {
  const job = name(change.job)
  const row = (...values: readonly (Value | Sql)[]) => rows([[fleet, job, ...values]])
  const pair = (...values: readonly (Value | Sql)[]) => rows([[job, ...values]])
  const { version } = change.expect
  const isFresh = ({ expect }: RunWrite) => expect === null
  const fresh = change.runs.filter(isFresh)
  const over = change.runs.filter((write) => !isFresh(write))
  const definition = name(change.header.definition)
  const brings = isKnown || change.definition?.hash === change.header.definition
  const made = {
    isNew: version === null,
    job: jobRow(fleet, job, change),
    unchanged: version === null || brings ? null : pair(version, definition),
    changed: version !== null && brings ? pair(version) : null,
    foreign: version === null && !brings ? pair(definition) : null,
    freshRuns: fresh.map((write) => runRow(row, write)),
    runs: over.map((write) => runRow(row, write)),
    runNames: over.map(({ run }) => pair(name(run.key))),
    runsExpected: over.map(({ run, expect }) => pair(name(run.key), expect?.state ?? '', expect?.token ?? 0)),
    definitions: change.definition ? [definitionRow(row, change.definition)] : [],
    events: change.events.map((event) =>
      rows([[fleet, name(event.id), event.at, name(event.job), event.kind, json(event)]]),
    ),
  }
  const parts = [made.job, ...made.freshRuns, ...made.runs, ...made.definitions, ...made.events]
  return { ...made, bytes: parts.reduce((sum, { text }) => sum + text.length, 1_000) }
}

/** The columns that settlements write carry what the change says of them; see COMMIT_JOBS. */
function jobRow(fleet: Sql, job: Sql, change: Change): Sql {
  const { header, expect } = change
  const isNew = expect.version === null
  const failures = { keep: isNew ? 0 : -1, count: isNew ? 1 : -2, reset: 0 }[change.failures]
  return rows([
    [
      fleet,
      job,
      name(header.service),
      header.bucket,
      change.id,
      name(header.definition),
      header.wakeAt,
      waitingTotal(header),
      nameOrNull(header.lastFate?.key ?? null),
      header.retired,
      isNew ? 0 : expect.settled,
      failures,
      null,
      0,
      json(header),
    ],
  ])
}

type Row = (...values: readonly (Value | Sql)[]) => Sql

function runRow(row: Row, { run }: RunWrite): Sql {
  const columns = runColumns(run)
  const first = [name(run.key), run.cause, run.lane, stopColumn(run.stop), run.createdAt]
  return row(...first, ...RUN_COLUMNS.map((column) => columns[column]))
}

function definitionRow(row: Row, definition: NonNullable<Change['definition']>): Sql {
  const { hash, seq, enteredAt, content } = definition
  return row(name(hash), seq, enteredAt, content.handler !== undefined, json(definition))
}
