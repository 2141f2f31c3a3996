import type { ZoneData, ZoneRules } from '../../src/schedule/types.js'

const HOUR = 3_600_000

/** Rules from the instants at which a zone's offset changes; the first holds from ever. */
function rules(offsetHours: number, changes: readonly (readonly [at: string, offsetHours: number])[] = []): ZoneRules {
  const all = changes.map(([at, hours]) => ({ at: Date.parse(at), offset: hours * HOUR }))
  return {
    offsetAt: (instant) => all.findLast(({ at }) => at <= instant)?.offset ?? offsetHours * HOUR,
    nextChange: (instant, limit) => all.find(({ at }) => at > instant && at <= limit)?.at ?? null,
  }
}

const ZONES: Readonly<Record<string, ZoneRules>> = {
  UTC: rules(0),
  Tokyo: rules(9),
  'New York': rules(-5, [
    ['2026-03-08T07:00Z', -4],
    ['2026-11-01T06:00Z', -5],
  ]),
  Helsinki: rules(2, [
    ['2026-03-29T01:00Z', 3],
    ['2026-10-25T01:00Z', 2],
  ]),
  'Lord Howe': rules(11, [
    ['2026-04-04T15:00Z', 10.5],
    ['2026-10-03T15:30Z', 11],
  ]),
  /** As a node knows it that has not heard of the law by which Vancouver stays at -7 in November 2026. */
  Vancouver: rules(-8, [
    ['2026-03-08T10:00Z', -7],
    ['2026-11-01T09:00Z', -8],
  ]),
}

/** What one node knows of the world's clocks; `other` names what it knows otherwise. */
export function zonesOf(other: Readonly<Record<string, ZoneRules>> = {}): ZoneData {
  const known = { ...ZONES, ...other }
  return (timeZone) => {
    const found = known[timeZone]
    if (found === undefined) throw new Error(`the tests have no zone ${timeZone}`)
    return found
  }
}

/** A node whose data is newer. */
export const NEWER = zonesOf({ Vancouver: rules(-8, [['2026-03-08T10:00Z', -7]]) })

export { rules }
