import type { RedisConnection } from './driver.js'
import type { Line } from './line.js'
import type { Server } from './server.js'

/** What every method works with: the connection of the loop, and that of beats and wakes. */
export interface Ledger {
  readonly server: Server
  readonly main: RedisConnection
  readonly line: Line
}
