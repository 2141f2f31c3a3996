import { labelToWall } from '../schedule/index.js'
import type { Cursor, Occurrence, Schedule } from '../schedule/types.js'
import { catchUp } from './catch-up.js'
import type { Draft } from './draft.js'
import { recordFate } from './rows.js'
import { behind, dueStretch } from './stretch.js'

/** Occurrences that a row stands for already although they are above the cursor. */
interface Taken {
  readonly from: Occurrence
  /** The cursor behind all that the row stands for. */
  readonly to: Cursor
}

/**
 * A row may exist although its occurrence is above the cursor: of a store that was restored in part, or forgot. A clash
 * shows it, or it was loaded because it is live. Then only what is due before it is decided, as catch-up, and it is passed over:
 * what follows may be taken too, and this way each change gets a step further. The rest is due at once. Returns whether
 * there was such a row.
 */
export function decideUpToTaken(draft: Draft, schedule: Schedule): boolean {
  const taken = earliestTaken(draft, schedule)
  if (taken === null) return false
  const until = taken.from.instant - 1
  const before = dueStretch(draft, schedule, until)
  if (before !== null && draft.header.pause !== null) recordFate(draft, 'missed', 'paused', before)
  else if (before !== null) catchUp(draft, schedule, { until, newest: before.to, fresh: null })
  draft.passOver(schedule, taken.to)
  return true
}

/**
 * Whether something is due still: a cursor that was set back is brought forward a step at a time, so that what changes the
 * terms of a job (define, pause, resume, retire) waits until nothing is due any more, and is asked again.
 */
export function isBehind(draft: Draft): boolean {
  const { schedule, header, now } = draft
  return schedule !== null && !header.retired && dueStretch(draft, schedule, now) !== null
}

function earliestTaken(draft: Draft, schedule: Schedule): Taken | null {
  const { cursor } = draft.header
  const clashed = [...(draft.ctx.taken ?? [])].map((key) => ({ from: key, to: key }))
  const loaded = draft.job.runs.flatMap(({ cause, covers, scheduledAt }) => {
    const isOccurrence = (cause === 'schedule' || cause === 'catch-up') && covers !== null
    return isOccurrence && isAbove(schedule, cursor, covers.to, scheduledAt) ? [covers] : []
  })
  let earliest: Taken | null = null
  for (const keys of [...clashed, ...loaded]) {
    const taken = takenBy(schedule, keys)
    if (taken === null || taken.from.instant > draft.now) continue
    if (!isAbove(schedule, cursor, taken.to.label, taken.to.instant)) continue
    if (earliest === null || taken.from.instant < earliest.from.instant) earliest = taken
  }
  return earliest
}

/**
 * Which of this node's occurrences a row stands for; null: none. A node with other zone data may have made it: what is a label
 * there may be none here, and stands between two that are.
 */
function takenBy(schedule: Schedule, keys: { readonly from: string; readonly to: string }): Taken | null {
  // What is no label is the instant of a schedule of the other kind, or a request's id.
  const isFixed = schedule.kind === 'fixed-time' && isLabel(keys.from) && isLabel(keys.to)
  const first = schedule.occurrence(keys.from)
  const from = first ?? (isFixed ? schedule.next({ instant: 0, label: keys.from }) : null)
  const to = schedule.occurrence(keys.to)
  if (from === null || (first === null && from.label > keys.to)) return null
  if (to !== null) return { from, to: behind(to) }
  return isFixed ? { from, to: { instant: from.instant, label: keys.to } } : null
}

function isLabel(key: string): boolean {
  return labelToWall(key) !== null
}

/** A run's key is a label where its schedule is fixed-time. */
function isAbove(schedule: Schedule, cursor: Cursor, label: string, instant: number): boolean {
  return schedule.kind === 'fixed-time' ? label > cursor.label : instant > cursor.instant
}
