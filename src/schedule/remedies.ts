/** What to write instead of a field that is refused: the likely meaning where there is one, else what is allowed. */
export function remedyFor(value: string, field: { readonly name: string; readonly allowed: string }): string {
  const [low, high] = BOUNDS[field.name] ?? [0, 0]
  const start = /^(\d+)\/(\d+)$/.exec(value)
  if (start !== null && Number(start[2]) > 0)
    return `write ${start[1]}-${high}/${start[2]} for every ${start[2]} from ${start[1]}`
  const bare = /^\/(\d+)$/.exec(value)
  if (bare !== null) return `write */${bare[1]}`
  const range = /^(\d+)-(\d+)$/.exec(value)
  if (range !== null) {
    const [from, to] = [Number(range[1]), Number(range[2])]
    if (from > to && from <= high && to >= low) return `a range goes upwards, write ${from}-${high},${low}-${to}`
  }
  if (/\/0+$/.test(value)) return 'a step is at least 1'
  if (value.includes('#')) return 'a month has at most five of one weekday, write 1#1 to 1#5, or 1#L for the last'
  return `allowed are ${field.allowed}, lists (1,2), ranges (1-5), and steps (*/5, 10-50/5)`
}

const BOUNDS: Readonly<Record<string, readonly [number, number]>> = {
  seconds: [0, 59],
  minutes: [0, 59],
  hours: [0, 23],
  'day of month': [1, 31],
  month: [1, 12],
  'day of week': [0, 6],
}
