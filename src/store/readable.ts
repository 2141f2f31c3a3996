import type { Aggregate, Definition, JobHeader, Lane, Run, RunState, Stop } from '../ledger/types.js'
import type { Unreadable } from './port.js'
import { fullRun } from './run-text.js'

/**
 * Reading rows that somebody may have spoilt: by hand, by a restore that lost half, by a disk. What is wrong is said in one
 * sentence that names the row and never what it holds, and only the job it belongs to is left alone. These checks see what
 * would mislead the ledger; a schedule that cannot be parsed is found by the ledger itself.
 */
export class UnreadableRow extends Error {
  override readonly name = 'UnreadableRow'
}

/** @throws UnreadableRow where the text is not JSON; `row` names it in the sentence */
export function parseRow(row: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new UnreadableRow(`${row} is not JSON`)
  }
}

/** Gives the header as it is. @throws UnreadableRow where a value cannot be */
export function readHeader(job: string, found: unknown): JobHeader {
  const row = 'its header'
  const header = record(row, found)
  const cursor = record(`${row}'s cursor`, header.cursor)
  const waiting = record(`${row}'s waiting`, header.waiting)
  demand(row, 'job', header.job === job)
  for (const name of ['service', 'name', 'definition'] as const) demand(row, name, isText(header[name]))
  demand(row, 'bucket', isCount(header.bucket) && header.bucket < 256)
  for (const name of ['definitionSeq', 'lastToken', 'position'] as const) demand(row, name, isCount(header[name]))
  demand(row, 'anchor', isInstant(header.anchor))
  demand(row, 'cursor', isInstant(cursor.instant) && isText(cursor.label))
  demand(row, 'wakeAt', header.wakeAt === null || isInstant(header.wakeAt))
  for (const lane of LANES) demand(row, `waiting.${lane}`, isCount(waiting[lane]))
  demand(row, 'turn', isOneOf(LANES, header.turn))
  demand(row, 'retired', typeof header.retired === 'boolean')
  demand(row, 'pause', isRecordOrNull(header.pause))
  demand(row, 'lastFate', isRecordOrNull(header.lastFate))
  return found as JobHeader
}

/** Gives the definition as it is; null: there is none. @throws UnreadableRow where it is missing or a value cannot be */
export function readDefinition(hash: string, found: unknown): Definition {
  const row = `its definition ${hash}`
  if (found === null) throw new UnreadableRow(`${row} is missing`)
  const definition = record(row, found)
  demand(row, 'schedule', isRecordOrNull(definition.schedule))
  demand(row, 'concurrency', isCount(definition.concurrency) && definition.concurrency > 0)
  for (const name of ['queue', 'recover'] as const) demand(row, name, isCount(definition[name]))
  demand(row, 'graceMs', isInstant(definition.graceMs))
  demand(row, 'overlap', isOneOf(OVERLAPS, definition.overlap))
  const catchUp = record(`${row}'s catchUp`, definition.catchUp)
  demand(row, 'catchUp', isOneOf(CATCH_UPS, catchUp.policy) && isCount(catchUp.most))
  const retry = record(`${row}'s retry`, definition.retry)
  demand(row, 'retry', isCount(retry.limit) && isInstant(retry.delayMs))
  return found as Definition
}

/** Gives the run with `stop` as its column says. @throws UnreadableRow where a value cannot be */
export function readRun(found: unknown, stop: Stop | null): Run {
  const row = 'a run'
  const run = fullRun(record(row, found), stop)
  demand(row, 'job', isText(run.job))
  demand(row, 'key', isText(run.key))
  const named = `the run ${String(run.key)}`
  demand(named, 'state', isOneOf(STATES, run.state))
  demand(named, 'lane', isOneOf(LANES, run.lane))
  for (const name of ['token', 'attempt', 'retries', 'recoveries', 'repeats'] as const) {
    demand(named, name, isCount(run[name]))
  }
  for (const name of ['position', 'readyAt', 'scheduledAt', 'createdAt'] as const) {
    demand(named, name, isInstant(run[name]))
  }
  demand(named, 'covers', isRecordOrNull(run.covers))
  demand(named, 'attempts', Array.isArray(run.attempts) && run.attempts.every((attempt) => attempt !== null))
  return run as Run
}

/** Aggregates by job, and the jobs that cannot be read. `read` gives null where there is no such job. */
export function readJobs(
  names: Iterable<string>,
  read: (job: string) => Aggregate | null,
): { readonly jobs: Map<string, Aggregate>; readonly unreadable: readonly Unreadable[] } {
  const jobs = new Map<string, Aggregate>()
  const unreadable: Unreadable[] = []
  for (const job of new Set(names)) {
    const found = readOr(
      () => read(job),
      (why) => void unreadable.push({ job, why }),
    )
    if (found) jobs.set(job, found)
  }
  return { jobs, unreadable }
}

/** What `read` gives, or what `otherwise` makes of why it cannot. */
export function readOr<T, U>(read: () => T, otherwise: (why: string) => U): T | U {
  try {
    return read()
  } catch (error) {
    if (error instanceof UnreadableRow) return otherwise(error.message)
    throw error
  }
}

type Row = Readonly<Record<string, unknown>>

const LANES: readonly Lane[] = ['schedule', 'manual', 'backlog']
const OVERLAPS: readonly Definition['overlap'][] = ['skip', 'wait', 'merge', 'replace']
const CATCH_UPS: readonly Definition['catchUp']['policy'][] = ['merge', 'each', 'skip']
const STATES: readonly RunState[] = ['queued', 'running', 'succeeded', 'failed', 'cancelled', 'skipped', 'missed']

function demand(row: string, field: string, holds: boolean): void {
  if (!holds) throw new UnreadableRow(`${row} has an impossible ${field}`)
}

function record(row: string, value: unknown): Row {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new UnreadableRow(`${row} is not an object`)
  }
  return value as Row
}

function isRecordOrNull(value: unknown): boolean {
  return value === null || (typeof value === 'object' && !Array.isArray(value))
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

function isInstant(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value)
}

function isOneOf(words: readonly string[], value: unknown): boolean {
  return typeof value === 'string' && words.includes(value)
}
