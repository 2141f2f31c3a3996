import type { Change, Run, Settlement } from '../../ledger/types.js'
import type { Attendance, Beat, BeatReply, Committed, SessionRef, SettleResult } from '../../store/port.js'
import type { JobRow } from './ledger-view.js'

/**
 * What can be seen of a simulated fleet from the outside, in the order in which it happened. The workload makes things
 * happen, the witness and the probes write them down, and the checkers know nothing else.
 */
export type Observation = { /** True time, epoch milliseconds. */ readonly at: number } & (
  | ProcessSeen
  | LossSeen
  | ParkedSeen
  | WorldSeen
  | StoreSeen
  | HandlerSeen
  | EffectSeen
  | AskedSeen
)

export interface ProcessSeen {
  readonly kind: 'process'
  readonly process: string
  readonly what: 'started' | 'killed' | 'paused' | 'suspended' | 'resumed' | 'stopping' | 'stopped' | 'wall-stepped'
  /** Of `stopping`: how long its handlers may go on. */
  readonly graceMs?: number
}

/** A node leaves a job alone because of an error. */
export interface ParkedSeen {
  readonly kind: 'parked'
  readonly process: string
  readonly job: string
  readonly error: string
}

/** A node has stopped believing in its session. */
export interface LossSeen {
  readonly kind: 'session-lost'
  readonly process: string
  readonly session: string
  readonly why: 'lease' | 'suspend' | 'refused'
  readonly runs: number
}

/** What happens to the store as a whole. */
export interface WorldSeen {
  readonly kind: 'world'
  readonly what: 'clock-stepped' | 'snapshot' | 'restored' | 'rewound' | 'wiped' | 'away' | 'back' | 'calm'
  readonly detail: string
}

export type StoreSeen = AttendSeen | BeatSeen | CommitSeen | SettleSeen | AcceptedSeen | FailedSeen

interface AtStore {
  readonly process: string
  /** When the process sent it, true time. */
  readonly sentAt: number
  /** The store's clock as it acted. */
  readonly storeNow: number
  /** Whether this is a second arrival of the same request. */
  readonly again: boolean
}

export interface AttendSeen extends AtStore {
  readonly kind: 'attend'
  readonly session: SessionRef
  readonly begins: boolean
  readonly reply: Attendance
}

export interface BeatSeen extends AtStore {
  readonly kind: 'beat'
  readonly session: SessionRef
  readonly beat: Beat
  readonly reply: BeatReply
}

/** A row of the ledger that is another than before; null: there was none, or there is none any more. */
export interface RowChange {
  readonly job: string
  readonly key: string
  readonly before: Run | null
  readonly after: Run | null
}

export interface JobChange {
  readonly job: string
  readonly before: JobRow | null
  readonly after: JobRow | null
}

export interface CommitSeen extends AtStore {
  readonly kind: 'commit'
  readonly session: SessionRef
  /** The instant that the committer says its decision is based on. */
  readonly read: number
  readonly changes: readonly Change[]
  readonly committed: Committed
  readonly jobs: readonly JobChange[]
  readonly rows: readonly RowChange[]
}

export interface SettleSeen extends AtStore {
  readonly kind: 'settle'
  readonly settlements: readonly Settlement[]
  readonly results: readonly SettleResult[]
  readonly jobs: readonly JobChange[]
  readonly rows: readonly RowChange[]
}

/** The reply to an attend or beat has reached its process, and says that the session is alive. */
export interface AcceptedSeen {
  readonly kind: 'accepted'
  readonly process: string
  readonly session: string
  readonly sentAt: number
}

/** A call to the store went wrong on its way, as it is made (`trouble`), or ended with an error at its caller (`failed`). */
export interface FailedSeen {
  readonly kind: 'failed' | 'trouble'
  readonly process: string
  readonly call: string
  readonly sentAt: number
}

interface InHandler {
  readonly process: string
  readonly job: string
  readonly key: string
  readonly token: number
  /** Counts the handlers of a simulation. */
  readonly handler: number
}

export type HandlerSeen =
  | ({
      readonly kind: 'handler-started'
      readonly attempt: number
      readonly covers: Run['covers']
      readonly date: string
      readonly scheduledAt: number
      readonly since: number | null
      readonly aborted: boolean
    } & InHandler)
  /** The handler does something, a while after it began. */
  | ({ readonly kind: 'handler-step'; readonly aborted: boolean } & InHandler)
  | ({ readonly kind: 'handler-aborted'; readonly why: string } & InHandler)
  | ({
      readonly kind: 'handler-ended'
      readonly how: 'returned' | 'threw' | 'obeyed'
      readonly aborted: boolean
    } & InHandler)

export type EffectSeen =
  | {
      readonly kind: 'effect'
      readonly key: string
      readonly job: string | null
      readonly run: string | null
      readonly token: number | null
      readonly resources: readonly string[]
      readonly invoices: number
    }
  | { readonly kind: 'raised'; readonly resource: string; readonly token: number }
  /** `once` has answered its handler. */
  | {
      readonly kind: 'once'
      readonly process: string
      readonly job: string
      readonly runKey: string
      readonly token: number
      readonly key: string
      readonly result: string | null
      readonly error: string | null
    }

/** Somebody asked for something through a node. */
export interface AskedSeen {
  readonly kind: 'asked'
  readonly process: string
  readonly command: 'trigger' | 'pause' | 'resume' | 'cancel' | 'backfill' | 'retry' | 'retire'
  readonly job: string
  readonly request: string
  /** What was answered: the key of a run, `ok`, `refused CODE` or `error CODE`. */
  readonly answer: string
  readonly data: string | null
  /** When it was asked, true time. */
  readonly askedAt: number
  /** Key of the run that it is about. */
  readonly run: string | null
}
