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

export type Row = Readonly<Record<string, Value>>
export type Table = readonly Row[]

/**
 * Two words that occur in none of the values, and begin with a character that they do not repeat: so neither can arise where
 * a value and a word meet. JSON has no such characters, and is not searched.
 */
export function separatorsFor(tables: readonly Table[]): Separators {
  for (let n = 0; ; n++) {
    const words = { sep: `\u001e${n || ''}`, none: `\u001f${n || ''}` }
    if (!tables.some((table) => table.some((row) => occurIn(row, words)))) return words
  }
}

function occurIn(row: Row, { sep, none }: Separators): boolean {
  for (const name in row) {
    const value = row[name]
    if (typeof value !== 'string' || JSON_COLUMNS.has(name)) continue
    if (value.includes(sep) || value.includes(none)) return true
  }
  return false
}

/** Columns whose values JSON.stringify made. */
const JSON_COLUMNS: ReadonlySet<string> = new Set(['c_header', 'r_body', 'r_stop', 'd_content'])

/** Whether a text in a column of its own has a NUL in it; in JSON it is an escape like others. */
export function hasNul(rows: Table): boolean {
  return rows.some((row) => Object.values(row).some((value) => typeof value === 'string' && value.includes('\0')))
}

/** A table as columns: one text each, every value ended by the separator; no rows are an empty text. */
export function columns<Name extends string>(
  names: readonly Name[],
  rows: readonly Readonly<Record<Name, Value>>[],
  { sep, none }: Separators,
): Record<Name, string> {
  const texts = {} as Record<Name, string>
  for (const name of names) {
    let text = ''
    for (const row of rows) text += (row[name] ?? none) + sep
    texts[name] = text
  }
  return texts
}
