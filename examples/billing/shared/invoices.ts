import type { Customer } from './customers.js'
import type { Db } from './database.js'
import type { Minor } from './money.js'

export interface Invoice {
  readonly customer: Customer
  /** Key of the period: its instant, such as `2026-11-29T16:45:02Z`. */
  readonly period: string
  readonly periodStart: Date
  /** Who makes it, for people. */
  readonly node: string
}

/** Permille of the price that a payment costs. */
const PAYMENT_FEE = 15

const INSERT_INVOICE = `
  INSERT INTO invoice (customer_id, period, issued_on, total, currency, node) VALUES (?, ?, ?, ?, ?, ?)`
const INSERT_LINE = 'INSERT INTO invoice_line (invoice, position, text, amount) VALUES (?, ?, ?, ?)'

/** Writes an invoice with its lines and returns its number. The caller has a transaction open on `tx`. */
export function createInvoice(tx: Db, { customer, period, periodStart, node }: Invoice): number {
  const lines: readonly (readonly [string, Minor])[] = [
    [`Plan ${customer.plan} for ${customer.name}`, customer.price],
    ['Payment', Math.round((customer.price * PAYMENT_FEE) / 1000)],
  ]
  const total = lines.reduce((sum, [, amount]) => sum + amount, 0)
  const issuedOn = dateIn(customer.zone, periodStart)
  const { lastInsertRowid } = tx
    .prepare(INSERT_INVOICE)
    .run(customer.id, period, issuedOn, total, customer.currency, node)
  for (const [index, [text, amount]] of lines.entries()) {
    tx.prepare(INSERT_LINE).run(lastInsertRowid, index + 1, text, amount)
  }
  return Number(lastInsertRowid)
}

const formats = new Map<string, Intl.DateTimeFormat>()

/** The calendar date in a zone, `2026-11-29`. */
function dateIn(zone: string, instant: Date): string {
  const format = formats.get(zone) ?? new Intl.DateTimeFormat('sv', { timeZone: zone, dateStyle: 'short' })
  formats.set(zone, format)
  return format.format(instant)
}
