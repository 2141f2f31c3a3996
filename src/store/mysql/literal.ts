import { createHash } from 'node:crypto'

/** A value as a statement takes it. */
export type Value = string | number | boolean | null

/** A piece of a statement, put into it as it is. */
export class Sql {
  constructor(readonly text: string) {}
}

/** That a value cannot be kept: about one datum, never about the whole store. */
export class DataError extends Error {
  override readonly name = 'DataError'
}

/** Letters that mean the same in every sql_mode and every character set that a connection may have. */
const PLAIN = /^[\x20-\x5b\x5d-\x7e]+$/

/**
 * A value as part of a statement's text. What is not plain goes as the digits of its bytes: so neither
 * NO_BACKSLASH_ESCAPES nor the character set of a connection changes what is meant.
 */
export function literal(value: Value): string {
  if (value === null) return 'NULL'
  if (typeof value === 'string') return text(value)
  if (typeof value === 'boolean') return value ? '1' : '0'
  if (Number.isSafeInteger(value)) return String(value)
  throw new DataError(`The number ${value} is not a whole one.`)
}

/**
 * JSON for a column: like any text, but with its backslashes, which it nearly always has, escaped. Only for messages that
 * set the sql_mode, and so know that a backslash escapes.
 */
export function json(value: unknown): Sql {
  return jsonText(JSON.stringify(value))
}

/** The same for what is JSON already. */
export function jsonText(text: string): Sql {
  return new Sql(PRINTABLE.test(text) ? `'${text.replace(/[\\']/g, '\\$&')}'` : literal(text))
}

const PRINTABLE = /^[\x20-\x7e]+$/

function text(value: string): string {
  return PLAIN.test(value) ? `'${value.replaceAll("'", "''")}'` : `X'${Buffer.from(value).toString('hex')}'`
}

/** Bytes of a name as its column keeps it: those of a longer one are the first ones, and a word for the whole. */
const NAME_BYTES = 767
const HASH_BYTES = 32

/**
 * A name as a column of its own, by which rows are found and put in order: an index has room for so much and no more. A
 * name that was folded is one byte longer than any that was not, so none is taken for another; rows keep it in full too.
 */
export function name(value: string): Sql {
  return new Sql(isShort(value) ? text(value) : `X'${foldedBytes(value).toString('hex')}'`)
}

export function nameOrNull(value: string | null): Sql | null {
  return value === null ? null : name(value)
}

/** A name as a key of maps: the bytes of its column, each a letter of latin1. Their order is that of the column. */
export function nameKey(value: string): string {
  if (isShort(value)) return ASCII.test(value) ? value : Buffer.from(value).toString('latin1')
  return foldedBytes(value).toString('latin1')
}

const ASCII = /^[\0-\x7f]*$/

/** The same from the column. */
export function columnKey(bytes: Buffer): string {
  return bytes.toString('latin1')
}

/** A name by its key. */
export function named(key: string): Sql {
  return new Sql(PLAIN.test(key) ? text(key) : `X'${Buffer.from(key, 'latin1').toString('hex')}'`)
}

/** A name in full where its column has it so; otherwise what can be said of it. */
export function nameColumn(bytes: Buffer): string {
  return bytes.length > NAME_BYTES
    ? `${bytes.subarray(0, NAME_BYTES - HASH_BYTES).toString('utf8')}…`
    : bytes.toString('utf8')
}

function isShort(value: string): boolean {
  return value.length * 3 <= NAME_BYTES || Buffer.byteLength(value) <= NAME_BYTES
}

function foldedBytes(value: string): Buffer {
  const bytes = Buffer.from(value)
  const head = bytes.subarray(0, NAME_BYTES + 1 - HASH_BYTES)
  return Buffer.concat([head, createHash('sha256').update(bytes).digest()])
}

/** The order of names in the database: that of their bytes. */
export function compareKeys(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** Names as a list for IN; one that matches nothing where there are none. */
export function names(values: Iterable<string>): Sql {
  return list([...new Set(values)].map((value) => name(value).text))
}

/** The same by their keys. */
export function namedAll(keys: Iterable<string>): Sql {
  return list([...keys].map((key) => named(key).text))
}

function list(values: readonly string[]): Sql {
  return new Sql(values.length === 0 ? '(NULL)' : `(${values.join(',')})`)
}

/** Rows for IN or VALUES. */
export function rows(list: readonly (readonly (Value | Sql)[])[]): Sql {
  return new Sql(list.map((row) => `(${row.map(part).join(',')})`).join(','))
}

export function part(value: Value | Sql): string {
  return value instanceof Sql ? value.text : literal(value)
}

/** Rows that were made one by one. */
export function joined(list: readonly Sql[]): Sql {
  return new Sql(list.map((each) => each.text).join(','))
}
