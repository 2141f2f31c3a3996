import type { Change } from '../../ledger/types.js'
import { waitingTotal } from '../guards.js'
import { columns, hasNul, separatorsFor } from './columns.js'
import { RUN_COLUMNS, runColumns, stopColumn } from './rows.js'
import type { Arguments } from './server.js'

/** The rows that one change writes, as the statement takes them. */
export interface ChangeRows {
  readonly change: ReturnType<typeof changeRow>
  readonly runs: readonly ReturnType<typeof runRow>[]
  readonly definitions: readonly ReturnType<typeof definitionRow>[]
  readonly events: readonly ReturnType<typeof eventRow>[]
}

export function rowsOf(change: Change): ChangeRows {
  return {
    change: changeRow(change),
    runs: change.runs.map(runRow),
    definitions: change.definition ? [definitionRow(change.definition)] : [],
    events: change.events.map(eventRow),
  }
}

/** Whether a text that is a column of its own has a NUL in it, which Postgres cannot keep; in JSON it is an escape. */
export function holdsNul({ change, runs, definitions, events }: ChangeRows): boolean {
  return [[change], runs, definitions, events].some(hasNul)
}

/** Changes as the statement takes them: their rows as columns, each with the place of its change in the list, from 1. */
export function changeArguments(all: readonly ChangeRows[]): Arguments {
  const rows = all.map((each) => each.change)
  const runs = all.flatMap((each, index) => each.runs.map((row) => ({ r_change: index + 1, ...row })))
  const definitions = all.flatMap((each, index) => each.definitions.map((row) => ({ d_change: index + 1, ...row })))
  const events = all.flatMap((each, index) => each.events.map((row) => ({ e_change: index + 1, ...row })))
  const words = separatorsFor([rows, runs, definitions, events])
  const fresh = runs.filter((row) => row.r_expect_state === null).length
  return {
    p_sep: words.sep,
    p_null: words.none,
    p_count: rows.length,
    p_new: rows.filter((row) => row.c_expect === null).length,
    p_unsure: rows.filter((row) => row.c_expect === null && row.c_unsure !== null).length,
    p_fresh: fresh,
    p_over: runs.length - fresh,
    ...columns(CHANGE, rows, words),
    ...columns(RUN, runs, words),
    ...columns(DEFINITION, definitions, words),
    ...columns(EVENT, events, words),
  }
}

const CHANGE = [
  'c_id',
  'c_job',
  'c_expect',
  'c_settled',
  'c_service',
  'c_name',
  'c_bucket',
  'c_definition',
  'c_unsure',
  'c_wake_at',
  'c_waiting',
  'c_fate_key',
  'c_failures',
  'c_retired',
  'c_header',
] as const

function changeRow(change: Change) {
  const { header } = change
  return {
    c_id: change.id,
    c_job: change.job,
    c_expect: change.expect.version,
    c_settled: change.expect.settled,
    c_service: header.service,
    c_name: header.name,
    c_bucket: header.bucket,
    c_definition: header.definition,
    // Where the change brings no definition of that hash, one has to be known.
    c_unsure: change.definition?.hash === header.definition ? null : header.definition,
    c_wake_at: header.wakeAt,
    c_waiting: waitingTotal(header),
    c_fate_key: header.lastFate?.key ?? null,
    c_failures: change.failures,
    c_retired: header.retired ? 1 : 0,
    c_header: JSON.stringify(header),
  }
}

const RUN = [
  'r_change',
  'r_key',
  'r_expect_state',
  'r_expect_token',
  'r_cause',
  'r_lane',
  'r_stop',
  'r_created_at',
  ...RUN_COLUMNS,
] as const

function runRow({ run, expect }: Change['runs'][number]) {
  return {
    r_key: run.key,
    r_expect_state: expect?.state ?? null,
    r_expect_token: expect?.token ?? null,
    r_cause: run.cause,
    r_lane: run.lane,
    r_stop: stopColumn(run.stop),
    r_created_at: run.createdAt,
    ...runColumns(run),
  }
}

const DEFINITION = ['d_change', 'd_hash', 'd_seq', 'd_entered_at', 'd_release', 'd_stored', 'd_content'] as const

function definitionRow(definition: NonNullable<Change['definition']>) {
  return {
    d_hash: definition.hash,
    d_seq: definition.seq,
    d_entered_at: definition.enteredAt,
    d_release: definition.release,
    // A schedule kept in the store names the handler that does its work.
    d_stored: definition.content.handler === undefined ? 0 : 1,
    d_content: JSON.stringify(definition.content),
  }
}

const EVENT = ['e_change', 'e_id', 'e_at', 'e_job', 'e_kind', 'e_by', 'e_why', 'e_data'] as const

function eventRow(event: Change['events'][number]) {
  return {
    e_id: event.id,
    e_at: event.at,
    e_job: event.job,
    e_kind: event.kind,
    e_by: event.by,
    e_why: event.why,
    e_data: event.data,
  }
}
