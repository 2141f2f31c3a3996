import type { Occurrence, Schedule } from '../schedule/types.js'
import { follows, widen } from './catch-up.js'
import type { Draft } from './draft.js'
import { queueOccurrences, recordFate } from './rows.js'

/**
 * Overlap: what becomes of a fresh occurrence. It is queued where a place is open for it. Where fresh runs hold or await
 * every place the job's policy decides. Where manual, backfill or catch-up runs are in its way it waits: it is never
 * skipped, merged or replaced because of them.
 */
export function placeFresh(draft: Draft, schedule: Schedule, fresh: Occurrence): void {
  if (draft.isTaken(fresh.key)) return
  const held = draft.held()
  const waiting = draft.header.waiting.schedule
  const open = draft.definition.concurrency - held.length - waiting
  const onlyFresh = held.every((run) => run.cause === 'schedule')
  if (open > 0 || (!onlyFresh && waiting === 0)) {
    queueOccurrences(draft, 'schedule', fresh, fresh, 1)
    return
  }
  POLICIES[draft.definition.overlap](draft, schedule, fresh)
}

const POLICIES = {
  skip(draft: Draft, _schedule: Schedule, fresh: Occurrence): void {
    recordFate(draft, 'skipped', 'overlap', fresh, fresh, 1)
  },

  wait(draft: Draft, _schedule: Schedule, fresh: Occurrence): void {
    if (draft.header.waiting.schedule < draft.definition.queue) queueOccurrences(draft, 'schedule', fresh, fresh, 1)
    else recordFate(draft, 'skipped', 'queue-full', fresh, fresh, 1)
  },

  merge(draft: Draft, schedule: Schedule, fresh: Occurrence): void {
    const last = draft.waiting('schedule').at(-1)
    if (last && draft.header.waiting.schedule === draft.waiting('schedule').length && follows(schedule, last, fresh)) {
      widen(draft, last, { from: fresh, to: fresh, count: 1 })
    } else {
      POLICIES.wait(draft, schedule, fresh)
    }
  },

  /** Asks running ones to stop, lets go of waiting ones, and waits for the place. */
  replace(draft: Draft, _schedule: Schedule, fresh: Occurrence): void {
    for (const run of draft.waiting('schedule')) {
      draft.step(run, 'replace', { ...run, state: 'skipped', reason: 'replaced', endedAt: draft.now })
    }
    for (const run of draft.held().filter((one) => one.cause === 'schedule' && one.stop === null)) {
      const stop = { kind: 'replace', at: draft.now, by: 'fleetcron', why: `replaced by ${fresh.key}` } as const
      if (run.state === 'running') draft.step(run, 'ask-to-stop', { ...run, stop })
      else
        draft.step(run, 'cancel', {
          ...run,
          state: 'cancelled',
          reason: 'replaced',
          stop,
          place: false,
          endedAt: draft.now,
        })
    }
    queueOccurrences(draft, 'schedule', fresh, fresh, 1)
  },
} as const
