import Database from 'better-sqlite3'
import { createPool, type RowDataPacket } from 'mysql2/promise'
import pg from 'pg'
import { mysql2Adapter } from '../../src/effect/mysql2/index.js'
import { pgAdapter } from '../../src/effect/pg/index.js'
import type { EffectAdapter } from '../../src/effect/port.js'
import { sqliteAdapter } from '../../src/effect/sqlite/index.js'

/** The business database of a round: a SQLite file, or a server's URL. */
export interface Business {
  // biome-ignore lint/suspicious/noExplicitAny: each library has a transaction of its own.
  readonly adapter: EffectAdapter<any>
  /** Writes the change of a unit within its transaction; at one stretch on SQLite. */
  // biome-ignore lint/suspicious/noExplicitAny: each library has a transaction of its own.
  write(tx: any, key: string): unknown
  rows(sql: string): Promise<Record<string, unknown>[]>
  close(): Promise<void>
}

export const LINES = 'CREATE TABLE IF NOT EXISTS line (effect VARCHAR(200) NOT NULL, pid INTEGER NOT NULL)'

export function openBusiness(database: string): Business {
  if (database.startsWith('postgres')) return postgres(database)
  if (database.startsWith('mysql') || database.startsWith('mariadb')) return mysql(database)
  return sqlite(database)
}

function sqlite(file: string): Business {
  const database = new Database(file)
  database.pragma('journal_mode = WAL')
  database.pragma('synchronous = FULL')
  return {
    adapter: sqliteAdapter(database),
    write: (tx: Database.Database, key) => tx.prepare('INSERT INTO line VALUES (?, ?)').run(key, process.pid).changes,
    rows: async (sql) => {
      const statement = database.prepare(sql)
      if (statement.reader) return statement.all() as Record<string, unknown>[]
      statement.run()
      return []
    },
    close: async () => void database.close(),
  }
}

function postgres(url: string): Business {
  const pool = new pg.Pool({ connectionString: url, max: 4 })
  pool.on('error', () => {})
  return {
    adapter: pgAdapter(pool),
    write: (tx: pg.PoolClient, key) => tx.query('INSERT INTO line VALUES ($1, $2)', [key, process.pid]).then(() => 1),
    rows: async (sql) => (await pool.query(sql)).rows,
    close: () => pool.end(),
  }
}

function mysql(url: string): Business {
  const pool = createPool({ uri: url.replace(/^mariadb:/, 'mysql:'), connectionLimit: 4 })
  return {
    adapter: mysql2Adapter(pool),
    write: (tx, key) => tx.query('INSERT INTO line VALUES (?, ?)', [key, process.pid]).then(() => 1),
    rows: async (sql) => (await pool.query<RowDataPacket[]>(sql))[0],
    close: () => pool.end(),
  }
}
