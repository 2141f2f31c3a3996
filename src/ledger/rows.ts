import { dateOf } from '../schedule/index.js'
import type { Occurrence, Schedule } from '../schedule/types.js'
import type { Draft } from './draft.js'
import type { Reason } from './states.js'
import { behind, type Stretch } from './stretch.js'
import type { Cause, Covers, Lane, Run } from './types.js'

/** A skipped or missed row is extended for half a day at most; stores keep every row for a day (`Store.prune`). */
const EXTEND_MS = 12 * 3_600_000

/** Backfills stand behind every catch-up run of their lane: what is years old makes nothing of today late or lost. */
const BACKFILL_POSITION = 2 ** 40

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
  readonly readyAt?: number
  readonly data?: string | null
  readonly retryOf?: string | null
}

/** Queues a run. The resource its effects are fenced by is fixed here, for as long as the row lives. */
export function queueRun(draft: Draft, input: NewRun): Run {
  return draft.step(null, 'queue', blank(draft, input))
}

/** Records a run that has ended already, for which nobody was given a place. */
export function recordRun(draft: Draft, input: NewRun, ended: Partial<Run> & Pick<Run, 'state' | 'endedAt'>): Run {
  return draft.step(null, 'record', { ...blank(draft, input), ...ended })
}

/** One run for a stretch of occurrences, named by the first and dated by the newest. */
export function queueOccurrences(draft: Draft, cause: 'schedule' | 'catch-up', stretch: Stretch): Run {
  draft.header.lastFate = null
  return queueRun(draft, {
    key: stretch.from.key,
    cause,
    readyAt: startsUnpoked(draft, stretch.to),
    ...spanOf(null, stretch),
  })
}

/**
 * When the loop starts a run that nobody has poked: `pokeGrace` after its instant, and no later than half way to the next
 * occurrence, which would find it waiting in its way.
 */
function startsUnpoked(draft: Draft, newest: Occurrence): number {
  const { pokeGraceMs } = draft.definition
  if (pokeGraceMs === undefined) return 0
  const next = draft.schedule?.next(behind(newest))
  const halfWay = next ? Math.floor((next.instant - newest.instant) / 2) : pokeGraceMs
  return newest.instant + Math.min(pokeGraceMs, halfWay)
}

/**
 * Whether the occurrence is the one right after the last that the run covers, by the terms that the run was made under. Where
 * that one reaches further than what is decided, a node with other zone data made the run, and the rest of it comes first.
 */
export function follows(draft: Draft, schedule: Schedule, run: Run, occurrence: Occurrence): boolean {
  if (run.covers === null || run.definition !== draft.header.definition) return false
  const last = schedule.occurrence(run.covers.to)
  if (last === null) return false
  const isWhole = last.through <= draft.header.cursor.label
  return schedule.next(isWhole ? behind(last) : { instant: last.instant, label: last.label })?.key === occurrence.key
}

/** Adds a stretch to a run that has never been granted. Its key stays the first label, for ever. */
export function widen(draft: Draft, run: Run, stretch: Stretch): Run {
  draft.header.lastFate = null
  return draft.step(run, 'absorb', { ...run, ...spanOf(run.covers, stretch) })
}

/** Records occurrences that are not worked on; those that follow with the same fate and reason extend the row. */
export function recordFate<State extends 'skipped' | 'missed'>(
  draft: Draft,
  state: State,
  reason: Reason<State>,
  stretch: Stretch,
): Run {
  const last = draft.header.lastFate?.run
  const isSame = last?.state === state && last.reason === reason && draft.now - last.createdAt < EXTEND_MS
  const run = isSame
    ? draft.step(last, 'extend', { ...last, ...spanOf(last.covers, stretch), endedAt: draft.now })
    : draft.step(null, state === 'skipped' ? 'skip' : 'miss', {
        ...blank(draft, { key: stretch.from.key, cause: 'schedule', ...spanOf(null, stretch) }),
        state,
        reason,
        endedAt: draft.now,
      })
  draft.header.lastFate = { key: run.key, run }
  return run
}

/** What a row says of the occurrences it stands for, when a stretch is added to those it has. */
function spanOf(covers: Covers | null, { from, to, count }: Stretch): Pick<Run, 'covers' | 'scheduledAt' | 'date'> {
  return {
    covers: { from: covers?.from ?? from.key, to: to.key, count: (covers?.count ?? 0) + count },
    scheduledAt: to.instant,
    date: dateOf(to),
  }
}

function blank(draft: Draft, input: NewRun): Run {
  const { header, definition, ctx } = draft
  const place = header.position
  header.position += 1
  const resource = definition.resource ?? `${ctx.fleet}/${header.job}`
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
    position: input.cause === 'backfill' ? place + BACKFILL_POSITION : place,
    place: false,
    readyAt: input.readyAt ?? 0,
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
