/**
 * Reads comma-separated values as RFC 4180 describes them: fields may stand in quotes, a quote within is doubled, lines end
 * with LF or CRLF; empty lines at the end are left away. Nothing is trimmed or guessed. What cannot be read is refused with
 * the line and the column it stands in.
 */
export interface CsvRow {
  /** The line of the file that the row begins on, from 1. */
  readonly line: number
  readonly fields: readonly string[]
}

/** Something in a file is wrong. `line` counts from 1; `column` is the number of the field, from 1. */
export class CsvError extends Error {
  override readonly name = 'CsvError'

  constructor(
    readonly file: string,
    readonly line: number,
    readonly column: number,
    columnName: string | null,
    what: string,
  ) {
    super(`${file}, line ${line}, column ${column}${columnName === null ? '' : ` (${columnName})`}: ${what}`)
  }
}

/** A field: in quotes, or free of quotes, commas and line ends. Sticky, so that it matches where the last one ended. */
const FIELD = /"((?:[^"]|"")*)"|([^",\r\n]*)/y
/** What may follow a field. */
const END = /,|\r\n|\n|$/y

/** @throws CsvError for a file that is not UTF-8, or not of that form */
export function readCsv(file: string, bytes: Uint8Array): CsvRow[] {
  const text = decode(file, bytes)
  const rows: CsvRow[] = []
  let fields: string[] = []
  let at = 0
  let line = 1
  let startLine = 1
  while (at < text.length || fields.length > 0) {
    FIELD.lastIndex = at
    const [whole, quoted, plain = ''] = FIELD.exec(text) as RegExpExecArray
    fields.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'))
    line += countLines(whole)
    at += whole.length
    END.lastIndex = at
    const end = END.exec(text)?.[0]
    if (end === undefined) throw new CsvError(file, line, fields.length, null, whatIsWrong(text, at, quoted))
    at += end.length
    if (end === ',') continue
    rows.push({ line: startLine, fields })
    fields = []
    line += 1
    startLine = line
  }
  while (isEmpty(rows.at(-1))) rows.pop()
  return rows
}

function isEmpty(row: CsvRow | undefined): boolean {
  return row !== undefined && row.fields.length === 1 && row.fields[0] === ''
}

function whatIsWrong(text: string, at: number, quoted: string | undefined): string {
  if (quoted !== undefined) return 'after the closing quote comes neither a comma nor the end of the line'
  if (text[at] === '\r') return 'a carriage return without a line feed; end lines with LF or CRLF'
  const opened = text[at - 1] === undefined || /[,\n]/.test(text[at - 1] as string)
  return opened ? 'a quote is opened and never closed' : 'a quote inside a field that does not begin with one'
}

function countLines(text: string): number {
  return text.split('\n').length - 1
}

/** The text without a byte order mark. A line that is not UTF-8 is named. */
function decode(file: string, bytes: Uint8Array): string {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  try {
    return decoder.decode(bytes)
  } catch {
    throw new CsvError(file, firstBadLine(bytes), 1, null, 'the line is not UTF-8; save the file as UTF-8')
  }
}

function firstBadLine(bytes: Uint8Array): number {
  const LINE_FEED = 10
  for (let line = 1, start = 0; ; line++) {
    const found = bytes.indexOf(LINE_FEED, start)
    const end = found === -1 ? bytes.length : found
    try {
      new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(start, end))
    } catch {
      return line
    }
    if (found === -1) return line
    start = end + 1
  }
}
