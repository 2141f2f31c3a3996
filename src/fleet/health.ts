import type { Attempt } from './attempt.js'
import type { AbortKind, AttemptRef } from './events.js'
import type { NodeState } from './node.js'
import type { Parts } from './parts.js'

/** A run as health shows it. */
export interface RunHealth extends AttemptRef {
  readonly forMs: number
  /** Why its signal has fired; null: it has not. */
  readonly signal: AbortKind | null
}

/** A node at one moment. Times are durations, since clocks differ. */
export interface Health {
  /** Whether it looks after its jobs: started, not stopping, the store not away, and its looks have not failed for 5 s. */
  readonly ready: boolean
  readonly state: NodeState
  readonly node: string
  readonly label: string
  readonly service: string
  /** Whether it runs handlers. */
  readonly attends: boolean
  readonly session: { readonly id: string; readonly believed: boolean }
  readonly store: {
    /** How long every call has failed; null: the last one did not. */
    readonly awayMs: number | null
    readonly error: string | null
    /** This host's wall clock minus the store's; a large difference is worth mending, although nothing depends on it. */
    readonly wallAheadMs: number | null
  }
  readonly running: readonly RunHealth[]
  /** Handlers that did not obey their signal and still run. */
  readonly abandoned: readonly RunHealth[]
  /** Runs begun without the store's leave while it is away (`onOutage: 'run'`), by the keys of their occurrences. */
  readonly unowned: readonly { readonly job: string; readonly key: string; readonly forMs: number }[]
  /** Outcomes that the store has not taken yet. */
  readonly unsettled: number
  /** Jobs left alone because of an error. */
  readonly parked: readonly { readonly job: string; readonly error: string }[]
  readonly lastAttendedMsAgo: number | null
  /** When it looks next without being woken; null: at a beat. */
  readonly nextLookInMs: number | null
}

/** Beats go on while the node fails to look after its jobs: after so long that is no mishap. */
const HALF_DEAD_MS = 5_000

export function healthOf(parts: Parts, state: NodeState): Health {
  const { facts, sessions, link, attempts, settling, looker, outage } = parts
  const now = facts.clock.monotonic()
  const away = link.awaySince()
  const show = (attempt: Attempt): RunHealth => ({
    ...attempt.ref,
    forMs: Math.round(now - attempt.startedAt),
    signal: attempt.why,
  })
  const attended = looker.lastAttendedAt
  return {
    ready: state === 'running' && away === null && looker.backoff.failingMs() < HALF_DEAD_MS,
    state,
    node: facts.id,
    label: facts.label,
    service: facts.service,
    attends: facts.attends,
    session: { id: sessions.current.ref.id, believed: sessions.current.believed() },
    store: {
      awayMs: away === null ? null : Math.round(now - away.since),
      error: away === null ? null : away.error instanceof Error ? away.error.message : String(away.error),
      wallAheadMs: link.wallAheadMs(),
    },
    running: attempts.list().map(show),
    abandoned: attempts.listAbandoned().map(show),
    unowned: outage.list().map((one) => ({ job: one.job, key: one.key, forMs: Math.round(now - one.startedAt) })),
    unsettled: settling.size + outage.unrecorded,
    parked: looker.parked().map(({ job, error }) => ({ job, error })),
    lastAttendedMsAgo: attended === null ? null : Math.round(now - attended),
    nextLookInMs: looker.nextInMs(),
  }
}
