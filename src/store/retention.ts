import type { LedgerEvent } from '../ledger/types.js'

/** Runs and events that somebody asked for stay at least so long: until then a resend is recognised by its row. */
export const KEPT_REQUEST_MS = 7 * 24 * 60 * 60 * 1000

/** Nodes stay at least so long after they were last seen: which definition holds depends on who carried it of late. */
export const KEPT_NODE_MS = 60 * 60 * 1000

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
