import type Database from 'better-sqlite3'
import * as statements from '../src/store/sqlite/statements.js'

/** Statements of the loop by name; the pragma has no plan. */
const LOOP = Object.entries(statements).filter(([, sql]) => !sql.startsWith('PRAGMA'))

/** One line for each statement of the loop that would pass over a whole table, or a whole fleet, of jobs or runs. */
export function fullScans(database: Database.Database): string[] {
  return LOOP.flatMap(([name, sql]) => badSteps(database, sql).map((step) => `${name}: ${step}`))
}

/** Steps of a statement's plan that read `job` or `run` without going by more than the fleet. */
export function badSteps(database: Database.Database, sql: string): string[] {
  const parameters = Object.fromEntries([...sql.matchAll(/@(\w+)/g)].map(([, name]) => [name, null]))
  const plan = database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(parameters) as { detail: string }[]
  return plan
    .map((step) => step.detail)
    .filter((step) => /^(SCAN|SEARCH) (job|run)\b/.test(step))
    .filter((step) => !/\(fleet=\? AND /.test(step) || /\(fleet=\? AND service=\?\)/.test(step))
}
