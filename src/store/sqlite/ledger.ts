import type { Connection } from './connection.js'

/** What every method works with: the connection, the fleet whose rows it sees, and what it learned on the way. */
export interface Ledger {
  readonly connection: Connection
  readonly fleet: string
  incarnation: string
  /** Jobs of these buckets became due earlier by a write of this connection; emptied when their subscribers are told. */
  readonly woken: Set<number>
}
