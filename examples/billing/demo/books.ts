import Database from 'better-sqlite3'
import { PERIOD_MS, periodAt } from '../shared/periods.js'
import type { LedgerReader } from './ledgers.js'

/** One period as business database and ledger tell it. */
export interface PeriodRow {
  readonly period: string
  readonly runs: number
  /** State of its one run. */
  readonly state: string
  /** `host#pid outcome`, in order. */
  readonly attempts: string
  readonly invoices: number
  readonly expected: number
  readonly duplicates: number
  readonly missing: number
}

const PERIODS = `
  WITH run AS (
    SELECT value ->> 'period' AS period, value ->> 'state' AS state, value ->> 'attempts' AS attempts FROM json_each(@runs)
  ), bill AS (
    SELECT period, count(*) AS invoices, count(DISTINCT customer_id) AS customers FROM invoice GROUP BY period
  )
  SELECT wanted.value AS period, count(run.period) AS runs, coalesce(max(run.state), 'no run') AS state,
    coalesce(max(run.attempts), '') AS attempts, coalesce(bill.invoices, 0) AS invoices, @customers AS expected,
    coalesce(bill.invoices - bill.customers, 0) AS duplicates, @customers - coalesce(bill.customers, 0) AS missing
  FROM json_each(@periods) AS wanted
  LEFT JOIN run ON run.period = wanted.value
  LEFT JOIN bill ON bill.period = wanted.value
  GROUP BY wanted.value ORDER BY wanted.key`

/** Invoices whose lines do not make up their total: an effect that was torn apart. */
const TORN = `
  SELECT count(*) AS count FROM invoice
  WHERE total IS NOT (SELECT sum(amount) FROM invoice_line WHERE invoice_line.invoice = invoice.number)`

const UNCERTAIN = `SELECT count(*) AS count FROM fleetcron_effect WHERE state IN ('intended', 'uncertain')`

/** The business database, read with plain SQL as anybody could, beside what the ledger says. */
export class Books {
  private readonly database: Database.Database

  constructor(
    path: string,
    readonly ledger: LedgerReader,
  ) {
    this.database = new Database(path, { timeout: 5_000 })
  }

  /** Every period from the first that was worked on to the last, by the calendar: none can be left out in silence. */
  async periods(customers: number): Promise<PeriodRow[]> {
    const runs = await this.ledger.runs()
    const billed = this.database.prepare('SELECT DISTINCT period FROM invoice').pluck().all() as string[]
    const instants = [...runs.map(({ period }) => period), ...billed].map((key) => Date.parse(key))
    const wanted: string[] = []
    for (let at = Math.min(...instants); at <= Math.max(...instants); at += PERIOD_MS) wanted.push(periodAt(at))
    const asked = { customers, runs: JSON.stringify(runs), periods: JSON.stringify(wanted) }
    return this.database.prepare(PERIODS).all(asked) as PeriodRow[]
  }

  /** Invoices of a period at this moment. */
  invoicesOf(period: string): number {
    return this.count('SELECT count(*) AS count FROM invoice WHERE period = ?', period)
  }

  torn(): number {
    return this.count(TORN)
  }

  /** Calls of the provider whose outcome nobody knows. */
  uncertain(): number {
    return this.count(UNCERTAIN)
  }

  async close(): Promise<void> {
    this.database.close()
    await this.ledger.close()
  }

  private count(sql: string, ...values: string[]): number {
    return (this.database.prepare(sql).get(...values) as { count: number }).count
  }
}

/** Whether nobody holds the file's write lock. Somebody at work lets go of it within the wait; somebody stopped does not. */
export function isFree(path: string): boolean {
  const database = new Database(path, { timeout: 250 })
  try {
    database.exec('BEGIN IMMEDIATE; ROLLBACK')
    return true
  } catch (error) {
    if ((error as { code?: string }).code === 'SQLITE_BUSY') return false
    throw error
  } finally {
    database.close()
  }
}
