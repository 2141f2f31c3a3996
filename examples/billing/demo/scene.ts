import type { Books } from './books.js'
import type { Cashier } from './cashier.js'
import type { Dice } from './dice.js'
import type { DefinitionInForce } from './ledgers.js'
import type { Stage } from './stage.js'
import type { LedgerServer } from './stores.js'
import type { Story } from './story.js'

/** What the faults left behind, for the reckoning. */
export interface Deeds {
  killed: number
  /** Invoices of the period at the moment of the kill. */
  invoicesBeforeKill: number
  takeoverMs: number
  paused: number
  pausedMs: number
  lateWritesRefused: number
  /** What was in force before the fourth node joined, when it had joined, and at the end; null where there is no ledger. */
  definitions: {
    readonly before: DefinitionInForce
    readonly joined: DefinitionInForce
    after: DefinitionInForce | null
  } | null
  /** How long the ledger's server was away; null where it was left alone. */
  outageMs: number | null
  /** Processes killed, and stopped for longer than their lease, inside a request to the provider. */
  killedInSend: number
  stoppedInSend: number
  stoppedInSendMs: number
}

export interface Scene {
  readonly stage: Stage
  readonly story: Story
  readonly dice: Dice
  readonly books: Books
  readonly files: readonly string[]
  /** The ledger's server, where it is to be killed too. */
  readonly server: LedgerServer | null
  /** The payment provider, where customers are charged too. */
  readonly cashier: Cashier | null
  readonly customers: number
  readonly leaseMs: number
  /** Whether late writes are refused, and definitions kept: not without Fleetcron. */
  readonly guarded: boolean
  readonly background: Promise<void>[]
}

/** A period that everybody waits for begins and ends in this time, also on a machine with other things to do. */
export const PERIOD_WAIT_MS = 20_000
export const TRIES = 5
