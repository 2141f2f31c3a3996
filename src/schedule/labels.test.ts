import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { dateOf, instantToKey, keyToInstant, labelToWall, wallToLabel } from './labels.js'

const wall = fc.oneof(
  fc.integer({ min: Date.UTC(1900, 0, 1), max: Date.UTC(9999, 11, 31) }),
  fc.integer({ min: -1_000_000, max: 100_000_000 }).map((second) => second * 1_000),
  fc.integer({ min: -10_000, max: 10_000_000 }).map((minute) => minute * 60_000),
)

describe('labels', () => {
  it.each([
    [Date.UTC(2026, 10, 29), '2026-11-29T00:00'],
    [Date.UTC(2026, 10, 29, 16, 45, 7), '2026-11-29T16:45:07'],
    [Date.UTC(2026, 10, 29, 16, 45, 0, 20), '2026-11-29T16:45:00.020'],
  ])('writes %d as %s', (moment, label) => {
    expect(wallToLabel(moment)).toBe(label)
    expect(labelToWall(label)).toBe(moment)
    expect(instantToKey(moment)).toBe(`${label}Z`)
    expect(keyToInstant(`${label}Z`)).toBe(moment)
  })

  it.each([
    '',
    '2026-11-29',
    '2026-11-29T16:45Z',
    '2026-11-29 16:45',
    '2026-11-29T16:45:00',
    '2026-11-29T16:45:07.000',
    '2026-02-29T00:00',
    '2026-11-29T24:00',
    '2026-11-29T10:60',
    '2026-13-01T00:00',
    '2026-00-01T00:00',
    '1899-12-31T00:00',
    '12026-11-29T00:00',
    'x2026-11-29T00:00',
  ])('does not read %j', (text) => {
    expect(labelToWall(text)).toBeNull()
  })

  it('reads as a key only what ends in Z', () => {
    expect(keyToInstant('2026-11-29T16:45')).toBeNull()
    expect(keyToInstant('2026-11-29T16:45ZZ')).toBeNull()
  })

  it('have one text for each moment, and compare as text in the order of time', () => {
    fc.assert(
      fc.property(wall, wall, (a, b) => {
        expect(labelToWall(wallToLabel(a))).toBe(a)
        expect(Math.sign(a - b)).toBe(wallToLabel(a) < wallToLabel(b) ? -1 : wallToLabel(a) > wallToLabel(b) ? 1 : 0)
        expect(keyToInstant(instantToKey(a))).toBe(a)
      }),
      { numRuns: 2_000 },
    )
  })

  it('as keys of instants do not compare as text: Z is greater than a colon', () => {
    expect(instantToKey(0) > instantToKey(1_000)).toBe(true)
  })

  it('give the date an occurrence is for', () => {
    expect(dateOf({ label: '2026-11-29T23:59:59' })).toBe('2026-11-29')
  })
})
