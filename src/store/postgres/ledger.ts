import type { Line } from './line.js'
import type { Server } from './server.js'

/** What every method works with: the pool, the connection of the beats, and the fleet whose rows it sees. */
export interface Ledger {
  readonly server: Server
  readonly line: Line
  readonly fleet: string
  /** The lock that a fleet's commits share, and that a look for one in doubt takes alone. */
  readonly gate: bigint
}
