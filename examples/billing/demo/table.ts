export type Cell = string | number

/** A table for a terminal: numbers to the right, everything else to the left. */
export function formatTable(headings: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const widths = headings.map((heading, column) =>
    Math.max(heading.length, ...rows.map((row) => String(row[column] ?? '').length)),
  )
  const line = (cells: readonly Cell[]) =>
    cells
      .map((cell, column) => {
        const width = widths[column] ?? 0
        return typeof cell === 'number' ? String(cell).padStart(width) : cell.padEnd(width)
      })
      .join('  ')
      .trimEnd()
  const rule = widths.map((width) => '─'.repeat(width)).join('  ')
  return [line(headings), rule, ...rows.map(line)].join('\n')
}
