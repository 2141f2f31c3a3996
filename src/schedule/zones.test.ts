import { describe, expect, it } from 'vitest'
import { intlZones, normaliseZone } from './zones.js'

const HOUR = 3_600_000

function changes(timeZone: string, from: string, to: string): string[] {
  const rules = intlZones(timeZone)
  const found: string[] = []
  let at = rules.nextChange(Date.parse(from), Date.parse(to))
  while (at !== null) {
    found.push(`${new Date(at).toISOString()} ${rules.offsetAt(at - 1) / HOUR} ${rules.offsetAt(at) / HOUR}`)
    at = rules.nextChange(at, Date.parse(to))
  }
  return found
}

describe('the zone data of the process', () => {
  it.each([
    ['UTC', 0],
    ['utc', 0],
    ['+02:00', 2],
    ['-0330', -3.5],
    ['+14:00', 14],
    ['Asia/Kathmandu', 5.75],
    ['Etc/GMT+5', -5],
  ])('%s is %d hours from UTC', (timeZone, hours) => {
    expect(intlZones(timeZone).offsetAt(Date.UTC(2026, 0, 1, 12, 34, 56, 789))).toBe(hours * HOUR)
  })

  it('finds every change of an offset, also one that is taken back within a week', () => {
    // From each of these days on, since what is missed depends on where the questions fall.
    for (let day = 1; day <= 30; day++) {
      expect(changes('America/Noronha', `2000-09-${String(day).padStart(2, '0')}`, '2001-01-01')).toEqual([
        '2000-10-08T02:00:00.000Z -2 -1',
        '2000-10-15T01:00:00.000Z -1 -2',
      ])
    }
    expect(changes('Africa/Tunis', '1943-04-01', '1943-05-01')).toEqual([
      '1943-04-17T00:00:00.000Z 2 1',
      '1943-04-25T01:00:00.000Z 1 2',
    ])
    expect(changes('Africa/Monrovia', '1971-01-01', '1973-01-01')).toEqual([
      '1972-01-07T00:44:30.000Z -0.7416666666666667 0',
    ])
    expect(changes('Pacific/Apia', '2011-12-01', '2012-01-01')).toEqual(['2011-12-30T10:00:00.000Z -10 14'])
  })

  it('gives a change at the limit, none beyond it, and none at the instant itself', () => {
    const rules = intlZones('Europe/Berlin')
    const change = Date.UTC(2026, 9, 25, 1)
    expect(rules.nextChange(change - 10 * 24 * HOUR, change)).toBe(change)
    expect(rules.nextChange(change - 1, change)).toBe(change)
    expect(rules.nextChange(change - 10 * 24 * HOUR, change - 1)).toBeNull()
    expect(rules.nextChange(change, change + 24 * HOUR)).toBeNull()
  })

  it('is the same object each time, so that what is found about a zone is kept', () => {
    expect(intlZones('Europe/Berlin')).toBe(intlZones('Europe/Berlin'))
  })

  it.each([
    ['utc', 'UTC'],
    ['-0330', '-03:30'],
    ['+02:00', '+02:00'],
    ['Europe/Helsinki', 'Europe/Helsinki'],
  ])('stores %j as %j', (written, stored) => {
    expect(normaliseZone(written)).toBe(stored)
  })
})
