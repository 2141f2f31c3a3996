import { describe, expect, test, vi } from 'vitest'
import type { CatchUp, Definition } from '../../src/ledger/types.js'
import { CronMoments } from '../../src/schedule/cron-moments.js'
import { Progression } from '../../src/schedule/moments.js'
import type { ScheduleSpec } from '../../src/schedule/types.js'
import { Book } from './book.js'

const YEAR_SECONDS = 365 * 86_400

/** Every question that is put to a set of moments while `act` runs: what a walk over a year would make millions of. */
function questions(act: () => void): number {
  const spies = [CronMoments.prototype, Progression.prototype].flatMap((prototype) => [
    vi.spyOn(prototype, 'next'),
    vi.spyOn(prototype, 'last'),
    vi.spyOn(prototype, 'count'),
  ])
  act()
  const asked = spies.reduce((sum, spy) => sum + spy.mock.calls.length, 0)
  for (const spy of spies) spy.mockRestore()
  return asked
}

describe('a year of outage of a job that is due every second', () => {
  const schedules: readonly (readonly [string, ScheduleSpec])[] = [
    ['by instant', { cron: '* * * * * *', timeZone: 'UTC', dstGap: 'next' }],
    ['by instant, in a zone', { cron: '* * * * * *', timeZone: 'Helsinki', dstGap: 'next' }],
    ['by label', { cron: '0-59 0-59 0-23 * * *', timeZone: 'Helsinki', dstGap: 'next' }],
    ['by label, without the gap', { cron: '0-59 0-59 0-23 * * *', timeZone: 'Helsinki', dstGap: 'skip' }],
    ['by period', { every: 1_000 }],
  ]
  const policies: readonly CatchUp[] = [
    { policy: 'merge', withinMs: null, most: 100 },
    { policy: 'merge', withinMs: 2 * YEAR_SECONDS * 1_000, most: 100 },
    { policy: 'each', withinMs: 2 * YEAR_SECONDS * 1_000, most: 250 },
    { policy: 'skip', withinMs: null, most: 100 },
  ]
  const cases = schedules.flatMap(([name, schedule]) => policies.map((catchUp) => ({ name, schedule, catchUp })))

  test.each(cases)('$name, $catchUp.policy within $catchUp.withinMs', ({ schedule, catchUp }) => {
    const terms: Partial<Definition> = { schedule, catchUp }
    const book = Book.defined('2025-11-29T10:00:00Z', terms)
    const asked = questions(() => book.attendAt('2026-11-29T10:00:00.500Z'))
    expect(asked).toBeLessThan(3_000)
    const change = book.changes.at(-1)
    expect(change?.runs.length).toBeLessThanOrEqual(300)
    // The hour that autumn shows twice has its labels once; those that spring leaves out fall on one that it shows.
    const isByLabel = 'cron' in schedule && schedule.cron.startsWith('0-59')
    const expected = isByLabel ? YEAR_SECONDS - 3_600 : YEAR_SECONDS
    const counted = [...book.rows.values()].reduce((sum, run) => sum + (run.covers?.count ?? 0), 0)
    expect(counted).toBe(expected)
    expect(book.aggregate().header.wakeAt).toBeLessThanOrEqual(Date.parse('2026-11-29T10:00:01Z'))
  })

  test('paused all the time: one row', () => {
    const book = Book.defined('2025-11-29T10:00:00Z', { schedule: { every: 1_000 } })
    book.ask('pause')
    book.now = Date.parse('2026-11-29T10:00:00Z')
    expect(questions(() => book.ask('resume'))).toBeLessThan(100)
    expect([...book.rows.values()].map(({ reason, covers }) => [reason, covers?.count])).toEqual([
      ['paused', YEAR_SECONDS],
    ])
  })

  test('the rows of the past do not grow while it goes on: a busy second makes at most one', () => {
    const book = Book.defined('2026-11-29T10:00:00Z', { schedule: { every: 1_000 } })
    const start = book.now
    for (let second = 1; second <= 600; second += 1) {
      book.now = start + second * 1_000
      book.attend({ room: 1 })
    }
    expect(book.rows.size).toBe(2)
  })
})
