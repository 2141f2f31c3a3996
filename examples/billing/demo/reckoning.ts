import { isDeepStrictEqual } from 'node:util'
import type { Books, PeriodRow } from './books.js'
import type { ChargeRow } from './cashier.js'
import type { Deeds } from './scene.js'
import { clockOf } from './story.js'
import { formatTable } from './table.js'

/** The last line of `--json`. */
export interface Result {
  readonly periods: number
  readonly customers: number
  readonly invoices: number
  readonly duplicates: number
  readonly missing: number
  readonly killed: number
  readonly invoicesBeforeKill: number
  readonly paused: number
  readonly lateWritesRefused: number
  readonly takeoverMs: number
  readonly pids: readonly number[]
  /** Where the ledger was, unless it was in a SQLite file. */
  readonly store?: string
  /** How often its server was killed and started again, where that was asked for. */
  readonly serverRestarts?: number
  /** With `--provider`: what stands in the provider's book, and what nobody knows in the end. */
  readonly charges?: number
  readonly doubleCharges?: number
  readonly missingCharges?: number
  readonly uncertain?: number
  readonly killedInSend?: number
  readonly stoppedInSend?: number
}

/** A sentence, and whether it is true. */
export type Check = readonly [sentence: string, holds: boolean]

export interface Reckoning {
  readonly rows: readonly PeriodRow[]
  /** The provider's, where customers were charged. */
  readonly charges?: readonly ChargeRow[]
  readonly result: Result
  readonly checks: readonly Check[]
}

export interface Facts {
  readonly books: Books
  readonly deeds: Deeds
  readonly customers: number
  readonly leaseMs: number
  readonly pids: readonly number[]
  readonly store: string
}

/** Counts what stands in business database and ledger, and says of each promise whether it was kept. */
export async function reckon(facts: Facts, guarded: boolean): Promise<Reckoning> {
  const { books, deeds, customers, pids, store } = facts
  const rows = await books.periods(customers)
  const sum = (count: (row: PeriodRow) => number) => rows.reduce((total, row) => total + count(row), 0)
  const result: Result = {
    periods: rows.length,
    customers,
    invoices: sum((row) => row.invoices),
    duplicates: sum((row) => row.duplicates),
    missing: sum((row) => row.missing),
    killed: deeds.killed,
    invoicesBeforeKill: deeds.invoicesBeforeKill,
    paused: deeds.paused,
    lateWritesRefused: deeds.lateWritesRefused,
    takeoverMs: deeds.takeoverMs,
    pids,
    ...(store !== 'sqlite' && { store: store.replace(/:.*/, '') }),
    ...(deeds.outageMs !== null && { serverRestarts: 1 }),
  }
  return { rows, result, checks: guarded ? promises(facts, rows, result) : faults(facts, result) }
}

/** What has to hold with Fleetcron. */
function promises({ books, deeds, customers, leaseMs }: Facts, rows: readonly PeriodRow[], result: Result): Check[] {
  return [
    ['every customer has an invoice for every period', result.missing === 0],
    ['no customer has two for one period', result.duplicates === 0],
    ['every invoice has its lines', books.torn() === 0],
    [
      'every period from the first to the last has exactly one run, and it succeeded',
      rows.every((row) => row.runs === 1 && row.state === 'succeeded'),
    ],
    [
      `a node was killed in mid-period, after ${deeds.invoicesBeforeKill} of ${customers} invoices`,
      wasMid(deeds, customers),
    ],
    [
      `its period was taken over ${deeds.takeoverMs} ms later: at most the lease of ${leaseMs} ms and a second`,
      deeds.takeoverMs > 0 && deeds.takeoverMs <= leaseMs + 1_000,
    ],
    [
      `a node was paused for ${deeds.pausedMs} ms, longer than its lease, and its late write was refused`,
      deeds.paused > 0 && deeds.pausedMs > leaseMs && deeds.lateWritesRefused > 0,
    ],
    [
      'the changed definition was entered once, and crashing old nodes flipped nothing',
      wasEnteredOnce(deeds.definitions),
    ],
    ...serverCheck(deeds),
  ]
}

function serverCheck({ outageMs }: Deeds): Check[] {
  if (outageMs === null) return []
  return [[`the server of the ledger was killed in mid-period, and away for ${outageMs} ms`, outageMs > 0]]
}

/** What has to be seen without it. */
function faults({ deeds, customers, leaseMs }: Facts, result: Result): Check[] {
  return [
    [
      `a node was killed in mid-period, after ${deeds.invoicesBeforeKill} of ${customers} invoices`,
      wasMid(deeds, customers),
    ],
    [`a node was paused for ${deeds.pausedMs} ms, longer than its lock`, deeds.paused > 0 && deeds.pausedMs > leaseMs],
    [`the fault shows: ${result.duplicates} customers were billed twice`, result.duplicates > 0],
  ]
}

function wasEnteredOnce(definitions: Deeds['definitions']): boolean {
  if (definitions === null) return false
  const { before, joined, after } = definitions
  return joined.hash !== before.hash && joined.entered === before.entered + 1 && isDeepStrictEqual(after, joined)
}

function wasMid({ invoicesBeforeKill }: Deeds, customers: number): boolean {
  return invoicesBeforeKill > 0 && invoicesBeforeKill < customers
}

const HEADINGS = ['period', 'attempts', 'invoices', 'expected', 'duplicates', 'missing']

/** The table, with a letter in place of each node's host and process. */
export function tableOf(rows: readonly PeriodRow[], nameOf: (pid: number) => string): string {
  const named = (attempts: string) => attempts.replace(/\S*#(\d+)/g, (_, pid: string) => nameOf(Number(pid)))
  const cells = rows.map((row) => [
    clockOf(row.period),
    named(row.attempts) || row.state,
    row.invoices,
    row.expected,
    row.duplicates,
    row.missing,
  ])
  const sum = (column: number) => cells.reduce((total, row) => total + Number(row[column]), 0)
  return formatTable(HEADINGS, [...cells, ['sum', '', sum(2), sum(3), sum(4), sum(5)]])
}
