import type { Effects } from '../effect/port.js'
import type { Definition, Run } from '../ledger/types.js'
import type { ZoneData } from '../schedule/types.js'
import type { Attempts } from './attempts.js'
import type { Beats } from './beats.js'
import type { Clock } from './clock.js'
import type { Definitions } from './definitions.js'
import type { Events } from './events.js'
import type { EffectTables } from './fence.js'
import type { KeyRetention } from './key-retention.js'
import type { StoreLink } from './link.js'
import type { Log } from './log.js'
import type { Looker } from './looker.js'
import type { Membership } from './membership.js'
import type { HostedJob } from './node.js'
import type { Outage } from './outage.js'
import type { Remarks } from './remarks.js'
import type { Retention } from './retention.js'
import type { Session, Sessions } from './session.js'
import type { Settling } from './settling.js'

/** What a node is, fixed for its life. */
export interface NodeFacts {
  readonly id: string
  readonly fleet: string
  readonly service: string
  /** Whether nobody named the service. */
  readonly serviceDefaulted: boolean
  readonly label: string
  readonly leaseMs: number
  readonly maxRuns: number
  /** How long the history is kept; null: for good. */
  readonly retentionMs: number | null
  readonly attends: boolean
  readonly release: string | null
  readonly zones: ZoneData | undefined
  readonly zoneData: string
  readonly clock: Clock
  readonly effects: Effects | null
  /** By the ledger's id, `service:id`. */
  readonly jobs: ReadonlyMap<string, HostedJob>
  /**
   * What this node runs a job with: as its code declares it, or, where the job is a schedule kept in the store, with the
   * handler that its definition names. Null: others host it. Jobs of the store are never listed, so there may be any number.
   */
  readonly host: (job: string, definition: Definition) => HostedJob | null
}

/** The parts of one node, which know each other by these names. */
export interface Parts {
  readonly facts: NodeFacts
  readonly link: StoreLink
  readonly events: Events
  readonly log: Log
  readonly sessions: Sessions
  readonly attempts: Attempts
  readonly settling: Settling
  readonly membership: Membership
  readonly definitions: Definitions
  readonly looker: Looker
  readonly beats: Beats
  readonly effectTables: EffectTables
  readonly remarks: Remarks
  readonly retention: Retention
  readonly keyRetention: KeyRetention
  readonly outage: Outage
  /** Fires when the node stops: every pause ends. */
  readonly stopping: AbortSignal
}

/** A run that a commit gave to this node. */
export interface Grant {
  readonly run: Run
  /** The terms it was granted under: they decide what its end means. */
  readonly definition: Definition
  /** The hash of these terms; the run may have been made under earlier ones (`run.definition`). */
  readonly hash: string
  /** The job's anchor: where `every` counts from. */
  readonly anchor: number
  readonly session: Session
}
