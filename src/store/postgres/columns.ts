import { FleetcronError } from '../../errors.js'

/** A value as a statement takes it. */
export type Value = string | number | boolean | null

/**
 * A value as part of a statement's text. Statements go as text and not with parameters, since only so a time-out can be set
 * for them in the same round trip, whatever pooler stands between. An escape string reads the same under every setting.
 */
export function literal(value: Value): string {
  if (value === null) return 'NULL'
  if (typeof value !== 'string') return String(value)
  if (value.includes('\0'))
    throw new FleetcronError('OPTION_INVALID', 'Text with a NUL in it cannot be kept in Postgres.')
  return `E'${value.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`
}

export interface Separators {
  readonly sep: string
  /** Stands for null. */
  readonly none: string
}

/**
 * Two words that occur in none of the values, and begin with a character that they do not repeat: so neither can arise where
 * a value and a word meet.
 */
export function separatorsFor(tables: readonly Table[]): Separators {
  for (let n = 0; ; n++) {
    const words = { sep: `\u001e${n || ''}`, none: `\u001f${n || ''}` }
    const isTaken = (value: Value) =>
      typeof value === 'string' && (value.includes(words.sep) || value.includes(words.none))
    if (!tables.some((table) => table.some((row) => Object.values(row).some(isTaken)))) return words
  }
}

export type Row = Readonly<Record<string, Value>>
export type Table = readonly Row[]

/** A table as columns: one text each, every value ended by the separator; no rows are an empty text. */
export function columns<Name extends string>(
  names: readonly Name[],
  rows: readonly Readonly<Record<Name, Value>>[],
  { sep, none }: Separators,
): Record<Name, string> {
  const texts = names.map((name) => [name, rows.map((row) => `${row[name] ?? none}${sep}`).join('')] as const)
  return Object.fromEntries(texts) as Record<Name, string>
}
