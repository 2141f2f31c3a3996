import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { CsvError, type CsvRow, readCsv } from './csv.js'
import { digitsOf, isCurrency, type Minor, parseAmount } from './money.js'

export interface Customer {
  readonly id: string
  readonly name: string
  readonly plan: string
  readonly price: Minor
  /** ISO 4217. */
  readonly currency: string
  /** IANA zone: an invoice carries the date of the customer's own calendar. */
  readonly zone: string
}

const COLUMNS = ['id', 'name', 'plan', 'price', 'currency', 'zone'] as const
type Column = (typeof COLUMNS)[number]

const LIMITS: Readonly<Record<Column, number>> = { id: 64, name: 500, plan: 100, price: 32, currency: 3, zone: 64 }

/** @throws CsvError naming line and column of the first thing that is wrong */
export function readCustomers(path: string): Customer[] {
  const file = basename(path)
  const [header, ...rows] = readCsv(file, readFileSync(path))
  if (header === undefined)
    throw new CsvError(file, 1, 1, null, `the file is empty; begin it with ${COLUMNS.join(',')}`)
  checkHeader(file, header)
  const lineOfId = new Map<string, number>()
  return rows.map((row) => {
    const customer = readCustomer(new Line(file, header.fields, row))
    const earlier = lineOfId.get(customer.id)
    if (earlier !== undefined) {
      const column = header.fields.indexOf('id') + 1
      throw new CsvError(file, row.line, column, 'id', `customer '${customer.id}' stands on line ${earlier} already`)
    }
    lineOfId.set(customer.id, row.line)
    return customer
  })
}

function checkHeader(file: string, { line, fields }: CsvRow): void {
  for (const [index, name] of fields.entries()) {
    const known = (COLUMNS as readonly string[]).includes(name)
    if (known && fields.indexOf(name) === index) continue
    const what = known ? `the column '${name}' comes twice` : `'${name}' is not a column`
    throw new CsvError(file, line, index + 1, null, `${what}; the columns are ${COLUMNS.join(', ')}`)
  }
  const missing = COLUMNS.find((name) => !fields.includes(name))
  if (missing === undefined) return
  throw new CsvError(file, line, fields.length + 1, null, `the column '${missing}' is missing`)
}

/** One row, with the names of its fields. */
class Line {
  constructor(
    private readonly file: string,
    private readonly header: readonly string[],
    private readonly row: CsvRow,
  ) {
    const { length } = row.fields
    if (length === header.length) return
    const what = length === 1 && row.fields[0] === '' ? 'the line is empty' : `the line has ${length} fields`
    throw new CsvError(file, row.line, length, null, `${what}, the header has ${header.length}`)
  }

  /** The field's text, neither empty, nor too long, nor with characters that nobody can see and no printer prints. */
  text(column: Column): string {
    const text = this.row.fields[this.header.indexOf(column)] ?? ''
    if (text.trim() === '') throw this.wrong(column, 'the field is empty')
    if (text.length > LIMITS[column]) throw this.wrong(column, `more than ${LIMITS[column]} characters`)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for.
    const control = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/.exec(text)
    if (control) throw this.wrong(column, `the control character ${JSON.stringify(control[0])}`)
    return text
  }

  wrong(column: Column, what: string): CsvError {
    return new CsvError(this.file, this.row.line, this.header.indexOf(column) + 1, column, what)
  }
}

function readCustomer(line: Line): Customer {
  const [id, name, plan] = [line.text('id'), line.text('name'), line.text('plan')]
  const [price, currency, zone] = [line.text('price'), line.text('currency'), line.text('zone')]
  if (!isCurrency(currency)) throw line.wrong('currency', `'${currency}' is not an ISO 4217 currency, such as EUR`)
  const amount = parseAmount(price, currency)
  if (amount === null) {
    const digits = digitsOf(currency)
    const form = digits === 0 ? 'nothing behind a point' : `at most ${digits} digits behind the point`
    throw line.wrong(
      'price',
      `'${price}' is not an amount in ${currency}: write a number with ${form}, such as ${example(digits)}`,
    )
  }
  if (!isZone(zone)) throw line.wrong('zone', `'${zone}' is not an IANA time zone, such as Europe/Helsinki`)
  return { id, name, plan, price: amount, currency, zone }
}

function example(digits: number): string {
  return digits === 0 ? '1290' : `12.${'9'.padEnd(digits, '0')}`
}

function isZone(zone: string): boolean {
  try {
    return /^[A-Za-z]/.test(zone) && new Intl.DateTimeFormat('en', { timeZone: zone }) !== null
  } catch {
    return false
  }
}
