import type { ScheduleSpec, ZoneData, ZoneRules } from '../../../src/schedule/types.js'

/**
 * When a job is due, found the slow way: every minute of a stretch of real time is looked at. It shares nothing with the
 * source but the zones' offsets. Schedules are to the minute, without days and months.
 */

const MINUTE = 60_000
const DAY = 1_440 * MINUTE

export interface Moment {
  /** The key; labels hidden by one gap are one moment, keyed by the first above the cursor. */
  readonly key: string
  /** All labels it stands for; the key alone where it is known by its instant. */
  readonly labels: readonly string[]
  readonly instant: number
}

export interface Cursor {
  readonly instant: number
  readonly label: string
}

export function isFixed(spec: ScheduleSpec): boolean {
  return 'cron' in spec && !/[*/]/.test(spec.cron.split(' ').slice(0, 2).join(' '))
}

/** What is due after the cursor and up to an instant, in order. */
export function due(spec: ScheduleSpec, anchor: number, zones: ZoneData, cursor: Cursor, until: number): Moment[] {
  if ('every' in spec) {
    const found: Moment[] = []
    for (let k = Math.max(1, Math.floor((cursor.instant - anchor) / spec.every)); ; k += 1) {
      const instant = anchor + k * spec.every
      if (instant > until) return found
      if (instant > cursor.instant) found.push(byInstant(instant))
    }
  }
  const matches = matcher('cron' in spec ? spec.cron : '')
  const rules = zones('timeZone' in spec ? spec.timeZone : 'UTC')
  if (!isFixed(spec)) {
    const found: Moment[] = []
    for (let at = ceil(cursor.instant + 1); at <= until; at += MINUTE) {
      if (matches(at + rules.offsetAt(at))) found.push(byInstant(at))
    }
    return found
  }
  const found: { key: string; labels: string[]; instant: number }[] = []
  const last = floor(until) + DAY
  for (let wall = ceil(wallOf(cursor.label) + 1); wall <= last; wall += MINUTE) {
    if (!matches(wall)) continue
    const place = firstInstant(rules, wall)
    if (place.hidden && 'dstGap' in spec && spec.dstGap === 'skip') continue
    if (place.instant > until) return found
    const before = found.at(-1)
    if (before?.instant === place.instant) before.labels.push(text(wall))
    else found.push({ key: text(wall), labels: [text(wall)], instant: place.instant })
  }
  return found
}

/** The instant of the first moment after the cursor, at most `limit`; null: none. */
export function next(
  spec: ScheduleSpec,
  anchor: number,
  zones: ZoneData,
  cursor: Cursor,
  limit: number,
): number | null {
  const from = isFixed(spec) ? wallOf(cursor.label) - DAY : cursor.instant
  for (let until = from + DAY; ; until += DAY) {
    const [first] = due(spec, anchor, zones, cursor, Math.min(until, limit))
    if (first !== undefined) return first.instant
    if (until >= limit) return null
  }
}

const places = new WeakMap<ZoneRules, Map<number, { instant: number; hidden: boolean }>>()

/** The first minute at which a clock shows this time or a later one: looked for from a day before. */
function firstInstant(rules: ZoneRules, wall: number): { instant: number; hidden: boolean } {
  const known = places.get(rules) ?? new Map<number, { instant: number; hidden: boolean }>()
  places.set(rules, known)
  const found = known.get(wall)
  if (found !== undefined) return found
  // No offset differs by more than a few hours from another of the same zone: nothing earlier can show it.
  let instant = wall - rules.offsetAt(wall - DAY) - 240 * MINUTE
  while (instant + rules.offsetAt(instant) < wall) instant += MINUTE
  const place = { instant, hidden: instant + rules.offsetAt(instant) !== wall }
  known.set(wall, place)
  return place
}

function byInstant(instant: number): Moment {
  const key = `${text(instant)}Z`
  return { key, labels: [key], instant }
}

const matchers = new Map<string, (wall: number) => boolean>()

function matcher(cron: string): (wall: number) => boolean {
  const known = matchers.get(cron)
  if (known !== undefined) return known
  const [minutes = '', hours = ''] = cron.split(' ').map((field, at) => values(field, at === 0 ? 60 : 24))
  const matches = (wall: number): boolean => {
    const minute = Math.floor(wall / MINUTE)
    return minutes.includes(`,${minute % 60},`) && hours.includes(`,${Math.floor(minute / 60) % 24},`)
  }
  matchers.set(cron, matches)
  return matches
}

/** A field as a text of its values between commas. */
function values(field: string, size: number): string {
  const all = field.split(',').flatMap((part) => {
    const [range = '*', step = '1'] = part.split('/')
    const [low = 0, high = low] = range === '*' ? [0, size - 1] : range.split('-').map(Number)
    return Array.from({ length: size }, (_, n) => n).filter(
      (n) => n >= low && n <= high && (n - low) % Number(step) === 0,
    )
  })
  return `,${all.join(',')},`
}

function wallOf(label: string): number {
  return Date.parse(`${label.length === 16 ? `${label}:00` : label}Z`)
}

function text(wall: number): string {
  const iso = new Date(wall).toISOString()
  return iso.endsWith(':00.000Z') ? iso.slice(0, 16) : iso.endsWith('.000Z') ? iso.slice(0, 19) : iso.slice(0, 23)
}

function ceil(instant: number): number {
  return Math.ceil(instant / MINUTE) * MINUTE
}

function floor(instant: number): number {
  return Math.floor(instant / MINUTE) * MINUTE
}
