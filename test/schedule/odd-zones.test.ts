import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Cursor, parseSchedule, type Schedule, type ZoneRules } from '../../src/schedule/index.js'
import { propertyRuns } from '../property-runs.js'
import { isPossible, minuteExpressions } from './arbitraries.js'
import { fixedTime, intervalLike, isFixedTime, type Shown, text } from './oracle.js'

/**
 * Zones that no country has: the clock jumps by up to a day and more, forward and back, and at the seams of the cache.
 */
const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
/** A multiple of 400 days, by which the package keeps what it knows of a zone. */
const SEAM = 51 * 400 * DAY

interface Change {
  readonly at: number
  readonly offset: number
}

function rules(changes: readonly Change[]): ZoneRules {
  return {
    offsetAt: (instant) => changes.findLast(({ at }) => at <= instant)?.offset ?? 0,
    nextChange: (instant, limit) => changes.find(({ at }) => at > instant && at <= limit)?.at ?? null,
  }
}

function make(cron: string, zone: ZoneRules, dstGap: 'next' | 'skip' = 'next'): Schedule {
  return parseSchedule({ cron, timeZone: 'Land/Odd', dstGap }, { anchor: 0, zones: () => zone })
}

function clock(zone: ZoneRules, from: number, to: number): Shown[] {
  const table: Shown[] = []
  for (let instant = from; instant <= to; instant += MINUTE)
    table.push({ instant, wall: instant + zone.offsetAt(instant) })
  return table
}

const change = fc.record({
  at: fc.integer({ min: -12 * 60, max: 12 * 60 }).map((minutes) => minutes * MINUTE),
  offset: fc.integer({ min: -80, max: 80 }).map((quarters) => quarters * 15 * MINUTE),
})
function place(changes: readonly Change[]) {
  const zone = rules(changes)
  return { zone, table: clock(zone, SEAM - 7 * DAY, SEAM + 7 * DAY) }
}

/** Up to three changes, three days apart, the middle one near a seam: a fixed choice, so that each table is made once. */
const zones = fc
  .sample(fc.array(change, { minLength: 1, maxLength: 3 }), { numRuns: 40, seed: 20_261_129 })
  .map((changes) => place(changes.map(({ at, offset }, index) => ({ at: SEAM + (index - 1) * 3 * DAY + at, offset }))))

/** From eight in the evening to ten in the morning two days later: a whole date is left out, and parts of its neighbours. */
const dateless = place([
  { at: SEAM - 3 * DAY, offset: -18 * HOUR },
  { at: SEAM + 14 * HOUR, offset: 20 * HOUR },
])

/** By number, so that a counterexample does not print its table; the last one comes often. */
const places = [...zones, dateless]
const anyPlace = fc.oneof(
  { weight: 3, arbitrary: fc.nat({ max: zones.length - 1 }) },
  { weight: 1, arbitrary: fc.constant(zones.length) },
)

/** The wall times that the table's clock jumps over. */
function hiddenWalls(table: readonly Shown[]): number[] {
  return table.flatMap(({ wall }, index) => {
    const next = table[index + 1]?.wall ?? wall
    return Array.from({ length: Math.max(0, (next - wall) / MINUTE - 1) }, (_, step) => wall + (step + 1) * MINUTE)
  })
}

interface Listed {
  readonly key: string
  readonly through: string
  readonly instant: number
}

function listed(occurrences: readonly Listed[], fixed: boolean): string[] {
  return occurrences.map(({ key, through, instant }) => `${key} ${fixed ? through : ''} ${instant}`)
}

describe('a schedule in a zone that no country has', () => {
  it('lists exactly what a look at each minute finds, from any instant and any label', () => {
    const expressions = minuteExpressions.filter(isPossible)
    const gaps = fc.constantFrom('next' as const, 'skip' as const)
    const start = fc.nat({ max: 8 * 1_440 })
    const length = fc.nat({ max: 3 * 1_440 })
    fc.assert(
      fc.property(anyPlace, expressions, gaps, start, length, (at, cron, dstGap, a, b) => {
        const { zone, table } = places[at] ?? dateless
        const from = SEAM - 4.5 * DAY + a * MINUTE
        const until = Math.min(from + b * MINUTE, SEAM + 4.5 * DAY)
        const schedule = make(cron, zone, dstGap)
        const fixed = isFixedTime(cron)
        const check = (cursor: Cursor, after: string) => {
          const all = fixed ? fixedTime(cron, table, MINUTE, dstGap, after) : intervalLike(cron, table)
          const due = all.filter(({ instant }) => instant <= until && (after !== '' || instant > from))
          const expected = listed(due, fixed)
          expect(listed(schedule.between(cursor, until, 10_000), fixed)).toEqual(expected)
          expect(schedule.count(cursor, until)).toBe(expected.length)
          expect(listed(schedule.latest(cursor, until, 5), fixed)).toEqual(expected.slice(-5))
        }
        check(schedule.cursorAt(from), '')
        if (!fixed) return
        const hidden = hiddenWalls(table)
        const labels = [from, ...(hidden.length > 0 ? [hidden[(a * 7_919) % hidden.length] ?? from] : [])].map(text)
        for (const label of labels) check({ instant: from, label }, label)
      }),
      { numRuns: propertyRuns(150) },
    )
  })

  it('does not bring labels back when a clock goes back twice within an hour', () => {
    const zone = rules([
      { at: SEAM, offset: -HOUR },
      { at: SEAM + 30 * MINUTE, offset: -2 * HOUR },
    ])
    const schedule = make('0,10,20,30,40,50 0-23 * * *', zone)
    const begin = schedule.cursorAt(SEAM - HOUR)
    const keys = schedule.between(begin, SEAM + 4 * HOUR, 100).map(({ key }) => key)
    expect(new Set(keys).size).toBe(keys.length)
    expect([...keys].sort()).toEqual(keys)
    // Half an hour after the first change the clock has shown everything up to the seam, and comes to it again at two.
    expect(schedule.next(schedule.cursorAt(SEAM + 40 * MINUTE))).toMatchObject({ instant: SEAM + 2 * HOUR })
    expect(schedule.count(begin, SEAM + 4 * HOUR)).toBe(keys.length)
  })

  it('does not list an occurrence twice when its labels lie on both sides of a missing date', () => {
    const daily = make('0 0 * * *', dateless.zone)
    const missing = text(SEAM)
    const after = text(SEAM + DAY)
    const place: Cursor = { instant: SEAM, label: missing }
    const until = SEAM + 14 * HOUR
    expect(daily.between(place, until, 5).map(({ key }) => key)).toEqual([after])
    expect(daily.latest(place, until, 5).map(({ key }) => key)).toEqual([after])
    expect(daily.count(place, until)).toBe(1)
  })
})
