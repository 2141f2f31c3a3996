/** What a node is told by its environment. */
export interface Config {
  /** Path of the SQLite file with the invoices. */
  readonly database: string
  /** URL of the ledger (in the plain application the path of the SQLite file with the lock). */
  readonly ledger: string
  /** Name of the fleet: demonstrations that share a server do not share a ledger. */
  readonly fleet: string
  /** Path of customers.csv. */
  readonly customers: string
  /** So many customers of it, from the first; null: all. */
  readonly most: number | null
  /** URL of the payment provider that charges them; null: they are invoiced only. */
  readonly provider: string | null
  /** How long a silent node is believed to be alive, milliseconds. */
  readonly leaseMs: number
  readonly release: string
  /** A release that does not live long: it starts, and exits with code 1. */
  readonly broken: boolean
}

/** One set of names for the two sides. */
export function toEnvironment(config: Config): Record<string, string> {
  return {
    BILLING_DATABASE: config.database,
    BILLING_LEDGER: config.ledger,
    BILLING_FLEET: config.fleet,
    BILLING_CUSTOMERS: config.customers,
    BILLING_MOST: config.most === null ? '' : String(config.most),
    BILLING_PROVIDER: config.provider ?? '',
    BILLING_LEASE_MS: String(config.leaseMs),
    BILLING_RELEASE: config.release,
    BILLING_BROKEN: config.broken ? 'yes' : 'no',
  }
}

export function fromEnvironment(environment: NodeJS.ProcessEnv = process.env): Config {
  const read = (name: string): string => {
    const value = environment[name]
    if (value === undefined || value === '') throw new Error(`${name} is not set`)
    return value
  }
  return {
    database: read('BILLING_DATABASE'),
    ledger: read('BILLING_LEDGER'),
    fleet: read('BILLING_FLEET'),
    customers: read('BILLING_CUSTOMERS'),
    most: environment.BILLING_MOST ? Number(environment.BILLING_MOST) : null,
    provider: environment.BILLING_PROVIDER || null,
    leaseMs: Number(read('BILLING_LEASE_MS')),
    release: read('BILLING_RELEASE'),
    broken: read('BILLING_BROKEN') === 'yes',
  }
}
