import type { Occurrence, Schedule } from '../schedule/types.js'
import type { Draft } from './draft.js'
import { follows, queueOccurrences, recordFate, widen } from './rows.js'
import type { Reason } from './states.js'
import { askToStop } from './stop.js'
import type { Run } from './types.js'

/**
 * Overlap: what becomes of a fresh occurrence. The job's policy decides where fresh runs hold or await every place.
 * Otherwise it is queued: for a place that is open, or behind the manual, backfill and catch-up runs that are in its way,
 * because of which it is never skipped, merged or replaced.
 */
export function placeFresh(draft: Draft, schedule: Schedule, fresh: Occurrence): void {
  const before = draft.held().filter(isFresh).length + draft.header.waiting.schedule
  const policy = before < draft.definition.concurrency ? 'none' : draft.definition.overlap
  POLICIES[policy](draft, schedule, fresh)
}

const REPLACED: Reason<'skipped'> = 'replaced'

const POLICIES = {
  none(draft: Draft, _schedule: Schedule, fresh: Occurrence): void {
    queueOccurrences(draft, 'schedule', only(fresh))
  },

  skip(draft: Draft, _schedule: Schedule, fresh: Occurrence): void {
    recordFate(draft, 'skipped', 'overlap', only(fresh))
  },

  wait(draft: Draft, _schedule: Schedule, fresh: Occurrence): void {
    if (draft.header.waiting.schedule < draft.definition.queue) queueOccurrences(draft, 'schedule', only(fresh))
    else recordFate(draft, 'skipped', 'queue-full', only(fresh))
  },

  merge(draft: Draft, schedule: Schedule, fresh: Occurrence): void {
    const last = draft.waiting('schedule').at(-1)
    if (last !== undefined && follows(draft, schedule, last, fresh)) widen(draft, last, only(fresh))
    else POLICIES.wait(draft, schedule, fresh)
  },

  /** The newest ones have the places: the oldest fresh runs give way, whether they run, await a retry or wait. */
  replace(draft: Draft, _schedule: Schedule, fresh: Occurrence): void {
    const others = [...draft.held().filter((run) => isFresh(run) && run.stop === null), ...draft.waiting('schedule')]
    const tooMany = Math.max(0, others.length + 1 - draft.definition.concurrency)
    const why = `replaced by ${fresh.key}`
    for (const run of others.slice(0, tooMany)) {
      if (run.place) askToStop(draft, run, { kind: 'replace', at: draft.now, by: 'fleetcron', why })
      else draft.step(run, 'replace', { ...run, state: 'skipped', reason: REPLACED, endedAt: draft.now })
    }
    queueOccurrences(draft, 'schedule', only(fresh))
  },
} as const

function isFresh(run: Run): boolean {
  return run.cause === 'schedule'
}

function only(fresh: Occurrence): { from: Occurrence; to: Occurrence; count: number } {
  return { from: fresh, to: fresh, count: 1 }
}
