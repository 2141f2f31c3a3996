import type {
  Aggregate,
  Change,
  EndedSession,
  LedgerEvent,
  Run,
  RunState,
  Settlement,
  Stop,
  StoredDefinition,
} from '../ledger/types.js'

/**
 * The one port between the loop and wherever the ledger is kept. Twelve methods; each is one atomic act that reads the
 * store's own clock once. Compare and set only: no lock outlives a call, so a paused node blocks nobody. Every write is
 * recognised when it comes twice (a change by its id, a settlement by its attempt), so a caller in doubt may repeat it.
 * Methods reject with `STORE_UNAVAILABLE` when the outcome is unknown or the store is away; losing is a return value.
 */
export interface Store {
  /** Creates, upgrades or verifies the schema; several nodes at once. Refuses a schema newer than it knows (`STORE_NEWER`). */
  open(): Promise<StoreInfo>
  close(): Promise<void>
  /**
   * Renews the session (with `hello`: begins it, or replaces what it says of itself), marks run-out sessions that hold
   * runs as ended, and gives one page of what needs attention among the services: jobs with a running run of an ended
   * session first, then jobs due (wakeAt <= now where the bucket is mine, wakeAt <= now - graceMs elsewhere).
   */
  attend(session: SessionRef, query: AttendQuery): Promise<Attendance>
  /** Aggregates by job; runs by attempt or key, in any state; events by id (requests); nodes seen of late, with manifests. */
  load(query: LoadQuery): Promise<Loaded>
  /**
   * Applies changes, each whole or not at all. `expired`, and nothing applied, unless the session is alive (not ended;
   * not run out while it holds runs) and the store's clock is at most `now` plus a tenth of the lease.
   * A job whose version already is the change's id counts as `won`. A change whose `settled` is not what it read is
   * applied with wakeAt = the store's now. A run or event expected absent that exists is a `clash` with its key or id
   * (nothing of that change applied); any other guard that fails is `stale`.
   */
  commit(session: SessionRef, now: number, changes: readonly Change[]): Promise<Committed>
  /** In the order given: `settled`; `late` (settled, but its session had ended); `lost` (somebody else's by now). */
  settle(settlements: readonly Settlement[]): Promise<readonly SettleResult[]>
  /** Renews what is neither ended nor run out, compares runs both ways, and says what to wait for. */
  beat(session: SessionRef, beat: Beat): Promise<BeatReply>
  /**
   * Calls `wake(bucket)` when some commit or settlement, the caller's own included, made a job of that bucket due earlier;
   * -1 where the store cannot tell which: look at once. A hint only: it may come late, doubled, or not at all. Returns
   * the end of the subscription.
   */
  subscribe?(wake: (bucket: number) => void): Promise<() => Promise<void>>
  /** For people: pages of jobs by name. One that cannot be read is left out, and the page is filled with what follows. */
  jobs(query: JobsQuery): Promise<readonly Aggregate[]>
  /** For people: newest first by position in time (createdAt, then key, then job). Unreadable ones as in `jobs`. */
  runs(query: RunsQuery): Promise<readonly Run[]>
  /** For people: newest first (at, then id). */
  events(query: EventsQuery): Promise<readonly LedgerEvent[]>
  /**
   * Removes what nobody needs any more, at most `limit` rows, and returns how many went; 0: nothing is left to remove. By
   * the store's clock now, with `before` never later than a day ago (a skipped or missed row may still be extended):
   * - runs that ended before it, except a row that its job may still extend; manual runs and backfills stay 7 days at least;
   * - events that happened before it; those whose id is a request's (`REQUEST_KINDS`) stay 7 days at least;
   * - sessions last seen more than a day ago, whatever is asked, unless they hold a running run;
   * - definitions that 100 later ones of their job followed, each entered more than 7 days ago, whatever is asked; never the
   *   one in force. The 100 latest stay for good, so that a node with an old one finds it known and does not enter it anew;
   * - a job that is retired and whose definition names a `handler` (a schedule kept in the store) once neither a run nor an
   *   event of it is left: with all its definitions, as one row. Jobs of the code stay.
   * No occurrence becomes runnable by it: cursors tell what was decided, not rows.
   */
  prune(query: PruneQuery): Promise<number>
}

export interface StoreInfo {
  /** For people: `sqlite`, `memory`, … */
  readonly kind: string
  /** `correct`, or `efficient` where acknowledged writes can be lost; the sentence says why and what else to know. */
  readonly grade: 'correct' | 'efficient'
  readonly remark: string | null
  /** Random id made with the schema: another one means another, or a wiped, store. */
  readonly incarnation: string
}

/** A session as it names itself. */
export interface SessionRef {
  /** Random per session. */
  readonly id: string
  /** Random per started node. */
  readonly node: string
  readonly leaseMs: number
}

/** What a node says of itself when it begins a session. */
export interface NodeHello {
  /** `host#pid`, for people. */
  readonly label: string
  readonly services: readonly string[]
  /** Whether it runs handlers. */
  readonly attends: boolean
  /** Job -> hash of the definition it carries. */
  readonly manifest: Readonly<Record<string, string>>
  readonly zoneData: string
  readonly release: string | null
}

export interface AttendQuery {
  readonly hello?: NodeHello
  readonly services: readonly string[]
  readonly buckets: ReadonlySet<number>
  readonly graceMs: number
  readonly limit: number
  /** `after` of the page before: rows left alone on one page never hide those of the next. */
  readonly after?: string
}

/**
 * A job of which a row cannot be read: text that is not JSON, a definition that is missing, a value that cannot be. Nothing
 * is decided about it, and nobody else fails with it.
 */
export interface Unreadable {
  readonly job: string
  /** Names the row and what is wrong, never what it holds; the same words each time as long as nothing changes. */
  readonly why: string
}

export interface Attendance {
  /** The store's clock. */
  readonly now: number
  /** False: the session is ended, run out, or unknown; nothing else is filled in. */
  readonly alive: boolean
  readonly jobs: readonly Aggregate[]
  /** Jobs of this page that cannot be read; they are not in `jobs`. */
  readonly unreadable: readonly Unreadable[]
  /** Ended sessions of the runs in `jobs`, by session id. */
  readonly ended: ReadonlyMap<string, EndedSession>
  /** There is another page. */
  readonly after: string | null
  /** Earliest wakeAt after now among my buckets, of these services. */
  readonly nextWakeAt: number | null
  /** Earliest wakeAt after now - graceMs among the other buckets: this node looks after it at that instant + graceMs. */
  readonly nextOtherWakeAt: number | null
  /** Earliest lease end of another session that holds runs. */
  readonly nextEndAt: number | null
  readonly incarnation: string
}

export interface LoadQuery {
  readonly jobs?: readonly string[]
  readonly attempts?: readonly string[]
  readonly keys?: readonly { readonly job: string; readonly key: string }[]
  readonly requests?: readonly string[]
  readonly nodes?: boolean
}

export interface Loaded {
  readonly now: number
  /** By job; a job that does not exist, or cannot be read, is absent. */
  readonly jobs: ReadonlyMap<string, Aggregate>
  /** Definitions known of these jobs, in order of entry (the latest entry of each hash). */
  readonly definitions: ReadonlyMap<string, readonly StoredDefinition[]>
  /** Runs found by attempt or key. */
  readonly runs: readonly Run[]
  /** Jobs asked for that exist and cannot be read, and those of runs asked for that cannot; each job once. */
  readonly unreadable: readonly Unreadable[]
  /** Events found by request. */
  readonly events: readonly LedgerEvent[]
  /** Seen within the last 90 s (`SEEN_MS`), ended ones too; none unless asked for. */
  readonly nodes: readonly NodeRow[]
}

export interface NodeRow {
  readonly session: string
  readonly node: string
  readonly hello: NodeHello
  /** Whether its last beat said that it can take runs. */
  readonly room: boolean
  readonly startedAt: number
  readonly seenAt: number
  readonly leaseEnd: number
  readonly endedAt: number | null
}

/** A node as a beat lists it: without its manifest, whose content has this hash. */
export interface NodeSummary {
  readonly session: string
  readonly node: string
  readonly label: string
  readonly services: readonly string[]
  readonly attends: boolean
  readonly room: boolean
  /** Changes when the manifest changes; equal manifests of two nodes need not give equal words. */
  readonly manifestId: string
  readonly zoneData: string
  readonly seenAt: number
  readonly endedAt: number | null
}

export type CommitResult =
  | { readonly job: string; readonly outcome: 'won' }
  | { readonly job: string; readonly outcome: 'stale' }
  | { readonly job: string; readonly outcome: 'clash'; readonly keys: readonly string[] }
  /** The job's data made the statement fail; the sentence says how. Others of the batch are not touched by it. */
  | { readonly job: string; readonly outcome: 'refused'; readonly why: string }

export type Committed =
  | { readonly expired: true; readonly now: number }
  | { readonly expired: false; readonly now: number; readonly results: readonly CommitResult[] }

export type SettleResult = 'settled' | 'late' | 'lost'

export interface Beat {
  readonly services: readonly string[]
  readonly buckets: ReadonlySet<number>
  /** Attempts that this node is running. */
  readonly attempts: readonly string[]
  readonly room: boolean
  /** Marks the session as ended: the last beat of a clean stop. */
  readonly end?: boolean
}

export interface BeatReply {
  readonly now: number
  /** False: the session is ended, run out, or unknown (the store was wiped or restored). */
  readonly alive: boolean
  /** Whether the store knows the session at all. */
  readonly known: boolean
  /** Attempts sent that are not this session's any more (`stop` null), or are asked to stop. */
  readonly gone: readonly { readonly attemptId: string; readonly stop: Stop | null }[]
  /** Running runs of this session that were not sent; one that cannot be read is left out. */
  readonly strays: readonly Run[]
  /** Earliest wakeAt, also a past one: among my buckets, and among the others, of these services. */
  readonly nextWakeAt: number | null
  readonly nextOtherWakeAt: number | null
  /** Earliest lease end of another session that holds runs. */
  readonly nextEndAt: number | null
  /** Nodes seen within the last 90 s, ended ones too. */
  readonly nodes: readonly NodeSummary[]
  readonly incarnation: string
}

export interface RunsQuery {
  readonly job?: string
  readonly states?: readonly RunState[]
  /** The last run of the page before. */
  readonly before?: { readonly createdAt: number; readonly key: string; readonly job: string }
  readonly limit: number
}

export interface JobsQuery {
  readonly service?: string
  /** The last job of the page before. */
  readonly after?: string
  readonly limit: number
}

export interface EventsQuery {
  readonly job?: string
  /** The last event of the page before. */
  readonly before?: { readonly at: number; readonly id: string }
  readonly limit: number
}

export interface PruneQuery {
  /** Epoch milliseconds of the store's clock. */
  readonly before: number
  readonly limit: number
}
