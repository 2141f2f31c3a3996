import { formatDuration, parseDuration } from '../duration.js'
import { FleetcronError } from '../errors.js'

/** What the fleet's own options of this kind allow. */
const MOST_MS = 366 * 86_400_000

/**
 * Milliseconds of a duration on a command line, where everything is a text: a number alone has no unit.
 *
 * @throws FleetcronError `OPTION_INVALID`
 */
export function durationText(text: string, option: string, mostMs = MOST_MS): number {
  const [, unit] = /^\d+\s*([a-z]*)$/.exec(text.trim()) ?? []
  if (unit === '') throw invalid(option, `'${text}' has no unit: write it with a unit, such as 5s.`)
  if (unit === undefined || !/^(ms|[smhdw])$/.test(unit)) {
    const remedy = 'write a whole number and one of the units ms, s, m, h, d, w, such as 30s.'
    throw invalid(option, `'${text}' is not a duration: ${remedy}`)
  }
  const ms = millisecondsOf(text)
  if (ms <= mostMs) return ms
  throw invalid(option, `'${text}' is out of range: write 0s to ${formatDuration(mostMs)}.`)
}

/** Of a text that has the form of a duration; so the only thing that can be wrong with it is its size. */
function millisecondsOf(text: string): number {
  try {
    return parseDuration(text, 'duration')
  } catch {
    return Number.POSITIVE_INFINITY
  }
}

function invalid(option: string, why: string): FleetcronError {
  return new FleetcronError('OPTION_INVALID', `${option}: ${why}`)
}
