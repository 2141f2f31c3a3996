/** Between two steps of a node's work: where a process is killed or stopped. */
export const POINTS = [
  'after-attend',
  'after-commit',
  'in-handler',
  'inside-effect',
  'after-effect',
  'before-settle',
  'after-settle',
  'during-stop',
] as const

export type Point = (typeof POINTS)[number]

/** What a process of the test is told. */
export interface NodeConfig {
  readonly name: string
  /** URL of the ledger. */
  readonly ledger: string
  /** Scenes that share a server do not share a ledger. */
  readonly fleet: string
  /** A file of SQLite, or the URL of a server. */
  readonly business: string
  readonly leaseMs: number
  readonly customers: number
  readonly point?: Point
  readonly signal?: 'SIGKILL' | 'SIGSTOP'
}
