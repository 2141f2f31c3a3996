import Database from 'better-sqlite3'
import { type Fault, Provider } from '../provider/server.js'
import type { Customer } from '../shared/customers.js'

const DAY_MS = 86_400_000

/** One period as the provider's own book tells it. */
export interface ChargeRow {
  readonly period: string
  readonly charges: number
  readonly expected: number
  readonly duplicates: number
  readonly missing: number
}

const PERIODS = `
  WITH wanted AS (
    SELECT period.key AS number, period.value AS period, 'charge:' || period.value || ':' || (customer.value ->> 'id') AS reference,
      customer.value ->> 'price' AS amount, customer.value ->> 'currency' AS currency
    FROM json_each(@periods) AS period, json_each(@customers) AS customer
  ), charged AS (
    SELECT wanted.number, wanted.period, wanted.reference, count(charge.id) AS times FROM wanted
    LEFT JOIN charge ON charge.reference = wanted.reference AND charge.amount = wanted.amount AND charge.currency = wanted.currency
    GROUP BY wanted.reference
  )
  SELECT period, sum(times) AS charges, count(*) AS expected, sum(max(times - 1, 0)) AS duplicates, sum(times = 0) AS missing
  FROM charged GROUP BY number ORDER BY number`

/** The payment provider of the demonstration, which fails when it is told to, and its book. */
export class Cashier {
  private readonly provider: Provider
  private readonly file: string
  private told: ((reference: string) => void) | null = null

  private constructor(provider: Provider, file: string) {
    this.provider = provider
    this.file = file
  }

  static async start(file: string): Promise<Cashier> {
    const charged = (reference: string) => cashier.charged(reference)
    const cashier: Cashier = new Cashier(await Provider.start({ file, keepMs: DAY_MS, charged }), file)
    return cashier
  }

  get url(): string {
    return this.provider.url
  }

  /** Faults that have met no charge yet. */
  get pending(): number {
    return this.provider.pending
  }

  fault(fault: Fault): void {
    this.provider.fault(fault)
  }

  /** Acts while the sender of the next charge waits for its answer: the money has moved, and nobody has been told. */
  inSend<T>(act: (reference: string) => T): Promise<T> {
    this.provider.fault('slow')
    return new Promise((resolve, reject) => {
      this.told = (reference) => {
        try {
          resolve(act(reference))
        } catch (error) {
          reject(error)
        }
      }
    })
  }

  /** What stands in its book, by plain SQL. */
  periods(periods: readonly string[], customers: readonly Customer[]): ChargeRow[] {
    const asked = { periods: JSON.stringify(periods), customers: JSON.stringify(customers) }
    return this.read((book) => book.prepare(PERIODS).all(asked) as ChargeRow[])
  }

  total(): number {
    return this.read((book) => book.prepare('SELECT count(*) FROM charge').pluck().get() as number)
  }

  stop(): Promise<void> {
    return this.provider.stop()
  }

  private charged(reference: string): void {
    const { told } = this
    this.told = null
    told?.(reference)
  }

  private read<T>(act: (book: Database.Database) => T): T {
    const book = new Database(this.file, { readonly: true })
    try {
      return act(book)
    } finally {
      book.close()
    }
  }
}
