import { describe, expect, test } from 'vitest'
import * as ledger from '../../src/ledger/index.js'
import type { Change } from '../../src/ledger/types.js'
import { judge } from '../../src/store/guards.js'
import { Book } from './book.js'

const at = (time: string): number => Date.parse(`2026-11-29T${time}Z`)
const REQUEST = { id: 'r', by: 'me', why: null }

const COMMANDS = {
  pause: ledger.pause,
  retire: ledger.retire,
  resume: ledger.resume,
} as const

/** A minute job whose cursor was set back by five minutes while two of the five rows stayed. */
function rewound(removed: readonly number[], paused = false): Book {
  const book = Book.defined('2026-11-29T10:00:30Z', { catchUp: { policy: 'each', withinMs: 86_400_000, most: 100 } })
  for (const minute of [1, 2, 3, 4, 5]) {
    const [run] = book.attendAt(`2026-11-29T10:0${minute}:00Z`)
    if (run) book.settle(run, { kind: 'returned', result: null })
  }
  for (const minute of removed) book.rows.delete(`2026-11-29T10:0${minute}Z`)
  book.now = at('10:05:30')
  const job = book.aggregate()
  const pause = paused ? { since: at('10:05:10'), until: null, by: 'me', why: null } : null
  book.job = {
    ...job,
    runs: [],
    header: { ...job.header, cursor: { instant: at('10:00:30'), label: '2026-11-29T10:00' }, lastFate: null, pause },
  }
  return book
}

/** Gives a command until its change holds the request's event, as the loop does: a clash tells it what is there. */
function carryOut(book: Book, command: keyof typeof COMMANDS): Change {
  const taken = new Set<string>()
  for (let round = 0; round < 50; round += 1) {
    const job = book.aggregate()
    const decision = COMMANDS[command](job, { request: REQUEST, until: null }, { ...book.ctx(), taken })
    if (decision.outcome !== 'change') throw new Error(`round ${round}: ${decision.outcome}`)
    const { change } = decision
    const result = judge(change, {
      version: job.version,
      settled: job.tally.settled,
      run: (key) => book.rows.get(key) ?? null,
      event: () => false,
      definition: () => true,
      attempt: () => null,
    })
    if (result?.outcome === 'clash') for (const key of result.keys) taken.add(key)
    else book.apply(change)
    if (result === null && change.events.some(({ id }) => id === REQUEST.id)) return change
  }
  throw new Error('the command is never carried out')
}

describe('a job whose cursor was set back and whose rows were not', () => {
  test.each(['pause', 'retire'] as const)('%s swallows nothing that was due before it', (command) => {
    const book = rewound([1, 3, 5])
    carryOut(book, command)
    const rows = ['1', '2', '3', '4', '5'].map((minute) => book.row(`2026-11-29T10:0${minute}Z`))
    expect(rows.map(({ reason }) => reason)).not.toContain('paused')
    expect(rows.map(({ cause, covers }) => `${cause} x${covers?.count}`)).toEqual([
      'catch-up x1',
      'schedule x1',
      'catch-up x1',
      'schedule x1',
      expect.stringMatching(/^(schedule|catch-up) x1$/),
    ])
    const { header } = book.aggregate()
    expect(command === 'pause' ? header.pause !== null : header.retired).toBe(true)
    expect(header.cursor.instant).toBe(book.now)
  })

  test('resume: what passed in the pause is missed, and not run when it ends', () => {
    const book = rewound([2, 3, 5], true)
    carryOut(book, 'resume')
    expect(book.aggregate().header.pause).toBeNull()
    const missed = [...book.rows.values()].filter(({ state }) => state === 'missed')
    expect(missed.map(({ key, reason }) => `${key.slice(11)} ${reason}`)).toEqual(['10:02Z paused'])
    expect(missed[0]?.covers).toEqual({ from: '2026-11-29T10:02Z', to: '2026-11-29T10:05Z', count: 4 })
    expect(book.attend()).toEqual([])
  })

  test('trigger, which changes no terms, is carried out at once', () => {
    const book = rewound([1, 3, 5])
    const taken = new Set(['2026-11-29T10:02Z'])
    const decision = ledger.trigger(book.aggregate(), { request: REQUEST, data: null }, { ...book.ctx(), taken })
    expect(decision.outcome === 'change' && decision.change.events.map(({ id }) => id)).toEqual(['r'])
  })
})

describe('a live row of a node with other zone data, above a cursor that was set back', () => {
  /** Waits for its place, and covers what the other node took for labels. */
  function behindRow(from: string, to: string): Book {
    const cron = '0,10,20,30,40,50 1,2,3 * * *'
    const book = Book.defined('2026-03-08T06:45:30Z', {
      schedule: { cron, timeZone: 'New York', dstGap: 'skip' },
      catchUp: { policy: 'each', withinMs: 86_400_000, most: 100 },
    })
    book.now = Date.parse('2026-03-08T07:25:30Z')
    const job = book.aggregate()
    const row = ledger.trigger(job, { request: REQUEST, data: null }, book.ctx())
    if (row.outcome !== 'change') throw new Error(row.outcome)
    const run = row.change.runs.find(({ run: { cause } }) => cause === 'manual')?.run
    if (run === undefined) throw new Error('there is no run')
    const covers = { from, to, count: 2 }
    const cause = 'catch-up' as const
    const other = { ...run, key: from, cause, lane: 'backlog' as const, covers, scheduledAt: book.now }
    book.rows.set(from, other)
    book.job = { ...job, runs: [other], header: { ...job.header, waiting: { ...job.header.waiting, backlog: 1 } } }
    return book
  }

  // 2:00 to 2:59 are no labels here: the clock goes from 1:59 to 3:00.
  test.each([
    ['ends where there is no label here', '2026-03-08T01:50', '2026-03-08T02:20', ['03:00', '03:10', '03:20']],
    ['begins where there is no label here', '2026-03-08T02:50', '2026-03-08T03:10', ['01:50', '03:20']],
    ['covers no label of here', '2026-03-08T02:10', '2026-03-08T02:40', ['01:50', '03:00', '03:10', '03:20']],
  ])('is neither made twice nor its occurrences, where it %s', (_, from, to, others) => {
    const book = behindRow(from, to)
    for (let round = 0; round < 5; round += 1) book.attend()
    const made = [...book.rows.values()].filter(({ key, cause }) => key !== from && cause !== 'manual')
    const keys = made.flatMap(({ covers }) => [covers?.from, covers?.to].map((key) => key?.slice(11)))
    expect([...new Set(keys)].sort()).toEqual(others)
  })
})
