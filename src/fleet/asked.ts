import { FleetcronError } from '../errors.js'
import type { RunsQuery } from '../store/port.js'
import type { RunRef } from './commands.js'
import {
  closest,
  type Duration,
  didYouMean,
  durationMs,
  oneOf,
  optionInvalid,
  refuseUnknown,
  wholeNumber,
} from './option-values.js'

/*
 * What JavaScript may hand to the fleet's methods, which types do not check: a word that nobody knows must not be taken
 * for nothing.
 */

const ASKING = ['by', 'why']

/** What goes with each verb. */
const REQUESTS = {
  poke: ['early', 'at'],
  trigger: ['data', 'key', ...ASKING],
  backfill: ['from', 'to', ...ASKING],
  pause: ['until', ...ASKING],
  resume: ASKING,
  retire: ASKING,
  cancel: ASKING,
  retry: ASKING,
} as const

export type Verb = keyof typeof REQUESTS

/** @throws FleetcronError `OPTION_INVALID` */
export function checkRequest(verb: Verb, request: object | undefined): void {
  if (request !== undefined) refuseUnknown(`${verb}: the request`, request, REQUESTS[verb])
  else if (verb === 'backfill') throw optionInvalid(verb, "say from and to, two Dates: backfill('job', { from, to }).")
}

/** How long a run is waited for, in ms; undefined: until it has ended. */
export function withinOf(request: { readonly within?: Duration }): number | undefined {
  refuseUnknown('finished: the request', request, ['within'])
  return request.within === undefined ? undefined : durationMs('finished: within', request.within, 0)
}

/** @throws FleetcronError `OPTION_INVALID` */
export function checkRun(verb: string, run: RunRef): void {
  const { job, key } = (run ?? {}) as { job?: unknown; key?: unknown }
  if (typeof job === 'string' && typeof key === 'string') return
  throw optionInvalid(
    verb,
    `pass a run, or { job, key }, as in ${verb}({ job: 'daily-invoices', key: '2026-11-29T00:00' }).`,
  )
}

const QUERIES = {
  jobs: ['service'],
  runs: ['job', 'states', 'before', 'limit'],
  history: ['job', 'before', 'limit'],
} as const

/** The longest page of runs or of history. */
const PAGE_MOST = 1_000

const STATES = ['queued', 'running', 'succeeded', 'failed', 'cancelled', 'skipped', 'merged', 'missed'] as const

/** @throws FleetcronError `OPTION_INVALID` */
export function checkQuery(verb: keyof typeof QUERIES, query: object): void {
  const [first] = QUERIES[verb]
  if (typeof query === 'string') throw optionInvalid(verb, `write ${verb}({ ${first}: '${String(query)}' }).`)
  refuseUnknown(`${verb}: the query`, query, QUERIES[verb])
  const { states, limit } = query as Partial<RunsQuery>
  if (limit !== undefined) wholeNumber(`${verb}: limit`, limit, 1, PAGE_MOST)
  if (states === undefined) return
  if (!Array.isArray(states)) throw optionInvalid(`${verb}: states`, "it is a list, such as ['failed', 'cancelled'].")
  for (const state of states) oneOf(`${verb}: states`, state, STATES)
}

/** @throws FleetcronError `OPTION_INVALID` */
export function checkJob(job: unknown): asserts job is string {
  if (typeof job === 'string' && job !== '') return
  throw optionInvalid('job', `name it by a text, such as 'daily-invoices'; '${String(job)}' is none.`)
}

/** Says of a job that nobody knows which of this node's jobs was probably meant. */
export function withHint(error: unknown, job: string, known: Iterable<string>): unknown {
  if (!(error instanceof FleetcronError) || error.code !== 'JOB_UNKNOWN') return error
  const near = closest(job, [...known])
  if (near === undefined || near === job) return error
  return new FleetcronError('JOB_UNKNOWN', `${error.message}${didYouMean(`'${near}'`)}`, { cause: error.cause })
}

export function jobUnknown(job: string): FleetcronError {
  const message = `No node has defined a job '${job}': check the name; a job is known once a node that declares it has started.`
  return new FleetcronError('JOB_UNKNOWN', message)
}

/** @throws FleetcronError `OPTION_INVALID` */
export function instantOf(what: string, date: Date): number {
  const instant = date instanceof Date ? date.getTime() : Number.NaN
  if (Number.isNaN(instant)) throw optionInvalid(what, 'it is not a valid Date.')
  return instant
}
