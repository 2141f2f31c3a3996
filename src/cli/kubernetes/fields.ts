/**
 * An expression that fleetcron accepts, in the five fields that Kubernetes reads (robfig/cron). Both mean much the same by
 * the same text, but not all: each field is taken apart into its numbers and written anew, so that nothing hangs on how
 * somebody else reads a step, a name, or Sunday as 7.
 */

/** What a field may hold: its name in sentences, its least and greatest number, and words for them. */
interface Field {
  readonly name: string
  readonly low: number
  readonly high: number
  readonly words?: readonly string[]
  /** Whether it is one of the two fields of days, of which a star means something of its own. */
  readonly isDays?: true
}

const MONTHS = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC']
const WEEKDAYS = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT']

const FIELDS: readonly Field[] = [
  { name: 'minutes', low: 0, high: 59 },
  { name: 'hours', low: 0, high: 23 },
  { name: 'day of month', low: 1, high: 31, isDays: true },
  { name: 'month', low: 1, high: 12, words: MONTHS },
  { name: 'day of week', low: 0, high: 6, words: WEEKDAYS, isDays: true },
]

const ALIASES: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
}

/** The expression for Kubernetes, or why there is none. */
export function kubernetesFields(cron: string): { readonly text: string } | { readonly why: string } {
  const parts = (ALIASES[cron.toLowerCase()] ?? cron).split(' ')
  const seconds = parts.length === 6 ? (parts.shift() ?? '0') : '0'
  if (!/^0+$/.test(seconds)) return { why: `it has the seconds '${seconds}', and Kubernetes knows minutes` }
  const written: string[] = []
  for (const [index, field] of FIELDS.entries()) {
    const part = parts[index] ?? ''
    const text = rewritten(part, field)
    if (text === null) return { why: `Kubernetes does not know '${part}' for its ${field.name}` }
    written.push(text)
  }
  return { text: written.join(' ') }
}

function rewritten(part: string, field: Field): string | null {
  // A star in a field of days means: look at the other one alone. All days by number do not.
  if (part === '*' || part === '?') return '*'
  const numbers = new Set<number>()
  for (const piece of part.split(',')) {
    const found = numbersOf(piece, field)
    if (found === null) return null
    for (const number of found) numbers.add(field.words === WEEKDAYS ? number % 7 : number)
  }
  return written(
    [...numbers].sort((a, b) => a - b),
    field,
  )
}

/** The numbers of `5`, `FRI`, `1-5`, `10-40/10`, `*` or a star with a step; null for anything else. */
function numbersOf(piece: string, field: Field): number[] | null {
  const [, range = '', , stepText] = /^([^/]+)(\/(\d+))?$/.exec(piece) ?? []
  const step = stepText === undefined ? 1 : Number(stepText)
  const ends =
    range === '*' || range === '?' ? [field.low, field.high] : range.split('-').map((end) => numberOf(end, field))
  const [from = Number.NaN, to = from] = ends
  if (ends.length > 2 || step < 1 || !(from >= field.low && from <= to && to <= greatest(field))) return null
  if (ends.length === 1 && stepText !== undefined) return null
  return Array.from({ length: Math.floor((to - from) / step) + 1 }, (_, index) => from + index * step)
}

function greatest({ words, high }: Field): number {
  return words === WEEKDAYS ? 7 : high
}

function numberOf(text: string, { words, low }: Field): number {
  const index = words?.indexOf(text.toUpperCase()) ?? -1
  if (index >= 0) return index + low
  return /^\d+$/.test(text) ? Number(text) : Number.NaN
}

/** As short as it may be said: a star, a star with a step, else numbers and ranges. */
function written(numbers: readonly number[], field: Field): string {
  const [first = 0, second = first] = numbers
  const step = second - first
  const isEven = numbers.every((number, index) => number === first + index * step)
  if (!field.isDays && isEven && first === field.low && numbers.length > 1) {
    if (numbers.length === field.high - field.low + 1) return '*'
    if (step > 1 && (numbers.at(-1) ?? 0) + step > field.high) return `*/${step}`
  }
  return ranges(numbers).join(',')
}

function ranges(numbers: readonly number[]): string[] {
  const found: [from: number, to: number][] = []
  for (const number of numbers) {
    const last = found.at(-1)
    if (last !== undefined && last[1] === number - 1) last[1] = number
    else found.push([number, number])
  }
  return found.map(([from, to]) => (from === to ? `${from}` : to === from + 1 ? `${from},${to}` : `${from}-${to}`))
}
