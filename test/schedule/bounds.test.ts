import { describe, expect, it } from 'vitest'
import { intlZones, parseSchedule, type Schedule, scheduleSpec, type ZoneRules } from '../../src/schedule/index.js'

const NOW = Date.UTC(2026, 10, 29)
const YEAR = 365.25 * 86_400_000

function make(cron: string, timeZone: string, zones = intlZones): Schedule {
  return parseSchedule(scheduleSpec({ cron, timeZone }), { anchor: 0, zones })
}

/** The zone's rules, with each question counted. */
function counted(timeZone: string) {
  const rules = intlZones(timeZone)
  const asked = { times: 0 }
  const counting: ZoneRules = {
    offsetAt: (instant) => {
      asked.times += 1
      return rules.offsetAt(instant)
    },
    nextChange: (instant, limit) => {
      asked.times += 1
      return rules.nextChange(instant, limit)
    },
  }
  return { asked, zones: () => counting }
}

describe('work is bounded', () => {
  it('29 February from 2096 is 2104', () => {
    const schedule = make('0 0 29 2 *', 'Europe/Helsinki')
    expect(schedule.next(schedule.cursorAt(Date.UTC(2096, 1, 29)))?.key).toBe('2104-02-29T00:00')
  })

  it('29 February as a Monday is found over forty years', () => {
    const schedule = make('0 0 29 2 +MON', 'UTC')
    const found = schedule.between(schedule.cursorAt(Date.UTC(2072, 5, 1)), Number.POSITIVE_INFINITY, 2)
    expect(found.map(({ key }) => key)).toEqual(['2112-02-29T00:00', '2140-02-29T00:00'])
  })

  it('an interval that only ever falls into a gap ends instead of searching for ever', () => {
    const schedule = make('*/15 2 8-14 3 +SUN', 'America/New_York')
    const cursor = schedule.cursorAt(NOW)
    expect(schedule.next(cursor)).toBeNull()
    expect(schedule.latest(cursor, NOW + 10 * YEAR, 5)).toEqual([])
    expect(schedule.count(cursor, NOW + 10 * YEAR)).toBe(0)
  })

  it('a fixed time that only ever falls into a gap it is to skip ends too', () => {
    const spec = scheduleSpec({ cron: '30 2 8-14 3 +SUN', timeZone: 'America/New_York', dstGap: 'skip' })
    const schedule = parseSchedule(spec, { anchor: 0 })
    expect(schedule.next(schedule.cursorAt(NOW))).toBeNull()
    expect(schedule.count(schedule.cursorAt(NOW), NOW + 10 * YEAR)).toBe(0)
  })

  it('the last years have labels, and then there is nothing', () => {
    const schedule = make('0 0 1 1 *', 'UTC')
    const last = schedule.next(schedule.cursorAt(Date.UTC(9998, 5, 1)))
    expect(last?.key).toBe('9999-01-01T00:00')
    expect(schedule.next({ instant: last?.instant ?? 0, label: last?.through ?? '' })).toBeNull()
  })

  it('ten years of seconds are counted exactly', () => {
    const schedule = make('* * * * * *', 'Europe/Berlin')
    const cursor = schedule.cursorAt(NOW)
    const until = NOW + 10 * YEAR
    expect(schedule.count(cursor, until)).toBe((10 * YEAR) / 1_000)
  })

  it('the latest of ten years of seconds are found without the others', () => {
    const schedule = make('* * * * * *', 'Europe/Berlin')
    const latest = schedule.latest(schedule.cursorAt(NOW), NOW + 10 * YEAR, 100)
    expect(latest).toHaveLength(100)
    expect(latest.at(-1)?.instant).toBe(NOW + 10 * YEAR)
  })

  it.each(['30 2 29 2 *', '0 0 29 2 *', '30 2 L * 5#2', '0 0 1 1 *'])('next of %s asks the zone little', (cron) => {
    const { asked, zones } = counted('Europe/Berlin')
    const schedule = make(cron, 'Europe/Berlin', zones)
    expect(schedule.next(schedule.cursorAt(NOW))).not.toBeNull()
    expect(asked.times).toBeLessThan(30)
  })

  it('an impossible date is refused instead of searched for', () => {
    for (let minute = 0; minute < 60; minute++) {
      expect(() => make(`${minute} 0 31 2,4,6,9,11 *`, 'UTC')).toThrow('no year has a date')
    }
  })

  it('zone data is asked once, not at every question', () => {
    const { asked, zones } = counted('Europe/Berlin')
    const schedule = make('30 2 * * *', 'Europe/Berlin', zones)
    const cursor = schedule.cursorAt(NOW)
    schedule.count(cursor, NOW + 10 * YEAR)
    const first = asked.times
    expect(first).toBeLessThan(200)
    schedule.count(cursor, NOW + 10 * YEAR)
    schedule.latest(cursor, NOW + 10 * YEAR, 100)
    schedule.between(cursor, NOW + YEAR, 400)
    expect(asked.times).toBe(first)
  })

  it('years between two dates are jumped over', () => {
    const { asked, zones } = counted('Europe/Berlin')
    const schedule = make('*/10 9 29 2 *', 'Europe/Berlin', zones)
    expect(schedule.next(schedule.cursorAt(Date.UTC(2096, 2, 1)))?.key).toBe('2104-02-29T08:00Z')
    expect(asked.times).toBeLessThan(30)
  })

  it('a rare date is not jumped over where it lies in an overlap', () => {
    // Once a year, and in 2026 in the hour that comes twice.
    const schedule = make('45-46/1 1 1 11 *', 'America/New_York')
    const first = [Date.parse('2026-11-01T05:45Z'), Date.parse('2026-11-01T05:46Z')]
    const second = [Date.parse('2026-11-01T06:45Z'), Date.parse('2026-11-01T06:46Z')]
    const begin = schedule.cursorAt(NOW - YEAR)
    const all = schedule.between(begin, NOW, 10).map(({ instant }) => instant)
    expect(all).toEqual([...first, ...second])
    const inSecondPass = Date.parse('2026-11-01T06:10Z')
    expect(schedule.latest(begin, inSecondPass, 10).map(({ instant }) => instant)).toEqual(first)
    expect(schedule.next(schedule.cursorAt(inSecondPass))?.instant).toBe(second[0])
  })
})
