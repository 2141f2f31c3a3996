/**
 * How Kubernetes reads five fields, after github.com/robfig/cron v3 (parser.go and spec.go): sets of numbers, and a star bit
 * for the two fields of days.
 */

interface Bounds {
  readonly min: number
  readonly max: number
}

interface FieldSet {
  readonly numbers: ReadonlySet<number>
  readonly isStar: boolean
}

const BOUNDS: readonly Bounds[] = [
  { min: 0, max: 59 },
  { min: 0, max: 23 },
  { min: 1, max: 31 },
  { min: 1, max: 12 },
  { min: 0, max: 6 },
]

/** Whether a wall time, given as if it were UTC, is one of an expression's; throws for what the parser refuses. */
export function robfig(expression: string): (wall: Date) => boolean {
  const parts = expression.split(' ')
  if (parts.length !== 5) throw new Error(`expected exactly 5 fields: ${expression}`)
  const [minute, hour, day, month, weekday] = parts.map((part, index) => field(part, BOUNDS[index] as Bounds))
  if (!minute || !hour || !day || !month || !weekday) throw new Error(expression)
  return (wall) => {
    const isDay = day.numbers.has(wall.getUTCDate())
    const isWeekday = weekday.numbers.has(wall.getUTCDay())
    const fits = day.isStar || weekday.isStar ? isDay && isWeekday : isDay || isWeekday
    const clock = minute.numbers.has(wall.getUTCMinutes()) && hour.numbers.has(wall.getUTCHours())
    return clock && fits && month.numbers.has(wall.getUTCMonth() + 1)
  }
}

function field(part: string, bounds: Bounds): FieldSet {
  const found = part.split(',').map((piece) => range(piece, bounds))
  return {
    numbers: new Set(found.flatMap(({ numbers }) => [...numbers])),
    isStar: found.some(({ isStar }) => isStar),
  }
}

function range(piece: string, { min, max }: Bounds): FieldSet {
  const [ends = '', stepText, more] = piece.split('/')
  const [low = '', high, most] = ends.split('-')
  if (more !== undefined || most !== undefined) throw new Error(`too many slashes or hyphens: ${piece}`)
  const isAll = low === '*' || low === '?'
  const from = isAll ? min : number(low)
  const step = stepText === undefined ? 1 : number(stepText)
  const to = isAll || (high === undefined && stepText !== undefined) ? max : high === undefined ? from : number(high)
  if (from < min || to > max || from > to || step === 0) throw new Error(`out of range: ${piece}`)
  const numbers = new Set<number>()
  for (let value = from; value <= to; value += step) numbers.add(value)
  return { numbers, isStar: isAll && step === 1 }
}

function number(text: string): number {
  if (!/^\d+$/.test(text)) throw new Error(`failed to parse int from ${text}`)
  return Number(text)
}
