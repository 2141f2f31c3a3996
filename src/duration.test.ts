import { describe, expect, it } from 'vitest'
import { formatDuration, parseDuration } from './duration.js'

describe('parseDuration', () => {
  it.each([
    ['250ms', 250],
    ['30s', 30_000],
    ['15m', 900_000],
    ['2h', 7_200_000],
    ['7d', 604_800_000],
    ['1w', 604_800_000],
    [' 15 m ', 900_000],
    ['0s', 0],
    [1_500, 1_500],
    [0, 0],
  ])('reads %j as %d ms', (value, ms) => {
    expect(parseDuration(value, 'lease')).toBe(ms)
  })

  it.each([
    [Number.NaN, 'whole and not negative'],
    [-1, 'whole and not negative'],
    [1.5, 'whole and not negative'],
    [Number.POSITIVE_INFINITY, 'whole and not negative'],
    ['-5s', 'not a whole number with one unit'],
    ['1.5h', 'not a whole number with one unit'],
    ['1h30m', 'not a whole number with one unit'],
    ['', 'not a whole number with one unit'],
    ['500', 'it has no unit'],
    ['5 years', "'years' is not a unit"],
    ['5M', "'M' is not a unit"],
    ['5constructor', "'constructor' is not a unit"],
    ['99999999999999999d', 'too long'],
    [null as unknown as string, 'neither a text nor a number'],
  ])('refuses %j: %s', (value, why) => {
    const act = () => parseDuration(value, "job 'billing': timeout")
    expect(act).toThrow(why)
    expect(act).toThrow("job 'billing': timeout:")
    expect(act).toThrow('ms, s, m, h, d, w')
    expect(act).toThrow(expect.objectContaining({ code: 'OPTION_INVALID' }))
  })
})

describe('formatDuration', () => {
  it.each([
    [250, '250ms'],
    [1_500, '1500ms'],
    [90_000, '90s'],
    [900_000, '15m'],
    [86_400_000, '1d'],
    [604_800_000, '7d'],
    [0, '0ms'],
  ])('writes %d ms as %s, which is read as the same', (ms, text) => {
    expect(formatDuration(ms)).toBe(text)
    expect(parseDuration(text, 'it')).toBe(ms)
  })
})
