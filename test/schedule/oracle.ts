/**
 * A second computation of what a schedule means, written apart from the package and without its ideas: it lists every
 * minute (or second) of a stretch of real time, asks Intl what the clock shows, and looks. It is slow and plain.
 */

export interface Shown {
  readonly instant: number
  /** What the zone's clock shows, as the epoch milliseconds at which UTC shows the same. */
  readonly wall: number
}

export interface Expected {
  readonly key: string
  readonly through: string
  readonly instant: number
}

/** Every step of real time with what Intl shows for it. */
export function clockTable(timeZone: string, from: number, to: number, stepMs: number): Shown[] {
  const format = new Intl.DateTimeFormat('sv-SE', {
    timeZone,
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  })
  const table: Shown[] = []
  for (let instant = from; instant <= to; instant += stepMs) {
    table.push({ instant, wall: Date.parse(`${format.format(instant).replace(' ', 'T')}Z`) })
  }
  return table
}

/** The occurrences of an interval-like expression in the table: every real moment whose shown time matches. */
export function intervalLike(expression: string, table: readonly Shown[]): Expected[] {
  const matches = matcher(expression)
  return table
    .filter(({ wall }) => matches(wall))
    .map(({ instant }) => ({ key: `${text(instant)}Z`, through: '', instant }))
}

/**
 * The occurrences of a fixed-time expression: every label of the table's dates, but for a day at either end, with the first
 * moment at which it is shown, or else the moment at which the clock jumps over it.
 */
export function fixedTime(
  expression: string,
  table: readonly Shown[],
  stepMs: number,
  dstGap: 'next' | 'skip',
  after = '',
): Expected[] {
  const matches = matcher(expression)
  const { dates, firstShown, jumps } = seen(table, stepMs)
  const found: Expected[] = []
  const first = (table[0]?.wall ?? 0) + 86_400_000
  const last = (table.at(-1)?.wall ?? 0) - 86_400_000
  for (let wall = first; wall <= last; wall += stepMs) {
    if (!matches(wall)) continue
    const label = text(wall)
    if (!dates.has(label.slice(0, 10)) || label <= after) continue
    const jump = jumps.find(({ from, wall: to }) => wall > from && wall < to)
    const instant = firstShown.get(wall) ?? (dstGap === 'next' ? jump?.instant : undefined)
    if (instant === undefined) continue
    const before = found.at(-1)
    if (before?.instant === instant) found[found.length - 1] = { ...before, through: label }
    else found.push({ key: label, through: label, instant })
  }
  return found
}

interface Seen {
  readonly dates: ReadonlySet<string>
  readonly firstShown: ReadonlyMap<number, number>
  readonly jumps: readonly (Shown & { readonly from: number })[]
}

const looks = new WeakMap<readonly Shown[], Seen>()

/** What the table shows of dates, first passes and jumps; kept, since a table is looked at a thousand times. */
function seen(table: readonly Shown[], stepMs: number): Seen {
  const kept = looks.get(table)
  if (kept !== undefined) return kept
  const dates = new Set(table.map(({ wall }) => text(wall).slice(0, 10)))
  const firstShown = new Map<number, number>()
  for (const { instant, wall } of table) if (!firstShown.has(wall)) firstShown.set(wall, instant)
  const jumps = table.slice(1).flatMap((shown, index) => {
    const before = table[index]
    return before !== undefined && shown.wall - before.wall > stepMs ? [{ from: before.wall, ...shown }] : []
  })
  const look = { dates, firstShown, jumps }
  looks.set(table, look)
  return look
}

export function isFixedTime(expression: string): boolean {
  return !/[*?/]/.test(six(expression).slice(0, 3).join(' '))
}

/** Whether a wall time matches an expression of the usual grammar. */
export function matcher(expression: string): (wall: number) => boolean {
  const [seconds = '', minutes = '', hours = '', days = '', months = '', weekdays = ''] = six(expression)
  const second = values(seconds, 0, 59)
  const minute = values(minutes, 0, 59)
  const hour = values(hours, 0, 23)
  const month = values(months, 1, 12)
  const and = weekdays.startsWith('+')
  const dayNames = weekdays.replace('+', '')
  return (wall) => {
    const date = new Date(wall)
    if (!second.has(date.getUTCSeconds()) || !minute.has(date.getUTCMinutes()) || !hour.has(date.getUTCHours()))
      return false
    if (!month.has(date.getUTCMonth() + 1)) return false
    const day = days.split(',').some((part) => dayMatches(part, date))
    const weekday = dayNames.split(',').some((part) => weekdayMatches(part, date))
    if (and || days === '*' || days === '?' || dayNames === '*' || dayNames === '?') return day && weekday
    return day || weekday
  }
}

function six(expression: string): string[] {
  const fields = expression.toUpperCase().split(' ')
  return fields.length === 5 ? ['0', ...fields] : fields
}

function values(field: string, low: number, high: number): Set<number> {
  const set = new Set<number>()
  for (const part of field.split(',')) {
    const [range = '', step = '1'] = part.split('/')
    const [from, to] = range === '*' || range === '?' ? [low, high] : range.split('-').map(Number)
    for (let value = from ?? low; value <= (to ?? from ?? high); value += Number(step)) set.add(value)
  }
  return set
}

function monthLength(date: Date): number {
  return new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate()
}

function dayMatches(part: string, date: Date): boolean {
  const day = date.getUTCDate()
  const length = monthLength(date)
  if (part === 'L') return day === length
  if (part === 'LW') return day === nearestWeekday(date, length, length)
  if (part.endsWith('W'))
    return Number.parseInt(part, 10) <= length && day === nearestWeekday(date, Number.parseInt(part, 10), length)
  return values(part, 1, 31).has(day)
}

/** The weekday nearest to a day, inside its month. */
function nearestWeekday(date: Date, day: number, length: number): number {
  for (const distance of [0, -1, 1, -2, 2]) {
    const candidate = day + distance
    const weekday = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), candidate)).getUTCDay()
    if (candidate >= 1 && candidate <= length && weekday !== 0 && weekday !== 6) return candidate
  }
  return -1
}

const DAY_NAMES = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT']

function weekdayMatches(part: string, date: Date): boolean {
  const [range = '', nth] = part.split('#')
  const numbers = range.replace(/[A-Z]{3}/g, (name, at: number) => {
    const index = DAY_NAMES.indexOf(name)
    return String(index === 0 && at > 0 ? 7 : index)
  })
  const days = values(numbers, 0, 6)
  if (!days.has(date.getUTCDay()) && !(date.getUTCDay() === 0 && days.has(7))) return false
  if (nth === undefined) return true
  const day = date.getUTCDate()
  return nth === 'L' ? day + 7 > monthLength(date) : Math.ceil(day / 7) === Number(nth)
}

/** The one text of a moment, as docs/labels.md says. */
export function text(wall: number): string {
  const iso = new Date(wall).toISOString()
  if (iso.endsWith(':00.000Z')) return iso.slice(0, 16)
  return iso.endsWith('.000Z') ? iso.slice(0, 19) : iso.slice(0, 23)
}
