import { describe, expect, test } from 'vitest'
import type { CatchUp, Definition } from '../../src/ledger/types.js'
import { Book } from './book.js'

const merge = (withinMs: number): CatchUp => ({ policy: 'merge', withinMs, most: 100 })

function cron(expression: string, timeZone: string): Pick<Definition, 'schedule'> {
  return { schedule: { cron: expression, timeZone, dstGap: 'next' } }
}

/** The rows as `key state(reason) from..to xcount`, without the cause. */
function rows(book: Book): string[] {
  return [...book.rows.values()].map(({ key, state, reason, covers }) => {
    const span = covers === null ? '' : ` ${covers.from}..${covers.to} x${covers.count}`
    return `${key} ${state}${reason === null ? '' : `(${reason})`}${span}`
  })
}

describe('within', () => {
  const minute = cron('* * * * *', 'UTC')
  test('given: exactly so old is too old, a moment younger is not', () => {
    const at = (found: string): string[] => {
      const book = Book.defined('2026-11-29T10:00:30Z', { ...minute, catchUp: merge(120_000), graceMs: 0 })
      book.attendAt(found)
      return rows(book)
    }
    expect(at('2026-11-29T10:04:00Z')).toEqual([
      '2026-11-29T10:01Z missed(too-old) 2026-11-29T10:01Z..2026-11-29T10:02Z x2',
      '2026-11-29T10:03Z running 2026-11-29T10:03Z..2026-11-29T10:04Z x2',
    ])
    expect(at('2026-11-29T10:03:59.999Z')).toEqual([
      '2026-11-29T10:01Z missed(too-old) 2026-11-29T10:01Z..2026-11-29T10:01Z x1',
      '2026-11-29T10:02Z running 2026-11-29T10:02Z..2026-11-29T10:03Z x2',
    ])
  })

  test('shorter than grace: the fresh one is late, not missed', () => {
    const book = Book.defined('2026-11-29T10:00:30Z', { ...minute, catchUp: merge(1_000) })
    book.attendAt('2026-11-29T10:03:59Z')
    expect(rows(book)).toEqual([
      '2026-11-29T10:01Z missed(too-old) 2026-11-29T10:01Z..2026-11-29T10:02Z x2',
      '2026-11-29T10:03Z running 2026-11-29T10:03Z..2026-11-29T10:03Z x1',
    ])
  })

  const DEFAULTS: readonly (readonly [string, string, string, string, string[]])[] = [
    ['every five minutes: an hour', '*/5 * * * *', '2026-11-29T10:01Z', '2026-11-29T11:32Z', ['11:30Z', '12']],
    ['every two hours: a period', '0 */2 * * *', '2026-11-29T09:00Z', '2026-11-29T15:59Z', ['14:00Z', '1']],
    ['yearly: a week', '0 0 29 11 *', '2026-11-28T00:00Z', '2026-12-05T23:59Z', ['00:00', '1']],
    [
      'uneven: the shorter of the gaps before',
      '0 9,11 * * *',
      '2026-11-29T08:00Z',
      '2026-11-29T12:59Z',
      ['11:00', '1'],
    ],
    ['uneven: the shorter of the gaps after', '0 9,11 * * *', '2026-11-28T12:00Z', '2026-11-29T10:59Z', ['09:00', '1']],
  ]
  test.each(DEFAULTS)('default, %s', (_, expression, from, found, [time = '', count]) => {
    const book = Book.defined(from, cron(expression, 'UTC'))
    const [run] = book.attendAt(found)
    expect(run?.covers?.to.slice(11)).toBe(time)
    expect(String(run?.covers?.count)).toBe(count)
  })

  const TOO_OLD: readonly (readonly [string, string, string, string[]])[] = [
    [
      '0 */2 * * *',
      '2026-11-29T09:00Z',
      '2026-11-29T12:00Z',
      [
        '2026-11-29T10:00Z missed(too-old) 2026-11-29T10:00Z..2026-11-29T10:00Z x1',
        '2026-11-29T12:00Z running 2026-11-29T12:00Z..2026-11-29T12:00Z x1',
      ],
    ],
    [
      '0 0 29 11 *',
      '2026-11-28T00:00Z',
      '2026-12-06T00:00Z',
      ['2026-11-29T00:00 missed(too-old) 2026-11-29T00:00..2026-11-29T00:00 x1'],
    ],
    [
      '0 9,11 * * *',
      '2026-11-29T10:00Z',
      '2026-11-29T13:00Z',
      ['2026-11-29T11:00 missed(too-old) 2026-11-29T11:00..2026-11-29T11:00 x1'],
    ],
    [
      '0 9,11 * * *',
      '2026-11-28T12:00Z',
      '2026-11-29T11:00Z',
      [
        '2026-11-29T09:00 missed(too-old) 2026-11-29T09:00..2026-11-29T09:00 x1',
        '2026-11-29T11:00 running 2026-11-29T11:00..2026-11-29T11:00 x1',
      ],
    ],
  ]
  test.each(TOO_OLD)('default, just too old: %s from %s found at %s', (expression, from, found, expected) => {
    const book = Book.defined(from, cron(expression, 'UTC'))
    book.attendAt(found)
    expect(rows(book)).toEqual(expected)
  })

  test('default, one moment: a week', () => {
    const at = { schedule: { at: '2026-11-29T10:00', timeZone: 'UTC', dstGap: 'next' } } as const
    const found = (time: string): string[] => {
      const book = Book.defined('2026-11-28T00:00Z', at)
      book.attendAt(time)
      return rows(book)
    }
    expect(found('2026-12-06T09:59:59Z')).toEqual(['2026-11-29T10:00 running 2026-11-29T10:00..2026-11-29T10:00 x1'])
    expect(found('2026-12-06T10:00:00Z')).toEqual([
      '2026-11-29T10:00 missed(too-old) 2026-11-29T10:00..2026-11-29T10:00 x1',
    ])
  })
})

describe('a daily job never joins two dates', () => {
  const changes = [
    ['Helsinki', '2026-03-29'],
    ['Helsinki', '2026-10-25'],
    ['New York', '2026-03-08'],
    ['New York', '2026-11-01'],
    ['Lord Howe', '2026-04-05'],
    ['Lord Howe', '2026-10-04'],
    ['UTC', '2026-11-29'],
  ] as const
  const times = ['0 0 * * *', '30 2 * * *', '0 9 * * *', '30 23 * * *'] as const
  const cases = changes.flatMap(([zone, date]) => times.map((time) => [time, zone, date] as const))
  test.each(cases)('%s in %s around %s', (time, zone, date) => {
    const middle = Date.parse(`${date}T00:00Z`)
    // Attended at every hour of four days, by one that waits for a place: found at once, or one after the other.
    for (const stepHours of [3, 30, 96]) {
      const book = Book.defined(new Date(middle - 48 * 3_600_000).toISOString(), cron(time, zone))
      book.ask('trigger')
      book.attend()
      for (let hour = stepHours; hour <= 96; hour += stepHours) {
        book.now = middle + (hour - 48) * 3_600_000 + 61_000
        book.attend()
      }
      for (const run of book.rows.values()) {
        if (run.cause === 'catch-up') expect(run.covers?.count).toBe(1)
      }
    }
  })

  test('a waiting one from the day before is not widened on the day of 23 hours', () => {
    const book = Book.defined('2026-03-28T01:00Z', cron('0 4 * * *', 'Helsinki'))
    book.ask('trigger')
    book.attend()
    book.attendAt('2026-03-28T03:00Z')
    book.attendAt('2026-03-29T01:30Z')
    expect(rows(book).slice(1)).toEqual([
      '2026-03-28T04:00 queued 2026-03-28T04:00..2026-03-28T04:00 x1',
      '2026-03-29T04:00 queued 2026-03-29T04:00..2026-03-29T04:00 x1',
    ])
  })
})
