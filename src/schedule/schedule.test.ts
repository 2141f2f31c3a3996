import { describe, expect, it } from 'vitest'
import { parseSchedule } from './schedule.js'
import { scheduleSpec } from './spec.js'

const NOON = Date.parse('2026-11-29T12:00Z')
const MINUTE = 60_000

describe('every', () => {
  const schedule = parseSchedule(scheduleSpec({ every: '15m', timeZone: 'Asia/Kathmandu' }), { anchor: NOON + 7 })

  it('counts from its anchor, which is not an occurrence itself, and is labelled in UTC', () => {
    expect(schedule.kind).toBe('interval-like')
    expect(schedule.next(schedule.cursorAt(NOON - 86_400_000))).toEqual({
      key: '2026-11-29T12:15:00.007Z',
      label: '2026-11-29T12:15:00.007',
      through: '2026-11-29T12:15:00.007',
      instant: NOON + 7 + 15 * MINUTE,
    })
    expect(schedule.label(NOON)).toBe('2026-11-29T12:00')
  })

  it('lists, counts and looks back', () => {
    const cursor = schedule.cursorAt(NOON)
    const until = NOON + 7 + 60 * MINUTE
    expect(schedule.between(cursor, until, 9).map(({ instant }) => (instant - NOON - 7) / MINUTE)).toEqual([
      15, 30, 45, 60,
    ])
    expect(schedule.count(cursor, until)).toBe(4)
    expect(schedule.count(cursor, until - 1)).toBe(3)
    expect(schedule.latest(cursor, until, 2).map(({ instant }) => (instant - NOON - 7) / MINUTE)).toEqual([45, 60])
    expect(schedule.count(cursor, NOON + 10 * 365.25 * 86_400_000)).toBe(10 * 365.25 * 96 - 1)
  })

  it('knows its keys', () => {
    expect(schedule.occurrence('2026-11-29T12:30:00.007Z')?.instant).toBe(NOON + 7 + 30 * MINUTE)
    for (const key of [
      '2026-11-29T12:00:00.007Z',
      '2026-11-29T11:45:00.007Z',
      '2026-11-29T12:30Z',
      '2026-11-29T12:30:00.007',
      'x',
    ]) {
      expect(schedule.occurrence(key)).toBeNull()
    }
  })
})

describe('at', () => {
  const make = (at: string | Date, timeZone = 'America/New_York') =>
    parseSchedule(scheduleSpec({ at, timeZone }), { anchor: 0 })

  it('a label is one fixed time, the first pass of an overlap', () => {
    const schedule = make('2026-11-01T01:30')
    expect(schedule.kind).toBe('fixed-time')
    const due = {
      key: '2026-11-01T01:30',
      label: '2026-11-01T01:30',
      through: '2026-11-01T01:30',
      instant: Date.parse('2026-11-01T05:30Z'),
    }
    expect(schedule.next(schedule.cursorAt(due.instant - 1))).toEqual(due)
    expect(schedule.next(schedule.cursorAt(due.instant))).toBeNull()
    expect(schedule.count(schedule.cursorAt(0), NOON)).toBe(1)
    expect(schedule.latest(schedule.cursorAt(0), NOON, 5)).toEqual([due])
    expect(schedule.occurrence(due.key)).toEqual(due)
    expect(schedule.occurrence('2026-11-01T01:31')).toBeNull()
  })

  it('a label in a gap is due at its end', () => {
    const schedule = make('2026-03-08T02:30')
    expect(schedule.next(schedule.cursorAt(0))).toMatchObject({
      key: '2026-03-08T02:30',
      instant: Date.parse('2026-03-08T07:00Z'),
    })
  })

  it('an instant is known by its instant, and labelled in the zone', () => {
    const schedule = make(new Date('2026-11-01T06:30:00.500Z'))
    expect(schedule.kind).toBe('interval-like')
    expect(schedule.between(schedule.cursorAt(0), NOON, 5)).toEqual([
      {
        key: '2026-11-01T06:30:00.500Z',
        label: '2026-11-01T01:30:00.500',
        through: '2026-11-01T01:30:00.500',
        instant: Date.parse('2026-11-01T06:30:00.500Z'),
      },
    ])
    expect(schedule.count(schedule.cursorAt(NOON), NOON + 1)).toBe(0)
    expect(schedule.next(schedule.cursorAt(NOON))).toBeNull()
  })
})

describe('cron', () => {
  const make = (cron: string, dstGap: 'next' | 'skip' = 'next') =>
    parseSchedule(scheduleSpec({ cron, timeZone: 'America/New_York', dstGap }), { anchor: 0 })

  it('knows its keys, and no others', () => {
    const daily = make('30 2 * * *')
    expect(daily.occurrence('2026-03-09T02:30')?.instant).toBe(Date.parse('2026-03-09T06:30Z'))
    expect(daily.occurrence('2026-03-08T02:30')?.instant).toBe(Date.parse('2026-03-08T07:00Z'))
    for (const key of ['2026-03-09T02:31', '2026-03-09T06:30Z', '2026-03-09T02:30:00', '', 'manual:1']) {
      expect(daily.occurrence(key)).toBeNull()
    }
    expect(make('30 2 * * *', 'skip').occurrence('2026-03-08T02:30')).toBeNull()
    expect(make('0 * * * *').occurrence('2026-11-01T06:00Z')?.label).toBe('2026-11-01T01:00')
    expect(make('0 * * * *').occurrence('2026-11-01T06:01Z')).toBeNull()
  })

  it('keeps a label of a gap as a key of its own where the cursor stands among them', () => {
    const twice = make('0,30 2 * * *')
    const both = twice.next(twice.cursorAt(Date.parse('2026-03-08T05:00Z')))
    expect(both).toMatchObject({ key: '2026-03-08T02:00', through: '2026-03-08T02:30' })
    // Another node decided 02:00 with data in which there is no gap: 02:30 is still owed.
    expect(twice.next({ instant: 0, label: '2026-03-08T02:00' })).toMatchObject({
      key: '2026-03-08T02:30',
      instant: both?.instant,
    })
    expect(twice.occurrence('2026-03-08T02:30')?.key).toBe('2026-03-08T02:30')
  })

  it('refuses a cursor whose label is damaged', () => {
    expect(() => make('30 2 * * *').next({ instant: 0, label: 'yesterday' })).toThrow(
      "label 'yesterday' is not a label",
    )
  })
})
