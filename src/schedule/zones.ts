import { FleetcronError } from '../errors.js'
import { BoundedMap } from './bounded-map.js'
import { DAY_MS, SECOND_MS } from './calendar.js'
import { quote } from './quote.js'
import type { ZoneRules } from './types.js'

/** More zones than the world has; each costs one formatter of Intl, and only when it is used. */
const zones = new BoundedMap<string, ZoneRules>(640)

/**
 * The zone data of the process (Intl, that is ICU; its version is `process.versions.tz`, which the caller reads and
 * publishes). Besides IANA names it knows `UTC` and fixed offsets: `+02:00`, `-0330`.
 *
 * @throws FleetcronError `ZONE_UNKNOWN`
 */
export function intlZones(timeZone: string): ZoneRules {
  return zones.getOrCompute(timeZone, () => {
    const offset = fixedOffset(timeZone)
    return offset === null ? new IntlZone(timeZone, formatter(timeZone)) : new FixedZone(offset)
  })
}

/** The zone's name as it is stored: `UTC` in capitals, an offset with its colon, IANA names as they are written. */
export function normaliseZone(timeZone: string): string {
  if (typeof timeZone !== 'string') throw unknown(String(timeZone))
  const offset = fixedOffset(timeZone)
  if (offset === null) return timeZone
  if (offset === 0 && /^utc$/i.test(timeZone)) return 'UTC'
  const minutes = Math.abs(offset) / 60_000
  return `${offset < 0 ? '-' : '+'}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`
}

function two(value: number): string {
  return String(value).padStart(2, '0')
}

/** The offset in milliseconds of `UTC`, `+02:00` or `-0330`; null for a name. */
function fixedOffset(timeZone: string): number | null {
  if (/^utc$/i.test(timeZone)) return 0
  const match = /^([+-])(\d{2}):?(\d{2})$/.exec(timeZone)
  // What looks like an offset is not left to Intl: some versions read '+2', others do not.
  if (match === null && /^[+-]/.test(timeZone)) throw unknown(timeZone)
  if (match === null) return null
  const minutes = Number(match[2]) * 60 + Number(match[3])
  if (Number(match[3]) > 59 || minutes > 18 * 60) throw unknown(timeZone)
  return (match[1] === '-' ? -minutes : minutes) * 60_000
}

class FixedZone implements ZoneRules {
  constructor(private readonly offsetMs: number) {}

  offsetAt(): number {
    return this.offsetMs
  }

  nextChange(): null {
    return null
  }
}

/**
 * How far apart Intl is asked. A change that is taken back between two questions is not seen; the shortest one since 1900
 * lasted just under four days (Freetown, 1939), later ones a week.
 */
const PROBE_MS = 3 * DAY_MS

/** Intl has no list of changes: they are found by probing and bisecting, to the second. */
class IntlZone implements ZoneRules {
  constructor(
    readonly timeZone: string,
    private readonly format: Intl.DateTimeFormat,
  ) {}

  offsetAt(instant: number): number {
    const second = Math.floor(instant / SECOND_MS) * SECOND_MS
    const match = SHOWN.exec(this.format.format(second))
    if (match === null)
      throw new FleetcronError('ZONE_UNKNOWN', `Time zone '${this.timeZone}' has no time at ${instant}.`)
    const [, month, day, year, hour, minute, secondOfMinute] = match.map(Number)
    return Date.UTC(year ?? 0, (month ?? 0) - 1, day, hour, minute, secondOfMinute) - second
  }

  nextChange(instant: number, limit: number): number | null {
    const offset = this.offsetAt(instant)
    for (let from = instant; from < limit; from += PROBE_MS) {
      const to = Math.min(from + PROBE_MS, limit)
      if (this.offsetAt(to) !== offset) return this.bisect(from, to, offset)
    }
    return null
  }

  /** The first second after `from` with another offset; `to` is known to have one. */
  private bisect(from: number, to: number, offset: number): number {
    let same = Math.floor(from / SECOND_MS)
    let other = Math.floor(to / SECOND_MS)
    while (other - same > 1) {
      const middle = Math.floor((same + other) / 2)
      if (this.offsetAt(middle * SECOND_MS) === offset) same = middle
      else other = middle
    }
    return other * SECOND_MS
  }
}

const SHOWN = /^(\d+)\/(\d+)\/(\d+), (\d+):(\d+):(\d+)$/

function formatter(timeZone: string): Intl.DateTimeFormat {
  if (typeof timeZone !== 'string' || timeZone === '') throw unknown(String(timeZone))
  try {
    return new Intl.DateTimeFormat('en-US', {
      timeZone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    })
  } catch (cause) {
    throw unknown(timeZone, cause)
  }
}

function unknown(timeZone: string, cause?: unknown): FleetcronError {
  return new FleetcronError(
    'ZONE_UNKNOWN',
    `Time zone ${quote(timeZone)} is not known to this process: write an IANA name such as 'Europe/Helsinki', 'UTC', or an offset such as '+02:00'.`,
    { cause },
  )
}
