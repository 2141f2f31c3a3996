import type { Calls } from './calls.js'
import type { RedisConnection } from './driver.js'
import type { Line } from './line.js'

/** What every method works with: the connection of the loop, and that of beats and wakes. */
export interface Ledger {
  readonly calls: Calls
  readonly main: RedisConnection
  readonly line: Line
}
