import { Cron } from 'croner'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { nextOccurrences, parseSchedule, type Schedule, scheduleSpec } from '../../src/schedule/index.js'
import { propertyRuns } from '../property-runs.js'
import { dateFields, isPossible, minuteExpressions, secondExpressions } from './arbitraries.js'
import { matcher } from './oracle.js'
import { PLACES } from './places.js'

const DAY = 86_400_000
const zone = fc.constantFrom(...new Set(PLACES.map(([timeZone]) => timeZone)))
const instant = fc.integer({ min: Date.UTC(1971, 0, 1), max: Date.UTC(2040, 0, 1) })
const gap = fc.constantFrom('next' as const, 'skip' as const)
const expression = fc.oneof(minuteExpressions, secondExpressions).filter(isPossible)

/** Any kind of schedule. */
const schedules: fc.Arbitrary<Schedule> = fc
  .oneof(
    { weight: 8, arbitrary: fc.record({ cron: expression, timeZone: zone, dstGap: gap }) },
    { weight: 1, arbitrary: fc.record({ every: fc.integer({ min: 1_000, max: 40 * DAY }), timeZone: zone }) },
    { weight: 1, arbitrary: fc.record({ at: instant.map((ms) => new Date(ms)), timeZone: zone }) },
  )
  .chain((input) => instant.map((anchor) => parseSchedule(scheduleSpec(input), { anchor })))

describe('laws of every schedule', () => {
  it('next is strictly after the cursor, increases, and agrees with between, count and latest (F87)', () => {
    fc.assert(
      fc.property(
        schedules,
        instant,
        fc.nat({ max: 400 * DAY }),
        fc.nat({ max: 8 }),
        (schedule, from, length, limit) => {
          const cursor = schedule.cursorAt(from)
          const until = from + length
          const first = schedule.between(cursor, until, limit)
          expect(first[0] ?? null).toEqual(limit === 0 ? null : dueOnly(schedule.next(cursor), until))
          let place = cursor
          for (const occurrence of first) {
            expect(schedule.next(place)).toEqual(occurrence)
            expect(occurrence.instant).toBeGreaterThan(place.instant)
            expect(occurrence.through >= occurrence.label).toBe(true)
            if (schedule.kind === 'fixed-time') expect(occurrence.label > place.label).toBe(true)
            expect(schedule.occurrence(occurrence.key)).toEqual(occurrence)
            place = schedule.later(place, { instant: occurrence.instant, label: occurrence.through })
          }
          const count = schedule.count(cursor, until)
          expect(Math.min(count, limit)).toBe(first.length)
          if (count <= 2_000) {
            const all = schedule.between(cursor, until, 2_001)
            expect(all).toHaveLength(count)
            expect(schedule.latest(cursor, until, limit)).toEqual(limit === 0 ? [] : all.slice(-limit))
          }
        },
      ),
      { numRuns: propertyRuns(600) },
    )
  })

  it('counts a stretch as the sum of its parts, wherever it is cut', () => {
    fc.assert(
      fc.property(schedules, fc.array(instant, { minLength: 3, maxLength: 3 }), (schedule, instants) => {
        const [a = 0, b = 0, c = 0] = [...instants].sort((x, y) => x - y)
        const parts = schedule.count(schedule.cursorAt(a), b) + schedule.count(schedule.cursorAt(b), c)
        expect(schedule.count(schedule.cursorAt(a), c)).toBe(parts)
      }),
      { numRuns: propertyRuns(500) },
    )
  })

  it('puts the cursor at an instant between what is due and what is not', () => {
    fc.assert(
      fc.property(schedules, instant, (schedule, at) => {
        const cursor = schedule.cursorAt(at)
        expect(cursor.instant).toBe(at)
        expect(cursor.label >= schedule.label(at)).toBe(true)
        const next = schedule.next(cursor)
        if (next === null) return
        expect(next.instant).toBeGreaterThan(at)
        expect(schedule.next(schedule.cursorAt(next.instant - 1))).toEqual(next)
        expect(schedule.next(schedule.cursorAt(next.instant))?.key).not.toBe(next.key)
      }),
      { numRuns: propertyRuns(600) },
    )
  })

  it('never moves a cursor back', () => {
    fc.assert(
      fc.property(schedules, instant, instant, (schedule, a, b) => {
        const later = schedule.later(schedule.cursorAt(a), schedule.cursorAt(b))
        expect(later).toEqual(schedule.cursorAt(Math.max(a, b)))
        expect(schedule.later(schedule.cursorAt(b), schedule.cursorAt(a))).toEqual(later)
      }),
    )
  })
})

describe('the wall times of an expression', () => {
  it('are those of croner on UTC, over decades of dates', () => {
    fc.assert(
      fc.property(dateFields, instant, (fields, from) => {
        const cron = `0 12 ${fields}`
        fc.pre(isPossible(cron))
        const theirs = new Cron(cron, { utcOffset: 0, mode: '5-or-6-parts' }).nextRuns(40, new Date(from))
        const ours = nextOccurrences(cron, { timeZone: 'UTC', from, count: 40 })
        expect(ours.map((occurrence) => occurrence.instant)).toEqual(theirs.map((date) => date.getTime()))
      }),
      { numRuns: propertyRuns(300) },
    )
  })

  it('are the dates that a plain reading of the fields finds, over thirty years', () => {
    fc.assert(
      fc.property(dateFields, (fields) => {
        const matches = matcher(`0 0 ${fields}`)
        const expected: number[] = []
        for (let day = Date.UTC(2000, 0, 1); day < Date.UTC(2030, 0, 1); day += DAY)
          if (matches(day)) expected.push(day)
        const cron = `0 0 ${fields}`
        expect(isPossible(cron)).toBe(expected.length > 0)
        fc.pre(expected.length > 0)
        const schedule = parseSchedule(scheduleSpec({ cron, timeZone: 'UTC' }), { anchor: 0 })
        const cursor = schedule.cursorAt(Date.UTC(2000, 0, 1) - 1)
        const found = schedule.between(cursor, Date.UTC(2030, 0, 1) - 1, 20_000)
        expect(found.map((occurrence) => occurrence.instant)).toEqual(expected)
      }),
      { numRuns: propertyRuns(60) },
    )
  })
})

function dueOnly<T extends { instant: number }>(occurrence: T | null, until: number): T | null {
  return occurrence !== null && occurrence.instant <= until ? occurrence : null
}
