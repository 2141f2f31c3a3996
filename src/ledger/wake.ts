import type { Draft } from './draft.js'
import { LANES, type Lane } from './types.js'

/**
 * When the job needs attention next: the earliest of the next occurrence (also while every place is taken), a run that
 * could start now, a retry, and the end of a pause. Ends of sessions are not in it: `Attendance.nextEndAt` tells those.
 * A job that is due already stays due since when it was, so that looking in vain writes nothing.
 */
export function wakeAt(draft: Draft): number | null {
  const instants = draft.header.retired ? remainder(draft) : [...schedulesNext(draft), ...runsNext(draft)]
  if (instants.length === 0) return null
  const earliest = Math.max(draft.now, Math.min(...instants))
  const before = draft.job.header.wakeAt
  return earliest === draft.now && before !== null && before < draft.now ? before : earliest
}

/** Whether runs of a lane may start: a paused job starts what people ask for, and goes on with what it began. */
export function startsNow(draft: Draft, lane: Lane): boolean {
  return draft.header.pause === null || lane === 'manual'
}

function schedulesNext(draft: Draft): number[] {
  const { pause, cursor } = draft.header
  if (pause !== null) return pause.until === null ? [] : [pause.until]
  const next = draft.scheduleInForce()?.next(cursor)
  return next ? [next.instant] : []
}

function runsNext(draft: Draft): number[] {
  const held = draft.held()
  const again = held.flatMap((run) => (run.state === 'queued' ? [run.readyAt] : []))
  if (held.length >= draft.definition.concurrency) return again
  const lanes = LANES.filter((lane) => draft.header.waiting[lane] > 0 && startsNow(draft, lane))
  return [...again, ...lanes.map((lane) => firstReadyAt(draft, lane))]
}

/** At once, unless all that wait, as far as they were loaded, await a poke. */
function firstReadyAt(draft: Draft, lane: Lane): number {
  const waiting = draft.runs().filter((run) => !run.place && run.lane === lane)
  return waiting.length === 0 ? draft.now : Math.min(...waiting.map(({ readyAt }) => readyAt))
}

/** What a retired job still has waiting is cancelled, as much as one attendance loads. */
function remainder(draft: Draft): number[] {
  return LANES.some((lane) => draft.header.waiting[lane] > 0) ? [draft.now] : []
}
