import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Cursor, parseSchedule, type Schedule, scheduleSpec, type ZoneRules } from '../../src/schedule/index.js'
import { propertyRuns } from '../property-runs.js'
import { isPossible, minuteExpressions } from './arbitraries.js'
import { isFixedTime, matcher, text } from './oracle.js'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const START = Date.UTC(2026, 9, 1)

interface Change {
  readonly at: number
  readonly offset: number
}

/** Zone data as a list of changes. */
function rules(first: number, changes: readonly Change[]): ZoneRules {
  return {
    offsetAt: (instant) => changes.findLast(({ at }) => at <= instant)?.offset ?? first,
    nextChange: (instant, limit) => changes.find(({ at }) => at > instant && at <= limit)?.at ?? null,
  }
}

function node(cron: string, timeZone: string, data: ZoneRules): Schedule {
  return parseSchedule({ cron, timeZone, dstGap: 'next' }, { anchor: 0, zones: () => data })
}

/** What a ledger does at `now`: decide what is due, and move the cursor to the decided labels and the wall label of now. */
function attend(schedule: Schedule, cursor: Cursor, now: number) {
  const due = schedule.between(cursor, now, 100_000)
  const here = schedule.later(cursor, { instant: now, label: schedule.label(now) })
  const last = due.at(-1)
  return {
    due,
    cursor: last === undefined ? here : schedule.later(here, { instant: last.instant, label: last.through }),
  }
}

/** Two versions of a zone's rules: changes at other times, of other size, or none, at most two in twelve days. */
const offset = fc.constantFrom(-4, -3.5, -3, -5).map((hours) => hours * HOUR)
const version = fc
  .array(fc.record({ at: fc.integer({ min: 0, max: 12 * 24 }).map((hour) => START + hour * HOUR), offset }), {
    maxLength: 2,
  })
  .map((changes) =>
    rules(
      -4 * HOUR,
      changes.sort((a, b) => a.at - b.at),
    ),
  )
const visits = fc.array(fc.record({ who: fc.nat({ max: 1 }), wait: fc.integer({ min: 1, max: 36 * 60 }) }), {
  minLength: 4,
  maxLength: 14,
})

describe('nodes whose zone data differ', () => {
  it('decide every label of a fixed-time job once, and lose none', () => {
    const expressions = minuteExpressions.filter((cron) => isFixedTime(cron) && isPossible(cron))
    fc.assert(
      fc.property(expressions, version, version, visits, (cron, one, other, steps) => {
        const nodes = [node(cron, 'Land/Old', one), node(cron, 'Land/New', other)] as const
        const matches = matcher(cron)
        let now = START
        let cursor = nodes[0].cursorAt(now)
        const begin = cursor.label
        const decided: string[] = []
        for (const { who, wait } of [...steps, { who: 0, wait: 3 * 24 * 60 }]) {
          now += wait * MINUTE
          const visit = attend(nodes[who] ?? nodes[0], cursor, now)
          for (const { key, through } of visit.due)
            decided.push(...labels(key, through).filter((label) => matches(wallOf(label))))
          expect(visit.cursor.label >= cursor.label && visit.cursor.instant >= cursor.instant).toBe(true)
          cursor = visit.cursor
        }
        const expected = labels(begin, cursor.label).filter((label) => label > begin && matches(wallOf(label)))
        expect(decided).toEqual(expected)
      }),
      { numRuns: propertyRuns(200) },
    )
  })

  it('never repeat an instant of an interval-like job', () => {
    const expressions = minuteExpressions.filter((cron) => !isFixedTime(cron) && isPossible(cron))
    fc.assert(
      fc.property(expressions, version, version, visits, (cron, one, other, steps) => {
        const nodes = [node(cron, 'Land/Old', one), node(cron, 'Land/New', other)] as const
        let now = START
        let cursor = nodes[0].cursorAt(now)
        let last = now
        for (const { who, wait } of steps) {
          now += wait * MINUTE
          const visit = attend(nodes[who] ?? nodes[0], cursor, now)
          for (const { instant } of visit.due) {
            expect(instant).toBeGreaterThan(last)
            last = instant
          }
          cursor = visit.cursor
        }
      }),
      { numRuns: propertyRuns(200) },
    )
  })

  it('give one run for the day on which British Columbia does not go back (S44, F86)', () => {
    const old = rules(-7 * HOUR, [{ at: Date.UTC(2026, 10, 1, 9), offset: -8 * HOUR }])
    const current = rules(-7 * HOUR, [])
    const a = node('0 9 * * *', 'America/Vancouver', old)
    const b = node('0 9 * * *', 'America/Vancouver', current)
    const from = Date.parse('2026-12-01T00:00:00.000Z')
    expect(a.next(a.cursorAt(from))?.instant).toBe(Date.parse('2026-12-01T17:00:00.000Z'))
    expect(b.next(b.cursorAt(from))?.instant).toBe(Date.parse('2026-12-01T16:00:00.000Z'))

    const first = attend(b, b.cursorAt(from), Date.parse('2026-12-01T16:00:00.000Z'))
    expect(first.due.map(({ key }) => key)).toEqual(['2026-12-01T09:00'])
    const second = attend(a, first.cursor, Date.parse('2026-12-01T17:00:00.000Z'))
    expect(second.due).toEqual([])
    expect(a.next(second.cursor)?.key).toBe('2026-12-02T09:00')
  })

  it('give one run a day while a change is put off and brought back (F89, Lebanon 2023)', () => {
    const early = rules(2 * HOUR, [{ at: Date.UTC(2023, 2, 25, 22), offset: 3 * HOUR }])
    const late = rules(2 * HOUR, [{ at: Date.UTC(2023, 3, 20, 22), offset: 3 * HOUR }])
    const nodes = [node('0 0 * * *', 'Asia/Beirut', early), node('0 0 * * *', 'Asia/Beirut', late)] as const
    let now = Date.UTC(2023, 2, 20)
    let cursor = nodes[0].cursorAt(now)
    const keys: string[] = []
    for (let turn = 0; now < Date.UTC(2023, 4, 1); turn++) {
      const visit = attend(nodes[turn % 2] ?? nodes[0], cursor, now)
      keys.push(...visit.due.map(({ key }) => key))
      cursor = visit.cursor
      now += 7 * HOUR
    }
    const days = labels('2023-03-21T00:00', '2023-05-01T00:00').filter((label) => label.endsWith('T00:00'))
    expect(keys).toEqual(days.slice(0, keys.length))
    expect(keys.length).toBeGreaterThanOrEqual(41)
  })

  it('keep the plan a label: the instant follows the change of the clock (F85)', () => {
    const schedule = parseSchedule(scheduleSpec({ cron: '0 6 * * 1', timeZone: 'America/New_York' }), { anchor: 0 })
    const found = schedule.between(
      schedule.cursorAt(Date.parse('2026-10-25T12:00Z')),
      Date.parse('2026-11-03T00:00Z'),
      9,
    )
    expect(found.map(({ key, instant }) => [key, new Date(instant).toISOString()])).toEqual([
      ['2026-10-26T06:00', '2026-10-26T10:00:00.000Z'],
      ['2026-11-02T06:00', '2026-11-02T11:00:00.000Z'],
    ])
  })
})

describe('a job that changes its kind or its zone', () => {
  it('goes on from its cursor: the hours of an interval-like job are behind the fixed times that follow', () => {
    const hourly = parseSchedule(scheduleSpec({ cron: '0 * * * *', timeZone: 'America/New_York' }), { anchor: 0 })
    const daily = parseSchedule(scheduleSpec({ cron: '30 1 * * *', timeZone: 'America/New_York' }), { anchor: 0 })
    // The second pass of the repeated hour: the first 01:30 is over.
    const cursor = hourly.cursorAt(Date.parse('2025-11-02T06:10Z'))
    expect(daily.next(cursor)?.key).toBe('2025-11-03T01:30')
  })

  it('does not run a date again when its zone moves west, nor leave one out when it moves east', () => {
    const at = Date.parse('2026-06-10T00:00Z')
    const east = parseSchedule(scheduleSpec({ cron: '0 1 * * *', timeZone: 'Asia/Tokyo' }), { anchor: 0 })
    const west = parseSchedule(scheduleSpec({ cron: '0 1 * * *', timeZone: 'America/New_York' }), { anchor: 0 })
    expect(west.next(east.cursorAt(at))?.key).toBe('2026-06-11T01:00')
    expect(east.next(west.cursorAt(at))?.key).toBe('2026-06-10T01:00')
  })
})

function wallOf(label: string): number {
  return Date.parse(`${label}Z`)
}

/** Every minute from one label to another. */
function labels(from: string, to: string): string[] {
  const found: string[] = []
  for (let wall = Math.ceil(wallOf(from) / MINUTE) * MINUTE; wall <= wallOf(to); wall += MINUTE) found.push(text(wall))
  return found
}
