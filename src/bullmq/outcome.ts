import type { Cause, Run, RunState } from '../ledger/types.js'

/** What a BullMQ job of the door's has come to: its return value, and its progress while it is waited for. */
export interface BullmqOutcome {
  /** The ledger's id of the job, and the key of the run; null: nothing was due. */
  readonly job: string
  readonly key: string | null
  readonly state: RunState | null
  readonly reason: string | null
  readonly cause: Cause | null
  readonly attempt: number
  /** Label of the node that had the last attempt. */
  readonly node: string | null
  /** What the handler returned. */
  readonly result: unknown
}

export function outcomeOf(job: string, run: Run | undefined): BullmqOutcome {
  if (run === undefined) {
    return { job, key: null, state: null, reason: null, cause: null, attempt: 0, node: null, result: null }
  }
  const { key, state, reason, cause, attempt, attempts, result } = run
  const node = attempts.at(-1)?.node ?? null
  return { job, key, state, reason, cause, attempt, node, result: result === null ? null : JSON.parse(result) }
}
