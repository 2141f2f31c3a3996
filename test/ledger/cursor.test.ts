import { describe, expect, test } from 'vitest'
import type { Definition } from '../../src/ledger/types.js'
import { Book, TERMS } from './book.js'
import { NEWER, rules, zonesOf } from './zones.js'

/** The cursor: what is due above it, how it moves, and that no clock, zone data or change of terms repeats or loses one. */

function cron(expression: string, timeZone: string, dstGap: 'next' | 'skip' = 'next'): Pick<Definition, 'schedule'> {
  return { schedule: { cron: expression, timeZone, dstGap } }
}

function at(wall: string, timeZone: string): Pick<Definition, 'schedule'> {
  return { schedule: { at: wall, timeZone, dstGap: 'next' } }
}

/** What became of every occurrence: `key state`, with how many where it is not one. */
function fates(book: Book): string[] {
  return [...book.rows.values()].map(({ key, state, reason, covers }) => {
    const many = covers?.count === 1 ? '' : ` to ${covers?.to} x${covers?.count}`
    return `${key}${many} ${reason ?? state}`
  })
}

/** Attends at each of these instants and lets what was granted succeed. */
function pass(book: Book, ...instants: string[]): void {
  for (const instant of instants) {
    for (const run of book.attendAt(instant)) book.settle(run, { kind: 'returned', result: null })
  }
}

describe('a step of the store clock', () => {
  test('F05 back: nothing is decided twice, the next new one is on time, and a waiting run does not sit still', () => {
    const book = Book.defined('2026-11-29T09:58:30Z', cron('* * * * *', 'UTC'))
    pass(book, '2026-11-29T09:59:00Z', '2026-11-29T10:00:00Z')
    book.now = Date.parse('2026-11-29T10:00:30Z')
    book.ask('trigger', { id: 'm' })
    pass(book, '2026-11-29T09:50:00Z')
    expect(fates(book).at(-1)).toBe('manual:m to undefined xundefined succeeded')
    pass(book, '2026-11-29T09:59:00Z', '2026-11-29T10:00:00Z', '2026-11-29T10:01:00Z')
    expect(fates(book).filter((fate) => !fate.startsWith('manual'))).toEqual([
      '2026-11-29T09:59Z succeeded',
      '2026-11-29T10:00Z succeeded',
      '2026-11-29T10:01Z succeeded',
    ])
    expect(book.aggregate().header.wakeAt).toBe(Date.parse('2026-11-29T10:02Z'))
  })

  test('F05 back over a fixed time, by label', () => {
    const book = Book.defined('2026-11-29T09:58:30Z', cron('0 10 * * *', 'UTC'))
    pass(book, '2026-11-29T10:00:00Z', '2026-11-29T09:50:00Z', '2026-11-29T10:00:00Z', '2026-11-30T10:00:00Z')
    expect(fates(book)).toEqual(['2026-11-29T10:00 succeeded', '2026-11-30T10:00 succeeded'])
  })

  test('F04 forward: what was jumped over is late or catch-up, and the series goes on', () => {
    const book = Book.defined('2026-11-29T10:00:00Z', { schedule: { every: 5_000 } })
    pass(book, '2026-11-29T10:00:05Z', '2026-11-29T10:00:12Z', '2026-11-29T10:00:15Z')
    expect(fates(book)).toEqual([
      '2026-11-29T10:00:05Z succeeded',
      '2026-11-29T10:00:10Z succeeded',
      '2026-11-29T10:00:15Z succeeded',
    ])
    expect(book.aggregate().header.wakeAt).toBe(Date.parse('2026-11-29T10:00:20Z'))
  })

  test('forward and back again: what was decided stays decided', () => {
    const book = Book.defined('2026-11-29T10:00:30Z', cron('* * * * *', 'UTC'))
    pass(book, '2026-11-29T10:03:00Z', '2026-11-29T10:01:00Z', '2026-11-29T10:03:00Z', '2026-11-29T10:04:00Z')
    expect(fates(book)).toEqual(['2026-11-29T10:01Z to 2026-11-29T10:03Z x3 succeeded', '2026-11-29T10:04Z succeeded'])
  })
})

describe('daylight saving time', () => {
  const helsinki = (expression: string, dstGap: 'next' | 'skip' = 'next') => cron(expression, 'Helsinki', dstGap)

  test('labels that a gap hides fall on its end: one run, keyed by the first', () => {
    const book = Book.defined('2026-03-28T12:00Z', helsinki('0,30 3,4 * * *'))
    pass(book, '2026-03-29T00:59:59Z', '2026-03-29T01:00:00Z', '2026-03-29T01:30:00Z')
    expect(fates(book)).toEqual(['2026-03-29T03:00 succeeded', '2026-03-29T04:30 succeeded'])
    expect(book.row('2026-03-29T03:00')).toMatchObject({ scheduledAt: Date.parse('2026-03-29T01:00Z') })
    expect(book.aggregate().header.cursor.label).toBe('2026-03-29T04:30')
  })

  test('dstGap skip leaves them out', () => {
    const book = Book.defined('2026-03-28T12:00Z', helsinki('30 3 * * *', 'skip'))
    pass(book, '2026-03-29T01:00:00Z', '2026-03-30T00:30:00Z')
    expect(fates(book)).toEqual(['2026-03-30T03:30 succeeded'])
  })

  test('an overlap: a fixed time comes once, also after a restart inside the second pass', () => {
    const book = Book.defined('2026-10-24T12:00Z', helsinki('30 3 * * *'))
    pass(book, '2026-10-25T00:30:00Z', '2026-10-25T01:10:00Z', '2026-10-25T01:30:00Z', '2026-10-26T01:30:00Z')
    expect(fates(book)).toEqual(['2026-10-25T03:30 succeeded', '2026-10-26T03:30 succeeded'])
  })

  test('an overlap: an interval comes in both passes, and in a gap nothing is made up', () => {
    const autumn = Book.defined('2026-10-24T23:45Z', helsinki('*/30 * * * *'))
    pass(autumn, '2026-10-25T00:00Z', '2026-10-25T00:30Z', '2026-10-25T01:00Z', '2026-10-25T01:30Z')
    expect(fates(autumn)).toHaveLength(4)
    const spring = Book.defined('2026-03-29T00:45Z', helsinki('*/30 3 * * *'))
    pass(spring, '2026-03-29T01:00Z', '2026-03-29T01:30Z', '2026-03-30T00:00Z')
    expect(fates(spring)).toEqual(['2026-03-30T00:00Z succeeded'])
  })

  test('F85 a wake-up planned by an hour that the clock did not take is dropped', () => {
    const book = Book.defined('2026-10-25T12:00Z', helsinki('0 6 * * *'))
    const { header, ...rest } = book.aggregate()
    const planned = Date.parse('2026-10-26T03:00Z')
    book.job = { ...rest, header: { ...header, wakeAt: planned } }
    pass(book, '2026-10-26T03:00:00Z')
    expect(fates(book)).toEqual([])
    expect(book.aggregate().header.wakeAt).toBe(Date.parse('2026-10-26T04:00Z'))
    pass(book, '2026-10-26T04:00:00Z')
    expect(fates(book)).toEqual(['2026-10-26T06:00 succeeded'])
  })
})

describe('F86 nodes whose zone data differ: one run for each date', () => {
  const nine = cron('0 9 * * *', 'Vancouver')
  const [early, late] = [Date.parse('2026-12-01T16:00Z'), Date.parse('2026-12-01T17:00Z')]

  test('the node with the earlier plan decides it, the other finds it decided', () => {
    const book = Book.defined('2026-12-01T00:00Z', nine)
    book.zones = NEWER
    pass(book, new Date(early).toISOString())
    book.zones = zonesOf()
    pass(book, '2026-12-01T16:30Z', new Date(late).toISOString())
    book.zones = NEWER
    pass(book, '2026-12-02T15:30Z', '2026-12-02T16:00Z')
    expect(fates(book)).toEqual(['2026-12-01T09:00 succeeded', '2026-12-02T09:00 succeeded'])
  })

  test('the node with the later plan decides it when only that one is awake', () => {
    const book = Book.defined('2026-12-01T00:00Z', nine)
    pass(book, new Date(early).toISOString(), '2026-12-01T16:59Z', new Date(late).toISOString())
    book.zones = NEWER
    pass(book, '2026-12-01T17:01Z', '2026-12-02T16:00Z')
    expect(fates(book)).toEqual(['2026-12-01T09:00 succeeded', '2026-12-02T09:00 succeeded'])
  })

  test('F89 data that is taken back: still one run for each date, whoever attends', () => {
    const book = Book.defined('2026-10-28T00:00Z', nine)
    const nodes = [zonesOf(), NEWER, zonesOf({ Vancouver: rules(-6) })]
    for (let hour = 0; hour < 24 * 8; hour += 1) {
      const zones = nodes[(hour * 7) % 3]
      if (zones !== undefined) book.zones = zones
      pass(book, new Date(Date.parse('2026-10-28T00:00Z') + hour * 3_600_000).toISOString())
    }
    const dates = ['28', '29', '30', '31'].map((day) => `2026-10-${day}T09:00 succeeded`)
    expect(fates(book)).toEqual([...dates, ...['01', '02', '03', '04'].map((day) => `2026-11-${day}T09:00 succeeded`)])
  })
})

describe('a change of terms', () => {
  /** Redefines the job as if it were the only node's. */
  function redefine(book: Book, at: string, terms: Partial<Definition>): void {
    book.now = Date.parse(at)
    expect(book.define(`after change ${book.changes.length}`, { ...TERMS, ...terms })).toBe(true)
  }

  test('to a zone further east: the date that it has passed already is not lost', () => {
    const book = Book.defined('2026-11-28T20:00Z', cron('0 9 * * *', 'New York'))
    redefine(book, '2026-11-29T11:00Z', cron('0 9 * * *', 'Tokyo'))
    pass(book, '2026-11-29T11:00:01Z', '2026-11-30T00:00Z')
    expect(fates(book)).toEqual(['2026-11-29T09:00 succeeded', '2026-11-30T09:00 succeeded'])
  })

  test('to a zone further west: the date that was run is not run again', () => {
    const book = Book.defined('2026-11-28T20:00Z', cron('0 9 * * *', 'Tokyo'))
    pass(book, '2026-11-29T00:00Z')
    redefine(book, '2026-11-29T11:00Z', cron('0 9 * * *', 'New York'))
    pass(book, '2026-11-29T14:00Z', '2026-11-30T14:00Z')
    expect(fates(book)).toEqual(['2026-11-29T09:00 succeeded', '2026-11-30T09:00 succeeded'])
  })

  test('to a zone further west before anything was run: a date that is to come there is not taken for run', () => {
    const cases: Partial<Definition>[] = [cron('0 18 * * *', 'UTC'), at('2026-11-29T18:00', 'UTC')]
    for (const after of cases) {
      const book = Book.defined('2026-11-29T12:00:30Z', cron('0 18 * * *', 'Tokyo'))
      redefine(book, '2026-11-29T12:00:40Z', after)
      expect(book.aggregate().header.wakeAt).toBe(Date.parse('2026-11-29T18:00Z'))
      pass(book, '2026-11-29T18:00Z')
      expect(fates(book)).toEqual(['2026-11-29T18:00 succeeded'])
    }
  })

  test('to a zone further west by way of another kind, or retired meanwhile: the same', () => {
    const through = Book.defined('2026-11-29T12:00:30Z', cron('0 18 * * *', 'Tokyo'))
    redefine(through, '2026-11-29T12:01Z', { schedule: { every: 86_400_000 } })
    redefine(through, '2026-11-29T12:02Z', cron('0 18 * * *', 'UTC'))
    const retired = Book.defined('2026-11-29T12:00:30Z', cron('0 18 * * *', 'Tokyo'))
    retired.ask('retire')
    redefine(retired, '2026-11-29T12:02Z', cron('0 18 * * *', 'UTC'))
    for (const book of [through, retired]) {
      pass(book, '2026-11-29T18:00Z')
      expect(fates(book)).toEqual(['2026-11-29T18:00 succeeded'])
    }
  })

  test('of a single date to a zone further west: it comes there, unless that very label was run', () => {
    const book = Book.defined('2026-11-29T12:00:30Z', at('2026-11-30T06:00', 'Tokyo'))
    pass(book, '2026-11-29T21:00Z')
    redefine(book, '2026-11-29T21:10Z', at('2026-11-29T22:00', 'UTC'))
    pass(book, '2026-11-29T22:00Z')
    expect(fates(book)).toEqual(['2026-11-30T06:00 succeeded', '2026-11-29T22:00 succeeded'])
    redefine(book, '2026-11-29T23:00Z', at('2026-11-30T06:00', 'UTC'))
    book.now = Date.parse('2026-11-30T06:00Z')
    expect(book.attend({ taken: new Set(['2026-11-30T06:00']) })).toEqual([])
    expect(fates(book)).toHaveLength(2)
  })

  test('to an earlier time of the day: nothing of the past becomes due', () => {
    const book = Book.defined('2026-11-29T06:00Z', cron('0 9 * * *', 'UTC'))
    redefine(book, '2026-11-29T08:00Z', cron('0 7 * * *', 'UTC'))
    pass(book, '2026-11-29T08:01Z', '2026-11-30T07:00Z')
    expect(fates(book)).toEqual(['2026-11-30T07:00 succeeded'])
  })

  test('with a backlog: what was due before is decided under the old terms', () => {
    const book = Book.defined('2026-11-29T10:00:30Z', { ...cron('* * * * *', 'UTC'), overlap: 'wait' })
    redefine(book, '2026-11-29T10:03:05Z', {
      schedule: { every: 3_600_000 },
      catchUp: { ...TERMS.catchUp, policy: 'skip' },
    })
    expect(fates(book)).toEqual(['2026-11-29T10:01Z to 2026-11-29T10:03Z x3 queued'])
    pass(book, '2026-11-29T10:04Z', '2026-11-29T11:00:30Z')
    expect(fates(book)).toEqual([
      '2026-11-29T10:01Z to 2026-11-29T10:03Z x3 succeeded',
      '2026-11-29T11:00:30Z succeeded',
    ])
  })

  test('of kind, there and back: interval-like ones are keyed by instant, and the dates go on', () => {
    const book = Book.defined('2026-11-29T08:00Z', cron('0 9,10,11 * * *', 'UTC'))
    pass(book, '2026-11-29T09:00Z')
    redefine(book, '2026-11-29T09:10Z', cron('*/30 * * * *', 'UTC'))
    expect(book.aggregate().header.cursor.label).toBe('2026-11-29T09:10')
    pass(book, '2026-11-29T09:30Z')
    redefine(book, '2026-11-29T09:40Z', cron('0 9,10,11 * * *', 'UTC'))
    pass(book, '2026-11-29T10:00Z')
    expect(fates(book)).toEqual([
      '2026-11-29T09:00 succeeded',
      '2026-11-29T09:30Z succeeded',
      '2026-11-29T10:00 succeeded',
    ])
  })

  test('of kind in a zone that is ahead: labels of an interval swallow no date', () => {
    const book = Book.defined('2026-11-29T10:00Z', cron('*/30 * * * *', 'Tokyo'))
    pass(book, '2026-11-29T10:30Z')
    expect(book.aggregate().header.cursor).toEqual({ instant: Date.parse('2026-11-29T10:30Z'), label: '' })
    redefine(book, '2026-11-29T11:00Z', cron('0 9 * * *', 'New York'))
    pass(book, '2026-11-29T11:00:01Z', '2026-11-29T14:00Z')
    expect(fates(book).at(-1)).toBe('2026-11-29T09:00 succeeded')
  })

  test('of kind and zone, there and back: a date that was run stays run', () => {
    const book = Book.defined('2026-11-28T20:00Z', cron('0 9 * * *', 'Tokyo'))
    pass(book, '2026-11-29T00:00Z')
    redefine(book, '2026-11-29T11:00Z', { schedule: null })
    redefine(book, '2026-11-29T11:01Z', cron('0 9 * * *', 'New York'))
    pass(book, '2026-11-29T14:00Z', '2026-11-30T14:00Z')
    expect(fates(book)).toEqual(['2026-11-29T09:00 succeeded', '2026-11-30T09:00 succeeded'])
  })

  test('from no schedule to one: it begins now', () => {
    for (const schedule of [{ every: 60_000 }, cron('0 10 * * *', 'UTC').schedule ?? null]) {
      const book = Book.defined('2026-11-28T00:00Z', { schedule: null })
      expect(book.aggregate().header).toMatchObject({ wakeAt: null, cursor: { label: '' } })
      redefine(book, '2026-11-29T09:59:30Z', { schedule })
      expect(book.aggregate().header.wakeAt).toBe(Date.parse('2026-11-29T10:00Z'))
      pass(book, '2026-11-29T09:59:31Z')
      expect(fates(book)).toEqual([])
    }
  })

  test('every counts from the first definition, whatever was in between', () => {
    const book = Book.defined('2026-11-29T10:00:17Z', { schedule: { every: 60_000 } })
    redefine(book, '2026-11-29T10:05:40Z', { schedule: { every: 120_000 } })
    pass(book, '2026-11-29T10:05:41Z')
    expect(book.aggregate().header.wakeAt).toBe(Date.parse('2026-11-29T10:06:17Z'))
  })
})
