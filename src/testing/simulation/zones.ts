import type { ZoneData, ZoneRules } from '../../schedule/types.js'

/** From an instant on a zone is this far from UTC, milliseconds; the first holds from the beginning of time. */
export type Segments = readonly (readonly [from: number, offsetMs: number])[]

/** Zone data as a list of segments, by zone. */
export type ZoneTable = Readonly<Record<string, Segments>>

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const ALWAYS = Number.NEGATIVE_INFINITY

/** The zones of the simulation, as far as its years need them. UTC is for everybody. */
export const ZONES: ZoneTable = {
  UTC: [[ALWAYS, 0]],
  'Europe/Helsinki': [
    [ALWAYS, 2 * HOUR],
    [Date.UTC(2026, 2, 29, 1), 3 * HOUR],
    [Date.UTC(2026, 9, 25, 1), 2 * HOUR],
  ],
  'America/New_York': [
    [ALWAYS, -5 * HOUR],
    [Date.UTC(2026, 2, 8, 7), -4 * HOUR],
    [Date.UTC(2026, 10, 1, 6), -5 * HOUR],
  ],
  'Australia/Lord_Howe': [
    [ALWAYS, 11 * HOUR],
    [Date.UTC(2026, 3, 4, 15), 10.5 * HOUR],
    [Date.UTC(2026, 9, 3, 15, 30), 11 * HOUR],
  ],
}

/** Instants at which some zone's clock is moved: where simulations like to begin. */
export const CHANGES: readonly (readonly [zone: string, instant: number])[] = Object.entries(ZONES).flatMap(
  ([zone, segments]) => segments.slice(1).map(([from]) => [zone, from] as const),
)

/** How one node's zone data may differ from another's. */
export const SKEWS: Readonly<Record<string, (segments: Segments) => Segments>> = {
  /** The change is called off. */
  abolished: (segments) => segments.slice(0, 1),
  /** It comes a few minutes later. */
  later: (segments) => segments.map(([from, offset]) => [from + 3 * MINUTE, offset]),
  /** It came long ago. */
  permanent: (segments) =>
    segments.map(([from, offset], index) => [from, index === 0 ? (segments[1]?.[1] ?? offset) : offset]),
  /** The zone moves an hour to the east. */
  east: (segments) => segments.map(([from, offset]) => [from, offset + HOUR]),
}

/** The table with one way of being different, for every zone but UTC. */
export function skewed(skew: string | null): ZoneTable {
  const change = skew === null ? undefined : SKEWS[skew]
  if (change === undefined) return ZONES
  return Object.fromEntries(
    Object.entries(ZONES).map(([zone, segments]) => [zone, zone === 'UTC' ? segments : change(segments)]),
  )
}

/** The table as a node is given it. */
export function zoneData(table: ZoneTable): ZoneData {
  const rules = new Map(Object.entries(table).map(([zone, segments]) => [zone, rulesOf(segments)]))
  return (zone) => {
    const found = rules.get(zone)
    if (!found) throw new Error(`the simulation has no zone ${zone}`)
    return found
  }
}

function rulesOf(segments: Segments): ZoneRules {
  return {
    offsetAt: (instant) => offsetAt(segments, instant),
    nextChange: (instant, limit) => {
      const next = segments.find(([from], index) => {
        return from > instant && from <= limit && segments[index - 1]?.[1] !== segments[index]?.[1]
      })
      return next?.[0] ?? null
    },
  }
}

export function offsetAt(segments: Segments, instant: number): number {
  let offset = segments[0]?.[1] ?? 0
  for (const [from, after] of segments) if (from <= instant) offset = after
  return offset
}
