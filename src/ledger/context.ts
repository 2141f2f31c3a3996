import type { ZoneData } from '../schedule/types.js'
import type { Change, EndedSession, RunError } from './types.js'

/** What every command is told: the ledger reads no clock and draws no lots. */
export interface Context {
  readonly fleet: string
  /** The store's clock at the read that the command is based on. */
  readonly now: number
  /** Random id for the change; attempt ids derive from it. */
  readonly changeId: string
  /** This node's zone data; the process's own by default. */
  readonly zones?: ZoneData
  /** Keys and request ids that a clash has shown to exist: their occurrences count as already decided. */
  readonly taken?: ReadonlySet<string>
}

/** What the loop adds when it looks after a job. */
export interface AttendContext extends Context {
  /** The session that grants go to, and its node's label. */
  readonly session: string
  readonly node: string
  /** How many runs this node may take now. */
  readonly room: number
  readonly ended: ReadonlyMap<string, EndedSession>
  /** Keys of this job's runs whose earlier handler still runs in this process: not granted here. */
  readonly busy: ReadonlySet<string>
  /** When this node's own beats failed last: a loss in that time is the store's fault and not charged. */
  readonly ownTrouble: { readonly from: number; readonly to: number } | null
}

/** What somebody said became of a call of a provider: of which run's, by its key as it is kept. */
export interface ResolvedEffect {
  readonly run: string | null
  readonly effect: string
  readonly as: 'confirmed' | 'rejected' | 'released'
}

/** A person or program asking. */
export interface Request {
  /** Random, or derived from the caller's idempotency key: a resend is recognised at any later time. */
  readonly id: string
  readonly by: string
  readonly why: string | null
}

/** A command's answer. A refusal is a value: its code is an `ErrorCode`, its sentence is for people. */
export type Decision =
  | { readonly outcome: 'change'; readonly change: Change }
  /** Nothing to do: it is so already (also: this request was carried out before). */
  | { readonly outcome: 'unchanged' }
  | {
      readonly outcome: 'refused'
      readonly code: 'QUEUE_FULL' | 'STATE_CONFLICT' | 'RUN_UNKNOWN' | 'OPTION_INVALID'
      readonly message: string
    }

/** How an attempt ended, as its holder saw it. */
export type Outcome =
  | { readonly kind: 'returned'; readonly result: string | null }
  /** `uncertain`: because nobody knows what became of a call of a provider. */
  | { readonly kind: 'threw'; readonly error: RunError; readonly uncertain?: boolean }
  /** The signal fired for the session, a stop or a suspend, and the handler threw; or it was never called. */
  | { readonly kind: 'handed-back'; readonly why: string; readonly called: boolean }
  /** `timeout` passed: failed, whatever the handler does afterwards. */
  | { readonly kind: 'timed-out' }
  /** It was asked to stop (cancel or replace). */
  | { readonly kind: 'cancelled'; readonly why: 'cancel' | 'replace' }
  /**
   * A fence showed a higher token although the session is good: repeated as after a hand-back, with a token above it.
   * Called: it was met inside the handler; otherwise the fence was refused when it was to be raised.
   */
  | { readonly kind: 'refused-by-fence'; readonly token: number; readonly called: boolean }
