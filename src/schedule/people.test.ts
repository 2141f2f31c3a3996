import { describe, expect, it } from 'vitest'
import { instantOf, jumpsBetween, nextOccurrences, previousOccurrences, readClock } from './people.js'

const NEW_YORK = 'America/New_York'
const GAP = Date.parse('2026-03-08T07:00Z')

describe('lists for people', () => {
  it('begin and end beside their instant, in the order of time', () => {
    const from = new Date('2026-06-02T00:00Z')
    const next = nextOccurrences('0 0 * * *', { timeZone: 'UTC', from, count: 2 })
    const previous = previousOccurrences('0 0 * * *', { timeZone: 'UTC', from, count: 2 })
    expect(next.map(({ key }) => key)).toEqual(['2026-06-03T00:00', '2026-06-04T00:00'])
    expect(previous.map(({ key }) => key)).toEqual(['2026-05-31T00:00', '2026-06-01T00:00'])
  })

  it('take zone data that is handed in', () => {
    const zones = () => ({ offsetAt: () => 3_600_000, nextChange: () => null })
    const [first] = nextOccurrences('0 9 * * *', { timeZone: 'UTC', from: 0, count: 1, zones })
    expect(first?.instant).toBe(8 * 3_600_000)
  })

  it.each([
    [{ from: new Date(Number.NaN) }, 'from is no instant'],
    [{ from: 0.5 }, 'from is no instant'],
    [{ count: -1 }, 'count is -1'],
    [{ count: 1.5 }, 'count is 1.5'],
  ])('refuse %j', (options, why) => {
    const act = () => nextOccurrences('0 0 * * *', { timeZone: 'UTC', from: 0, count: 1, ...options })
    expect(act).toThrow(why)
    expect(act).toThrow(expect.objectContaining({ code: 'OPTION_INVALID' }))
  })
})

describe('readClock', () => {
  it.each([
    ['2026-11-01T05:30Z', '2026-11-01T01:30', -4, 'first'],
    ['2026-11-01T06:30Z', '2026-11-01T01:30', -5, 'second'],
    ['2026-11-01T07:00Z', '2026-11-01T02:00', -5, 'only'],
    ['2026-03-08T07:00Z', '2026-03-08T03:00', -4, 'only'],
  ])('at %s shows %s', (instant, label, hours, pass) => {
    expect(readClock(Date.parse(instant), NEW_YORK)).toEqual({ label, offset: hours * 3_600_000, pass })
  })
})

describe('jumpsBetween', () => {
  const jump = { from: '2026-03-08T02:00', to: '2026-03-08T03:00', instant: GAP }

  it('lists the jumps after one instant and not after another', () => {
    expect(jumpsBetween(GAP - 1, GAP, NEW_YORK)).toEqual([jump])
    expect(jumpsBetween(GAP, GAP + 86_400_000, NEW_YORK)).toEqual([])
    expect(jumpsBetween(GAP - 86_400_000, GAP - 1, NEW_YORK)).toEqual([])
    expect(jumpsBetween(Date.UTC(2026, 0, 1), Date.UTC(2029, 0, 1), NEW_YORK)).toHaveLength(3)
  })
})

describe('instantOf', () => {
  it.each([
    ['2026-03-08T02:30', '2026-03-08T07:00:00.000Z'],
    ['2026-11-01T01:30', '2026-11-01T05:30:00.000Z'],
    ['2026-11-01T01:30-05:00', '2026-11-01T06:30:00.000Z'],
    ['2026-11-01T06:30Z', '2026-11-01T06:30:00.000Z'],
  ])('reads %s as %s', (text, expected) => {
    expect(new Date(instantOf(text, NEW_YORK, '--from')).toISOString()).toBe(expected)
  })

  it('names the option', () => {
    expect(() => instantOf('soon', NEW_YORK, '--from')).toThrow("--from 'soon' is no moment")
  })
})
