import { mysql2Adapter } from '../../src/effect/mysql2/index.js'
import { pgAdapter } from '../../src/effect/pg/index.js'
import type { EffectAdapter } from '../../src/effect/port.js'
import { sqliteAdapter } from '../../src/effect/sqlite/index.js'

export type Row = Readonly<Record<string, unknown>>

/** The business database of a round: a SQLite file, or a server's URL. */
export interface Business {
  // biome-ignore lint/suspicious/noExplicitAny: each library has a transaction of its own.
  readonly adapter: EffectAdapter<any>
  /** Writes the change of a unit within its transaction; at one stretch on SQLite. */
  // biome-ignore lint/suspicious/noExplicitAny: each library has a transaction of its own.
  write(tx: any, key: string): unknown
  rows(sql: string): Promise<readonly Row[]>
  close(): Promise<void>
}

export const LINES = 'CREATE TABLE IF NOT EXISTS line (effect VARCHAR(200) NOT NULL, pid INTEGER NOT NULL)'

/** Loads only the driver that is needed: a process is started for each kill. */
export function openBusiness(database: string): Promise<Business> {
  if (database.startsWith('postgres')) return postgres(database)
  if (database.startsWith('mysql') || database.startsWith('mariadb')) return mysql(database)
  return sqlite(database)
}

async function sqlite(file: string): Promise<Business> {
  const { default: Database } = await import('better-sqlite3')
  const database = new Database(file)
  database.pragma('journal_mode = WAL')
  database.pragma('synchronous = FULL')
  return {
    adapter: sqliteAdapter(database),
    write: (tx: typeof database, key) => tx.prepare('INSERT INTO line VALUES (?, ?)').run(key, process.pid).changes,
    rows: async (sql) => {
      const statement = database.prepare(sql)
      if (statement.reader) return statement.all() as Row[]
      statement.run()
      return []
    },
    close: async () => void database.close(),
  }
}

async function postgres(url: string): Promise<Business> {
  const { default: pg } = await import('pg')
  const pool = new pg.Pool({ connectionString: url, max: 4 })
  pool.on('error', () => {})
  return {
    adapter: pgAdapter(pool),
    write: (tx, key) => tx.query('INSERT INTO line VALUES ($1, $2)', [key, process.pid]).then(() => 1),
    rows: async (sql) => (await pool.query(sql)).rows,
    close: () => pool.end(),
  }
}

async function mysql(url: string): Promise<Business> {
  const { createPool } = await import('mysql2/promise')
  const pool = createPool({ uri: url.replace(/^mariadb:/, 'mysql:'), connectionLimit: 4 })
  return {
    adapter: mysql2Adapter(pool),
    write: (tx, key) => tx.query('INSERT INTO line VALUES (?, ?)', [key, process.pid]).then(() => 1),
    rows: async (sql) => {
      const [rows] = await pool.query(sql)
      return Array.isArray(rows) ? (rows as unknown as Row[]) : []
    },
    close: () => pool.end(),
  }
}
