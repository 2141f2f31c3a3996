import type { Cursor, ScheduleSpec } from '../schedule/types.js'

/**
 * The ledger's words. Everything here is plain data that survives JSON, so that a store may keep it as columns, as a
 * document or as an opaque string. Instants are epoch milliseconds of the store's clock; durations end in `Ms`.
 */

/** Why a run exists. Never changes. */
export type Cause = 'schedule' | 'catch-up' | 'backfill' | 'manual'

/**
 * A run's state. `queued` and `running` are live, the others terminal: a terminal row never changes again, except that
 * a `skipped` or `missed` row is extended by the occurrences that follow it with the same fate and reason.
 */
export type RunState = 'queued' | 'running' | 'succeeded' | 'failed' | 'cancelled' | 'skipped' | 'missed'

/** Runs wait in lanes that take turns in this order, so that catch-up cannot starve what is fresh, nor the other way round. */
export const LANES = ['schedule', 'manual', 'backlog'] as const
export type Lane = (typeof LANES)[number]

/** The occurrences a run stands for: keys of the first and last, and how many. */
export interface Covers {
  readonly from: string
  readonly to: string
  readonly count: number
}

/** Somebody asked the holder to stop; who and why are for people. */
export interface Stop {
  readonly kind: 'cancel' | 'replace'
  readonly at: number
  readonly by: string
  readonly why: string | null
}

/** How an attempt ended; null while it runs. */
export type AttemptOutcome = 'succeeded' | 'failed' | 'timed-out' | 'cancelled' | 'handed-back' | 'lost'

export interface Attempt {
  readonly id: string
  readonly session: string
  /** The node's label, `host#pid`. */
  readonly node: string
  readonly token: number
  readonly startedAt: number
  readonly endedAt: number | null
  readonly outcome: AttemptOutcome | null
  /** Why it ended so: an error's message, or the reason of a hand-back. */
  readonly note: string | null
}

export interface RunError {
  readonly name: string
  readonly message: string
  readonly stack: string | null
}

/** One row of the ledger. Identity: (fleet, job, key). */
export interface Run {
  readonly job: string
  readonly key: string
  readonly cause: Cause
  readonly lane: Lane
  readonly state: RunState
  /** Machine word for a fate or failure, one of `REASONS`; null while it lives and when it succeeded. */
  readonly reason: string | null
  /** The occurrences it covers; null for a manual run. Frozen at the first grant. */
  readonly covers: Covers | null
  /** Instant of the newest occurrence covered; of the request for a manual run. Frozen at the first grant. */
  readonly scheduledAt: number
  /** Calendar date of the newest occurrence covered, in the job's zone. Frozen at the first grant. */
  readonly date: string
  /** End of what the last succeeded run covered, as it was at the first grant; null when none has succeeded. */
  readonly since: number | null
  /** What its effects are fenced by: the job where one place exists, else the job and the run's key. Fixed at creation. */
  readonly resource: string
  /** Hash of the definition in force when the row was made. */
  readonly definition: string
  /** JSON text handed in by a trigger; null without. */
  readonly data: string | null
  /** The run that this one repeats on request (`retry`). */
  readonly retryOf: string | null
  /** Order within its lane: smaller first. Backfills have positions far behind the others. */
  readonly position: number
  /** Whether it holds one of the job's places: from the first grant to the terminal state, also while it waits for a retry. */
  readonly place: boolean
  /** Not granted before this instant: a retry's delay; or, unpoked (it then keeps it), a grace. 0: at once, whatever the clock does. */
  readonly readyAt: number
  /** Attempts begun. */
  readonly attempt: number
  /** Id of the attempt that runs, or ran last; unique. */
  readonly attemptId: string | null
  /** Session of that attempt. */
  readonly session: string | null
  /** Token of that attempt; 0 before the first grant. */
  readonly token: number
  /** Set by cancel and replace only. A store's `settle` leaves it as it stands in the row. */
  readonly stop: Stop | null
  /** Attempts charged to `retry`. */
  readonly retries: number
  /** Attempts charged to `recover`. */
  readonly recoveries: number
  /** Uncharged repeats: hand-backs and excused losses. */
  readonly repeats: number
  /** The last 20 attempts, oldest first. */
  readonly attempts: readonly Attempt[]
  readonly createdAt: number
  /** First grant. */
  readonly startedAt: number | null
  readonly endedAt: number | null
  /** JSON text of what the handler returned, at most 16 kB. */
  readonly result: string | null
  readonly error: RunError | null
}

export type Overlap = 'skip' | 'wait' | 'merge' | 'replace'

export interface CatchUp {
  readonly policy: 'merge' | 'each' | 'skip'
  /** Older occurrences are missed; null: younger than one period, at least 1 h, at most 7 d. */
  readonly withinMs: number | null
  /** At most this many catch-up runs of the job wait. */
  readonly most: number
}

export interface Retry {
  /** How many further attempts a thrown error may have. */
  readonly limit: number
  readonly delayMs: number
  readonly factor: number
  readonly maxDelayMs: number
}

/** A job's terms: content only, no function and nothing that depends on the node. Its hash says which terms these are. */
export interface Definition {
  /** Null: only manual runs. */
  readonly schedule: ScheduleSpec | null
  readonly concurrency: number
  readonly queue: number
  readonly overlap: Overlap
  readonly catchUp: CatchUp
  readonly retry: Retry
  readonly recover: number
  readonly timeoutMs: number | null
  readonly pauseAfter: number | null
  /** Attended this much after its instant an occurrence is late, not missed. */
  readonly graceMs: number
  /** Whether an attempt raises the fence before its handler is called. */
  readonly fence: boolean
  /** What the fence is raised on in place of the job. Absent where nothing is named, so that such a hash stays as it was. */
  readonly resource?: string
  /** What is due awaits a poke, at most for so long. Absent where nobody pokes, so that such a hash stays as it was. */
  readonly pokeGraceMs?: number
  /** Of a schedule kept in the store: its handler, and its data as JSON. Absent for a job of the code, whose hash stays as it was. */
  readonly handler?: string
  readonly data?: string
}

/** A definition as the store keeps it. */
export interface StoredDefinition {
  readonly hash: string
  readonly content: Definition
  /** Order of entry within the job; entering anew gives a new, greater one. */
  readonly seq: number
  readonly enteredAt: number
  /** The release label of the node that entered it. */
  readonly release: string | null
}

export interface Pause {
  readonly since: number
  readonly until: number | null
  readonly by: string
  readonly why: string | null
}

/** What one attend or command decides about a job, guarded by `version`. */
export interface JobHeader {
  /** `service:id`; the service has no colon. */
  readonly job: string
  readonly service: string
  /** What people read; the id outlives a rename. */
  readonly name: string
  /** hash(job) mod 256. */
  readonly bucket: number
  /** Hash of the definition in force. */
  readonly definition: string
  /** Its `seq`. */
  readonly definitionSeq: number
  /** First definition: `every` counts from here. */
  readonly anchor: number
  readonly cursor: Cursor
  /** When the job needs attention next; null: never by itself. */
  readonly wakeAt: number | null
  readonly lastToken: number
  /** Queued runs without a place, by lane. */
  readonly waiting: Readonly<Record<Lane, number>>
  /** Lane of the last grant: the next one has its turn. */
  readonly turn: Lane
  /** The next run's position. */
  readonly position: number
  readonly pause: Pause | null
  readonly retired: boolean
  /** The last `skipped` or `missed` row while nothing else was decided after it: it may be extended. */
  readonly lastFate: { readonly key: string; readonly run: Run } | null
}

/** Columns of the job row that settlements write, so that settling never disturbs a decision. */
export interface JobTally {
  /** Settlements so far. */
  readonly settled: number
  /** Failures in a row. */
  readonly failures: number
  /** Greatest instant that a succeeded scheduled run covered. */
  readonly succeededUntil: number | null
  /** Highest token that a fence has shown. */
  readonly tokenFloor: number
}

/** A job as loaded: header, definition in force, and a window of its live runs. */
export interface Aggregate {
  readonly header: JobHeader
  readonly tally: JobTally
  /** Id of the change that made this header. */
  readonly version: string
  readonly definition: Definition
  /** All that hold a place, and the first `WINDOW` that wait in each lane; of heavy ones a store may give fewer, the first always. */
  readonly runs: readonly Run[]
}

/** What a change expects of a row: that it is absent, or its state and token. */
export type Expected = null | { readonly state: RunState; readonly token: number }

export interface RunWrite {
  readonly run: Run
  readonly expect: Expected
}

/** What people and programs ask. */
type Asked = 'paused' | 'resumed' | 'retired' | 'cancelled' | 'triggered' | 'backfilled' | 'retried' | 'resolved'

/** Audit: who did what, when, and why. */
export interface LedgerEvent {
  /** Unique in the fleet; the request id where a person or program asked. A commit that repeats it is a clash. */
  readonly id: string
  readonly at: number
  readonly job: string
  readonly kind: 'defined' | 'redefined' | 'recovered' | Asked
  readonly by: string
  readonly why: string | null
  /** JSON text; null without. */
  readonly data: string | null
}

/** One job's part of a commit: applied whole or not at all. */
export interface Change {
  /** Random; becomes the job's version. */
  readonly id: string
  readonly job: string
  /** The version read, null for a job that did not exist; and the settlements then counted. */
  readonly expect: { readonly version: string | null; readonly settled: number }
  readonly header: JobHeader
  /** The count of failures in a row: set to 0 (resume), one more (a run given up after lost nodes), or left alone. */
  readonly failures: 'reset' | 'count' | 'keep'
  readonly runs: readonly RunWrite[]
  /** Entered with this change; known from then on. */
  readonly definition: StoredDefinition | null
  readonly events: readonly LedgerEvent[]
}

/** The end of one attempt. Guarded by the run alone: still running with this token. */
export interface Settlement {
  readonly job: string
  readonly key: string
  readonly token: number
  readonly attemptId: string
  /** The row afterwards (its `stop` is ignored): terminal, or queued and holding its place. */
  readonly run: Run
  readonly failures: 'reset' | 'count' | 'keep'
  /** Moves the job's wakeAt earlier, never later; 0: at once, by whatever clock. The store uses its own now where runs wait. */
  readonly wakeAt: number | null
  readonly succeededUntil: number | null
  readonly tokenFloor: number | null
}

/** A session that was marked as ended while it held runs. */
export interface EndedSession {
  readonly session: string
  readonly node: string
  /** When its lease ran out, and when that was marked. */
  readonly leaseEnd: number
  readonly endedAt: number
  /** Whether its node has begun another session since: a lost session, not a lost node. */
  readonly returned: boolean
}
