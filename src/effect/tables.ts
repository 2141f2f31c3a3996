import type { FleetcronError } from '../errors.js'
import { effectInvalid } from './errors.js'
import type { QueryResult, Statements } from './port.js'
import type { Script } from './script.js'

/** The columns of the two tables, the primary key first. */
export const EFFECT_TABLES: Readonly<Record<string, readonly string[]>> = {
  fleetcron_effect: [
    'key',
    'state',
    'fingerprint',
    'result',
    'job',
    'run',
    'token',
    'attempt',
    'created_at',
    'input',
    'idempotency_key',
    'tries',
    'sending_until',
    'valid_until',
    'problem',
    'audit',
  ],
  fleetcron_fence: ['resource', 'token', 'updated_at'],
}

/** The statements that make the tables, to be printed. */
export function tablesText(sql: Statements): string {
  return sql.tables.map((statement) => `${statement};\n`).join('\n')
}

/** What of the tables is missing, in words. Types are not looked at: what is too narrow is refused by the database. */
export function* missingScript(sql: Statements): Script<readonly string[]> {
  const { rows } = (yield { sql: sql.columns, params: [] }) as QueryResult
  const found = new Map(rows.map((row) => [`${row.name}.${row.col}`, Number(row.pk) === 1]))
  return Object.entries(EFFECT_TABLES).flatMap(([table, columns]) => {
    const [key] = columns
    const missing = columns.filter((column) => !found.has(`${table}.${column}`))
    if (missing.length === columns.length) return [`table ${table}`]
    if (missing.length > 0) return missing.map((column) => `column ${column} of ${table}`)
    return found.get(`${table}.${key}`) ? [] : [`primary key ${key} of ${table}`]
  })
}

/** Makes what is missing. Where nothing is, nothing is asked for that a restricted user may not do. */
export function* ensureScript(sql: Statements): Script<readonly string[]> {
  const missing = yield* missingScript(sql)
  if (missing.length > 0) for (const statement of sql.tables) yield { sql: statement, params: [] }
  return missing
}

export function tablesSpoilt(what: string, missing: readonly string[]): FleetcronError {
  const why = `tables that were there before lack ${missing.join(', ')}. Add that by hand, or rename them.`
  return effectInvalid(what, why)
}
