import type { Customer } from '../shared/customers.js'
import type { Cashier, ChargeRow } from './cashier.js'
import type { Check, Facts, Reckoning } from './reckoning.js'
import { clockOf } from './story.js'
import { formatTable } from './table.js'

/** The reckoning, with what stands in the provider's own book. */
export function withCharges(
  { rows, result, checks }: Reckoning,
  { books, deeds, leaseMs }: Facts,
  cashier: Cashier,
  customers: readonly Customer[],
): Reckoning {
  const charges = cashier.periods(
    rows.map(({ period }) => period),
    customers,
  )
  const sum = (count: (row: ChargeRow) => number) => charges.reduce((total, row) => total + count(row), 0)
  const duplicates = sum((row) => row.duplicates)
  const missing = sum((row) => row.missing)
  const uncertain = books.uncertain()
  const total = cashier.total()
  const more: Check[] = [
    ['the provider has charged every customer for every period', missing === 0],
    ['and nobody twice, and nothing else', duplicates === 0 && total === sum((row) => row.charges)],
    ['in the end no charge is uncertain', uncertain === 0],
    ['a node was killed in its request, after the money had moved', deeds.killedInSend > 0],
    [
      `a node was stopped in its request for ${deeds.stoppedInSendMs} ms, longer than its lease`,
      deeds.stoppedInSend > 0 && deeds.stoppedInSendMs > leaseMs,
    ],
    ['the provider failed in every way it knows', cashier.pending === 0],
  ]
  return {
    rows,
    charges,
    result: {
      ...result,
      charges: total,
      doubleCharges: duplicates,
      missingCharges: missing,
      uncertain,
      killedInSend: deeds.killedInSend,
      stoppedInSend: deeds.stoppedInSend,
    },
    checks: [...checks, ...more],
  }
}

const HEADINGS = ['period', 'charges', 'expected', 'duplicates', 'missing']

export function tableOfCharges(rows: readonly ChargeRow[]): string {
  const cells = rows.map((row) => [clockOf(row.period), row.charges, row.expected, row.duplicates, row.missing])
  const sum = (column: number) => cells.reduce((total, row) => total + Number(row[column]), 0)
  return formatTable(HEADINGS, [...cells, ['sum', sum(1), sum(2), sum(3), sum(4)]])
}
