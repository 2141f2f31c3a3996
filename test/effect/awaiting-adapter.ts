import type Database from 'better-sqlite3'
import type { AsyncAdapter, QueryResult } from '../../src/effect/port.js'
import { sqliteAdapter } from '../../src/effect/sqlite/index.js'

/**
 * An asynchronous adapter such as a pool of connections makes one: every transaction has a connection of its own, every
 * answer comes in a later turn. Like Postgres it offers no savepoints.
 */
export function awaitingAdapter(connect: () => Database.Database): AsyncAdapter<Database.Database> {
  const idle: Database.Database[] = []
  const { statements, classify, inTransaction, query } = sqliteAdapter(connect())
  return {
    dialect: 'sqlite',
    sync: false,
    statements: { ...statements, savepoint: null },
    classify,
    inTransaction,
    async query(tx, sql, params): Promise<QueryResult> {
      await Promise.resolve()
      return query(tx, sql, params)
    },
    async transaction(fn) {
      const tx = idle.pop() ?? connect()
      try {
        tx.exec('BEGIN IMMEDIATE')
        const value = await fn(tx)
        tx.exec('COMMIT')
        return value
      } catch (error) {
        if (tx.inTransaction) tx.exec('ROLLBACK')
        throw error
      } finally {
        idle.push(tx)
      }
    },
  }
}
