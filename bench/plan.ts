/** What the bench asks of a node process, and what that tells: plain data, sent as messages. */

/** Jobs of one kind. */
export interface JobPlan {
  /** Their names begin with it, and end with a number. */
  readonly prefix: string
  readonly count: number
  /** Six fields; null: on request only; `daily`: each at a minute of its own, as people's jobs are. */
  readonly cron: string | null | 'daily'
  readonly concurrency?: number
  /** Occurrences that passed are worked off one by one. */
  readonly isCaughtUp?: boolean
  /** Its handler goes on until its signal fires; else it returns at once. */
  readonly isLong?: boolean
}

export interface FleetPlan {
  readonly url: string
  readonly fleet: string
  readonly jobs: readonly JobPlan[]
  readonly maxRuns?: number
  /** False: it defines and asks only. */
  readonly attends?: boolean
}

/** Orders to a node process. Each is answered by one `Answer` of the same number. */
export type Order =
  /** Starts a node of this fleet, beside those that the process has. */
  | { readonly do: 'start'; readonly plan: FleetPlan }
  | { readonly do: 'trigger'; readonly fleet: string; readonly job: string }
  /** Queues so many runs of a job. */
  | { readonly do: 'queue'; readonly fleet: string; readonly job: string; readonly count: number }
  /** What was seen since it was asked last. */
  | { readonly do: 'take' }
  | { readonly do: 'stop' }

export interface Answer {
  readonly number: number
  readonly error?: string
  readonly seen?: Seen
  /** How long a start took, and the memory of the process after it. */
  readonly started?: { readonly ms: number; readonly rssMb: number }
}

export interface Start {
  readonly fleet: string
  readonly job: string
  readonly attempt: number
  readonly dueMs: number
  readonly atMs: number
}

export interface Seen {
  readonly starts: readonly Start[]
  /** When how many runs were settled. */
  readonly settled: readonly (readonly [atMs: number, count: number])[]
  /** Messages to the store's server so far; of a file: transactions. */
  readonly statements: number
}
