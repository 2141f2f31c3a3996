import Database from 'better-sqlite3'
import { PERIOD_MS, periodAt } from '../shared/periods.js'

/** One period as the two files tell it. */
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

export interface DefinitionInForce {
  readonly hash: string
  /** How often one was entered so far. */
  readonly entered: number
}

/** What the two applications keep differently: a ledger of runs, or a log of work. */
const RUNS = {
  fleet: `
    SELECT run.key AS period, run.state AS state,
      (SELECT group_concat(attempt.value ->> 'node' || ' ' || coalesce(attempt.value ->> 'outcome', 'running'), ' → ')
       FROM json_each(run.body, '$.attempts') AS attempt) AS attempts
    FROM ledger.run AS run WHERE run.job LIKE '%:invoices' AND run.state <> 'missed'`,
  plain: `
    SELECT period, min(iif(ended_at IS NULL, 'unfinished', 'succeeded')) AS state,
      group_concat(node || iif(ended_at IS NULL, ' unfinished', ' succeeded'), ' → ') AS attempts
    FROM (SELECT * FROM ledger.work ORDER BY attempt) GROUP BY period`,
} as const

const PERIODS = (runs: string) => `
  WITH run AS (${runs}),
  bill AS (
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

/** Reads the two files with plain SQL, as anybody could. */
export class Books {
  private readonly database: Database.Database

  constructor(
    files: { readonly database: string; readonly ledger: string },
    private readonly kind: keyof typeof RUNS,
  ) {
    this.database = new Database(files.database, { timeout: 5_000 })
    this.database.prepare('ATTACH ? AS ledger').run(files.ledger)
  }

  /** Every period from the first that was worked on to the last, by the calendar: none can be left out in silence. */
  periods(customers: number): PeriodRow[] {
    const keys = this.database
      .prepare(`SELECT period FROM (${RUNS[this.kind]}) UNION SELECT period FROM invoice`)
      .pluck()
      .all()
    const instants = (keys as string[]).map((key) => Date.parse(key))
    const wanted: string[] = []
    for (let at = Math.min(...instants); at <= Math.max(...instants); at += PERIOD_MS) wanted.push(periodAt(at))
    const rows = this.database.prepare(PERIODS(RUNS[this.kind])).all({ customers, periods: JSON.stringify(wanted) })
    return rows as PeriodRow[]
  }

  /** Invoices of a period at this moment. */
  invoicesOf(period: string): number {
    return this.count('SELECT count(*) AS count FROM invoice WHERE period = ?', period)
  }

  torn(): number {
    return this.count(TORN)
  }

  runsIn(state: 'queued' | 'running'): number {
    return this.count('SELECT count(*) AS count FROM ledger.run WHERE state = ?', state)
  }

  /** When an attempt of a period began, epoch milliseconds of the ledger's clock; null where it did not. */
  beganAt(period: string, attempt: number): number | null {
    const sql =
      this.kind === 'fleet'
        ? `SELECT json_extract(body, '$.attempts[' || (CAST(? AS INTEGER) - 1) || '].startedAt') AS at FROM ledger.run WHERE key = ?`
        : 'SELECT began_at AS at FROM ledger.work WHERE attempt = ? AND period = ?'
    return (this.database.prepare(sql).get(attempt, period) as { at: number | null } | undefined)?.at ?? null
  }

  definition(): DefinitionInForce {
    const sql = `
      SELECT job.definition AS hash,
        (SELECT count(*) FROM ledger.event WHERE event.job = job.job AND kind IN ('defined', 'redefined')) AS entered
      FROM ledger.job AS job WHERE job.job LIKE '%:invoices'`
    return this.database.prepare(sql).get() as DefinitionInForce
  }

  close(): void {
    this.database.close()
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
