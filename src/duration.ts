import { FleetcronError } from './errors.js'

/** The units a duration may carry, in milliseconds. Weeks and days are exact multiples of hours: no calendar is involved. */
const UNITS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const

type Unit = keyof typeof UNITS

/**
 * Milliseconds of a duration: a whole number of milliseconds, or a whole number and one unit (`'250ms'`, `'30s'`, `'15m'`,
 * `'2h'`, `'7d'`, `'1w'`). Zero is accepted; the caller knows whether it makes sense.
 *
 * @param what names the option in the error, e.g. `job 'billing': timeout`
 * @throws FleetcronError `OPTION_INVALID` for anything else
 */
export function parseDuration(value: string | number, what: string): number {
  if (typeof value === 'number') {
    if (Number.isSafeInteger(value) && value >= 0) return value
    throw invalid(what, String(value), 'a number of milliseconds has to be whole and not negative')
  }
  if (typeof value !== 'string') throw invalid(what, String(value), 'it is neither a text nor a number')
  const match = /^(\d+)\s*([A-Za-z]*)$/.exec(value.trim())
  if (match === null) throw invalid(what, `'${value}'`, 'it is not a whole number with one unit')
  const [, digits = '', unit = ''] = match
  if (unit === '') throw invalid(what, `'${value}'`, 'it has no unit')
  if (!isUnit(unit)) throw invalid(what, `'${value}'`, `'${unit}' is not a unit`)
  const ms = Number(digits) * UNITS[unit]
  if (!Number.isSafeInteger(ms)) throw invalid(what, `'${value}'`, 'it is too long')
  return ms
}

/** A number of milliseconds as people write it: `15m`, `1500ms`. */
export function formatDuration(ms: number): string {
  const units = (Object.entries(UNITS) as [Unit, number][]).reverse()
  const [unit, length] = units.find(([name, one]) => name !== 'w' && ms > 0 && ms % one === 0) ?? ['ms', 1]
  return `${ms / length}${unit}`
}

function isUnit(text: string): text is Unit {
  return Object.hasOwn(UNITS, text)
}

function invalid(what: string, value: string, why: string): FleetcronError {
  const units = Object.keys(UNITS).join(', ')
  return new FleetcronError(
    'OPTION_INVALID',
    `${what}: ${value} is not a duration: ${why}. Write milliseconds, or a whole number and one of the units ${units}, such as '30s'.`,
  )
}
