import type { AsyncAdapter, Param, QueryResult } from './port.js'

/**
 * Texts on their way to MySQL and back go as the digits of their bytes, which mean the same in every sql_mode and in every
 * character set that a connection may have: a driver that writes parameters into the statement escapes them for a mode that
 * may not be set (NO_BACKSLASH_ESCAPES), and what a character set does not have becomes `?`, one key for many.
 */
export async function ask<Tx>(
  adapter: AsyncAdapter<Tx>,
  tx: Tx,
  sql: string,
  params: readonly Param[],
): Promise<QueryResult> {
  const { rows, affected } = await adapter.query(tx, sql, params.map(digitsOf))
  return { rows: rows.map(textsOf), affected }
}

/** Columns that the statements of MySQL give as digits. */
const DIGITS = ['key', 'result', 'input', 'problem', 'audit', 'job', 'run'] as const

function digitsOf(param: Param): Param {
  return typeof param === 'string' ? Buffer.from(param).toString('hex') : param
}

function textsOf(row: QueryResult['rows'][number]): QueryResult['rows'][number] {
  const given = DIGITS.filter((column) => row[column] !== undefined && row[column] !== null)
  const texts = given.map((column) => [column, Buffer.from(String(row[column]), 'hex').toString()] as const)
  return { ...row, ...Object.fromEntries(texts) }
}
