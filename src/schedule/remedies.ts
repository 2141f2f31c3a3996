/** A field of an expression: its name in messages, what may stand in it, and its least and greatest number. */
export interface FieldRule {
  readonly name: string
  readonly allowed: string
  readonly low: number
  readonly high: number
  readonly names?: readonly string[]
}

const MONTHS = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC']
const DAYS = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT']

/** The six fields in their order; an expression of five leaves out the first. */
export const FIELDS: readonly FieldRule[] = [
  { name: 'seconds', allowed: '0-59', low: 0, high: 59 },
  { name: 'minutes', allowed: '0-59', low: 0, high: 59 },
  { name: 'hours', allowed: '0-23', low: 0, high: 23 },
  {
    name: 'day of month',
    allowed: '1-31, L (last day), LW (last weekday), 15W (weekday nearest the 15th)',
    low: 1,
    high: 31,
  },
  { name: 'month', allowed: '1-12, JAN-DEC', low: 1, high: 12, names: MONTHS },
  {
    name: 'day of week',
    allowed: '0-7, SUN-SAT, 5#2 (second Friday), 5#L (last Friday)',
    low: 0,
    high: 6,
    names: DAYS,
  },
]

/** What to write instead of a field that is refused: the likely meaning where there is one, else what is allowed. */
export function remedyFor(value: string, field: FieldRule): string {
  const start = /^(\d+)\/0*([1-9]\d*)$/.exec(value)
  if (start !== null) return `write ${start[1]}-${field.high}/${start[2]} for every ${start[2]} from ${start[1]}`
  if (/^\/\d+$/.test(value)) return `write *${value}`
  if (/\/0+$/.test(value)) return 'a step is at least 1'
  if (/,LW|LW,/i.test(value) && field.name === 'day of month') {
    return 'LW stands for itself, in no list: give the other days to a job of their own'
  }
  return reversedRange(value, field) ?? nthWeekday(value, field) ?? allowed(field)
}

function reversedRange(value: string, field: FieldRule): string | null {
  const ends = /^([^-,/#]+)-([^-,/#]+)$/
    .exec(value)
    ?.slice(1)
    .map((end) => numberOf(end, field))
  if (ends === undefined) return null
  const [from = Number.NaN, to = Number.NaN] = ends
  if (!(from > to && to >= field.low && from <= field.high)) return null
  return `a range goes upwards, write ${from === field.high ? from : `${from}-${field.high}`},${to === field.low ? to : `${field.low}-${to}`}`
}

function numberOf(text: string, field: FieldRule): number {
  const index = field.names?.indexOf(text.toUpperCase()) ?? -1
  if (index >= 0) return index + field.low
  return /^\d+$/.test(text) ? Number(text) : Number.NaN
}

function nthWeekday(value: string, field: FieldRule): string | null {
  if (!value.includes('#')) return null
  return field.name === 'day of week'
    ? 'a month has at most five of one weekday, write 1#1 to 1#5, or 1#L for the last'
    : '# belongs to the day of week'
}

function allowed(field: FieldRule): string {
  const { low, high } = field
  return `allowed are ${field.allowed}, and of these lists (${low},${low + 1}), ranges (${low}-${low + 4}) and steps (*/2, ${low}-${high}/2)`
}
