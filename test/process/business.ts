import Database from 'better-sqlite3'
import { createPool } from 'mysql2/promise'
import pg from 'pg'
import { mysql2 } from '../../src/effect/mysql2/index.js'
import { pg as effectsOfPg } from '../../src/effect/pg/index.js'
import type { Effects } from '../../src/effect/port.js'
import { sqlite } from '../../src/effect/sqlite/index.js'

/** The business database of one process, with the table `invoice (customer, date, node)`. */
export interface NodeBusiness {
  readonly effects: Effects
  /** Inserts an invoice in the transaction of an effect, then calls `then` in it; at one stretch on SQLite. */
  bill(tx: unknown, invoice: readonly string[], then: () => void): void | Promise<void>
  close(): unknown
}

interface Queries {
  query(sql: string, values: readonly string[]): Promise<unknown>
}

/** A file of SQLite, or the URL of a server. */
export function openBusiness(business: string): NodeBusiness {
  if (/^postgres(ql)?:/.test(business)) {
    const pool = new pg.Pool({ connectionString: business, max: 4 })
    pool.on('error', () => {})
    return onServer(effectsOfPg(pool), 'VALUES ($1, $2, $3)', () => pool.end())
  }
  if (business.startsWith('mysql:')) {
    const pool = createPool({ uri: business, connectionLimit: 4 })
    return onServer(mysql2(pool), 'VALUES (?, ?, ?)', () => pool.end())
  }
  const database = new Database(business)
  database.pragma('journal_mode = WAL')
  database.exec('CREATE TABLE IF NOT EXISTS invoice (customer TEXT, date TEXT, node TEXT)')
  const insert = database.prepare('INSERT INTO invoice (customer, date, node) VALUES (?, ?, ?)')
  return {
    effects: sqlite(database) as unknown as Effects,
    bill(_, invoice, then) {
      insert.run(...invoice)
      then()
    },
    close: () => database.close(),
  }
}

function onServer<Tx>(effects: Effects<Tx>, values: string, close: () => unknown): NodeBusiness {
  return {
    effects: effects as unknown as Effects,
    async bill(tx, invoice, then) {
      await (tx as Queries).query(`INSERT INTO invoice (customer, date, node) ${values}`, invoice)
      then()
    },
    close,
  }
}
