import { oneLine } from '../platform/told.js'

/** Rows of text in columns, with a head; no blanks at the ends of lines. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [head, ...rows.map((row) => row.map(cellOf))]
  const widths = head.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)))
  const lines = all.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
  return `${lines.join('\n')}\n`
}

/** What is known of one thing, a line each; what is empty is left out. */
export function facts(known: Readonly<Record<string, string>>): string {
  const shown = Object.entries(known).filter(([, value]) => value !== '')
  const width = Math.max(...shown.map(([name]) => name.length))
  return shown.map(([name, value]) => `${name.padEnd(width)}  ${cellOf(value)}\n`).join('')
}

/** A name of a job or an error's text stays on its line; the blanks in it are its own. */
function cellOf(text: string): string {
  return /[\p{Cc}\p{Cf}]/u.test(text) ? oneLine(text) : text
}
