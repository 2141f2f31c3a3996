import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Occurrence, parseSchedule, type Schedule, scheduleSpec } from '../../src/schedule/index.js'
import { propertyRuns } from '../property-runs.js'
import { isPossible, minuteExpressions, secondExpressions } from './arbitraries.js'
import { clockTable, type Expected, fixedTime, intervalLike, isFixedTime, type Shown, text } from './oracle.js'
import { PLACES } from './places.js'

const HOUR = 3_600_000
const DAY = 24 * HOUR
const gaps = fc.constantFrom('next' as const, 'skip' as const)

const tables = new Map<string, Shown[]>()

function tableAround(place: number, reach: number, stepMs: number): Shown[] {
  const [timeZone, instant] = PLACES[place] ?? ['UTC', '2026-01-01T00:00Z']
  const key = `${place} ${reach} ${stepMs}`
  const table =
    tables.get(key) ?? clockTable(timeZone, Date.parse(instant) - reach, Date.parse(instant) + reach, stepMs)
  tables.set(key, table)
  return table
}

const place = fc.nat({ max: PLACES.length - 1 })

function make(place: number, cron: string, dstGap: 'next' | 'skip'): Schedule {
  return parseSchedule(scheduleSpec({ cron, timeZone: PLACES[place]?.[0] ?? 'UTC', dstGap }), { anchor: 0 })
}

function plain(schedule: Schedule, occurrences: readonly Occurrence[]): Expected[] {
  const through = (occurrence: Occurrence) => (schedule.kind === 'fixed-time' ? occurrence.through : '')
  return occurrences.map((occurrence) => ({
    key: occurrence.key,
    through: through(occurrence),
    instant: occurrence.instant,
  }))
}

const possible = minuteExpressions.filter(isPossible)

describe('a schedule, held against every minute of the clock', () => {
  it('lists exactly what a look at each minute finds', () => {
    fc.assert(
      fc.property(
        place,
        possible,
        gaps,
        fc.nat({ max: 3 * 1440 }),
        fc.nat({ max: 4 * 1440 }),
        (at, cron, dstGap, start, length) => {
          const table = tableAround(at, 4 * DAY, 60_000)
          const schedule = make(at, cron, dstGap)
          const fixed = isFixedTime(cron)
          expect(schedule.kind).toBe(fixed ? 'fixed-time' : 'interval-like')
          const from = (table[0]?.instant ?? 0) + 2.5 * DAY + start * 60_000
          const until = Math.min(from + length * 60_000, (table.at(-1)?.instant ?? 0) - 2.5 * DAY)
          const all = fixed ? fixedTime(cron, table, 60_000, dstGap) : intervalLike(cron, table)
          const expected = all.filter(({ instant }) => instant > from && instant <= until)
          expect(plain(schedule, schedule.between(schedule.cursorAt(from), until, 10_000))).toEqual(expected)
        },
      ),
      { numRuns: propertyRuns(600) },
    )
  })

  it('goes by label alone where the job is fixed-time, wherever the label stands', () => {
    fc.assert(
      fc.property(
        place,
        possible.filter(isFixedTime),
        gaps,
        fc.nat({ max: 2 * 1440 * 60 }),
        (at, cron, dstGap, second) => {
          const table = tableAround(at, 4 * DAY, 60_000)
          const schedule = make(at, cron, dstGap)
          const label = text((table[0]?.wall ?? 0) + 3 * DAY + second * 1_000)
          const until = (table.at(-1)?.instant ?? 0) - 2.5 * DAY
          const expected = fixedTime(cron, table, 60_000, dstGap, label).filter(({ instant }) => instant <= until)
          const cursor = { label, instant: Number.NaN }
          expect(plain(schedule, schedule.between(cursor, until, 10_000))).toEqual(expected)
          expect(schedule.count(cursor, until)).toBe(expected.length)
          expect(plain(schedule, schedule.latest(cursor, until, 3))).toEqual(expected.slice(-3))
        },
      ),
      { numRuns: propertyRuns(600) },
    )
  })

  it('does so to the second', () => {
    const span = fc.integer({ min: -5_400, max: 5_400 })
    fc.assert(
      fc.property(place, secondExpressions, span, fc.nat({ max: 1_800 }), (at, cron, start, length) => {
        fc.pre(!isFixedTime(cron))
        const anchor = Date.parse(PLACES[at]?.[1] ?? '')
        const schedule = make(at, cron, 'next')
        const from = anchor + start * 1_000
        const until = from + length * 1_000
        const table = tableAround(at, 2.1 * HOUR, 1_000)
        const expected = intervalLike(cron, table).filter(({ instant }) => instant > from && instant <= until)
        expect(plain(schedule, schedule.between(schedule.cursorAt(from), until, 100_000))).toEqual(expected)
      }),
      { numRuns: propertyRuns(300) },
    )
  })

  it('does so to the second for fixed times in gaps and overlaps', () => {
    const few = fc.constantFrom(...[0, 1, 11, 13].map((index) => index % PLACES.length))
    fc.assert(
      fc.property(few, secondExpressions, gaps, fc.integer({ min: -7_200, max: 3_600 }), (at, cron, dstGap, start) => {
        fc.pre(isFixedTime(cron))
        const schedule = make(at, cron, dstGap)
        const from = Date.parse(PLACES[at]?.[1] ?? '') + start * 1_000
        const until = from + HOUR
        const table = tableAround(at, 1.2 * DAY, 1_000)
        const expected = fixedTime(cron, table, 1_000, dstGap).filter(
          ({ instant }) => instant > from && instant <= until,
        )
        const cursor = schedule.cursorAt(from)
        expect(plain(schedule, schedule.between(cursor, until, 100_000))).toEqual(expected)
        expect(schedule.count(cursor, until)).toBe(expected.length)
      }),
      { numRuns: propertyRuns(60) },
    )
  })
})
