import type { Effects } from '../effect/port.js'
import type { Definition } from '../ledger/types.js'
import type { ZoneData } from '../schedule/types.js'
import type { Store } from '../store/port.js'
import type { Clock } from './clock.js'
import type { Events } from './events.js'
import type { Logger } from './log.js'
import type { Run } from './run.js'

/** A job as a node carries it. */
export interface HostedJob {
  /** Within the service; the ledger's id is `service:id`. */
  readonly id: string
  /** What people read. */
  readonly name: string
  /** The terms as the code says them. */
  readonly definition: Definition
  /** Whether nobody named the zone: then the zone stored at first definition holds. */
  readonly zoneDefaulted: boolean
  /** Called once per attempt. */
  readonly handler: (run: Run<never>) => unknown
}

/** Everything a node is made of. It reads no clock, chance or environment besides these. */
export interface NodeOptions {
  readonly fleet: string
  readonly service: string
  /** `host#pid`, for people. */
  readonly label: string
  readonly store: Store
  readonly clock: Clock
  readonly jobs: readonly HostedJob[]
  /** The business database, already ensured or not; null: runs have no `once`. */
  readonly effects?: Effects | null
  /** How long a silent node is believed to be alive. Default 10,000. */
  readonly leaseMs?: number
  /** Runs this node takes at a time. Default 100. */
  readonly maxRuns?: number
  /** Whether it runs handlers; false: it defines, asks and looks. Default true. */
  readonly attends?: boolean
  readonly release?: string | null
  /** This node's zone data; the process's own by default. */
  readonly zones?: ZoneData
  /** Version of that data, for people. */
  readonly zoneData?: string
  readonly logger?: Logger | null
}

export interface FleetNode {
  /** Random per started node. */
  readonly id: string
  readonly events: Events
  /**
   * Resolves when the node has a session and its jobs are defined. While the store is away it goes on trying; it rejects
   * only with what trying again cannot mend (`STORE_NEWER`, an adapter's refusal).
   */
  start(): Promise<void>
  /** Lets handlers end for `graceMs` (30,000), then fires their signals, settles or hands back, ends the session and closes the store. Never rejects; a second call waits for the first. */
  stop(options?: { readonly graceMs?: number }): Promise<void>
}

export declare function createNode(options: NodeOptions): FleetNode
