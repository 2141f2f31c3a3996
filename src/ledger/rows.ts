import { dateOf } from '../schedule/index.js'
import type { Occurrence } from '../schedule/types.js'
import type { Draft } from './draft.js'
import type { Cause, Covers, Lane, Run } from './types.js'

/** A skipped or missed row is extended for half a day at most; stores keep every row for a day (`Store.prune`). */
const EXTEND_MS = 12 * 3_600_000

const LANE_OF: Record<Cause, Lane> = {
  schedule: 'schedule',
  manual: 'manual',
  'catch-up': 'backlog',
  backfill: 'backlog',
}

export interface NewRun {
  readonly key: string
  readonly cause: Cause
  readonly covers: Covers | null
  readonly scheduledAt: number
  readonly date: string
  readonly data?: string | null
  readonly retryOf?: string | null
}

/** Queues a run. The resource its effects are fenced by is fixed here, for as long as the row lives. */
export function queueRun(draft: Draft, input: NewRun): Run {
  draft.header.lastFate = input.covers === null ? draft.header.lastFate : null
  return draft.step(null, 'queue', { ...blank(draft, input), state: 'queued' })
}

/** One run for a stretch of occurrences, named by the first and dated by the newest. */
export function queueOccurrences(draft: Draft, cause: Cause, from: Occurrence, to: Occurrence, count: number): Run {
  return queueRun(draft, {
    key: from.key,
    cause,
    covers: { from: from.key, to: to.key, count },
    scheduledAt: to.instant,
    date: dateOf(to),
  })
}

/** Records occurrences that are not worked on; those that follow with the same fate and reason extend the row. */
export function recordFate(
  draft: Draft,
  state: 'skipped' | 'missed',
  reason: string,
  from: Occurrence,
  to: Occurrence,
  count: number,
): void {
  const last = draft.header.lastFate?.run
  if (last && last.state === state && last.reason === reason && draft.now - last.createdAt < EXTEND_MS) {
    const covers = last.covers ?? { from: last.key, to: last.key, count: 0 }
    const run = draft.step(last, 'extend', {
      ...last,
      covers: { from: covers.from, to: to.key, count: covers.count + count },
      scheduledAt: to.instant,
      date: dateOf(to),
      endedAt: draft.now,
    })
    draft.header.lastFate = { key: run.key, run }
    return
  }
  const row = blank(draft, {
    key: from.key,
    cause: 'schedule',
    covers: { from: from.key, to: to.key, count },
    scheduledAt: to.instant,
    date: dateOf(to),
  })
  const run = draft.step(null, state === 'skipped' ? 'skip' : 'miss', { ...row, state, reason, endedAt: draft.now })
  draft.header.lastFate = { key: run.key, run }
}

function blank(draft: Draft, input: NewRun): Run {
  const { header, definition, ctx } = draft
  const position = header.position
  header.position += 1
  const resource = `${ctx.fleet}/${header.job}`
  return {
    job: header.job,
    key: input.key,
    cause: input.cause,
    lane: LANE_OF[input.cause],
    state: 'queued',
    reason: null,
    covers: input.covers,
    scheduledAt: input.scheduledAt,
    date: input.date,
    since: null,
    resource: definition.concurrency === 1 ? resource : `${resource}/${input.key}`,
    definition: header.definition,
    data: input.data ?? null,
    retryOf: input.retryOf ?? null,
    position,
    place: false,
    readyAt: draft.now,
    attempt: 0,
    attemptId: null,
    session: null,
    token: 0,
    stop: null,
    retries: 0,
    recoveries: 0,
    repeats: 0,
    attempts: [],
    createdAt: draft.now,
    startedAt: null,
    endedAt: null,
    result: null,
    error: null,
  }
}
