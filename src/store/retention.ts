import type { LedgerEvent } from '../ledger/types.js'

/** What `Store.prune` leaves in place, and what lists of nodes show; the same on every store. */

const DAY_MS = 24 * 60 * 60 * 1000

/** Nothing younger goes: a skipped or missed row may be extended until it is half a day old. */
export const KEPT_MS = DAY_MS

/** Runs and events that somebody asked for stay at least so long: until then a resend is recognised by its row. */
export const KEPT_REQUEST_MS = 7 * DAY_MS

/** Sessions go when they were last seen so long ago: which definition holds depends on who carried it of late. */
export const KEPT_NODE_MS = DAY_MS

/** So many definitions of a job stay whatever their age, so that what an old node carries is known to be old. */
export const KEPT_DEFINITIONS = 100

/** Later definitions count against one once they were entered so long ago. */
export const KEPT_DEFINITION_MS = 7 * DAY_MS

/** Beats and loads list the nodes seen within this time. */
export const SEEN_MS = 90_000

/** Events whose id is a request's. */
export const REQUEST_KINDS: ReadonlySet<LedgerEvent['kind']> = new Set([
  'paused',
  'resumed',
  'retired',
  'cancelled',
  'triggered',
  'backfilled',
  'retried',
])

/** The instants before which each kind of row goes. */
export interface PruneInstants {
  /** Runs that ended, and events. */
  readonly before: number
  /** Manual runs, backfills and requests. */
  readonly requestsBefore: number
  /** Sessions last seen. */
  readonly nodesBefore: number
  /** Definitions that were followed by many. */
  readonly definitionsBefore: number
}

/** What is asked, held against the least that stays. */
export function pruneInstants(asked: number, now: number): PruneInstants {
  const before = Math.min(asked, now - KEPT_MS)
  return {
    before,
    requestsBefore: Math.min(before, now - KEPT_REQUEST_MS),
    nodesBefore: now - KEPT_NODE_MS,
    definitionsBefore: now - KEPT_DEFINITION_MS,
  }
}
