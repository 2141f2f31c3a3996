import { type Command, Option } from 'commander'
import { FleetcronError } from '../errors.js'
import type { Store, StoreInfo } from '../store/port.js'
import { resolveStore } from '../store/resolve.js'
import type { Terminal } from './terminal.js'

/** What every command that needs a ledger is given. */
export interface CommandContext {
  readonly terminal: Terminal
  /** Says that the command was carried out and found something wrong: the exit code becomes 1. */
  failed(): void
}

export interface LedgerOptions {
  readonly store?: string
  readonly fleet?: string
  readonly json?: boolean
}

/** A ledger that is open, and whose it is. */
export interface OpenLedger {
  readonly store: Store
  readonly fleet: string
  readonly info: StoreInfo
}

export function withStore(command: Command): Command {
  return command.addOption(
    new Option('-s, --store <url>', 'the ledger: sqlite:./ledger.db, postgres://…, https://…').env('FLEETCRON_STORE'),
  )
}

export function withLedger(command: Command): Command {
  return withStore(command).addOption(new Option('-F, --fleet <name>', 'the fleet').env('FLEETCRON_FLEET'))
}

export function withLedgerOptions(command: Command): Command {
  return withLedger(command).option('--json', 'print JSON instead of a table')
}

/** Opens the ledger as it is, neither making nor upgrading it, and closes it afterwards. */
export async function inLedger<T>(options: LedgerOptions, act: (ledger: OpenLedger) => Promise<T>): Promise<T> {
  const fleet = fleetOf(options)
  const store = await resolveStore(lookedAt(storeOf(options)), fleet, { autoMigrate: false })
  const info = await store.open()
  try {
    return await act({ store, fleet, info })
  } finally {
    await store.close()
  }
}

export function storeOf({ store }: LedgerOptions): string {
  if (store) return store
  throw new FleetcronError('STORE_MISSING', 'Which ledger? Name it with --store, or in the variable FLEETCRON_STORE.')
}

export function fleetOf({ fleet }: LedgerOptions): string {
  if (fleet) return fleet
  throw new FleetcronError('OPTION_INVALID', 'Which fleet? Name it with --fleet, or in the variable FLEETCRON_FLEET.')
}

function lookedAt(url: string): string {
  if (!/^memory:/i.test(url)) return url
  const message = 'A ledger in memory: is seen by its own process only: the command line cannot look at it.'
  throw new FleetcronError('OPTION_INVALID', message)
}
