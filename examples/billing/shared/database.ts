import Database from 'better-sqlite3'

export type Db = Database.Database

/**
 * No constraint forbids a second invoice of a customer for one period: the demonstration counts invoices, and a constraint
 * would hide what it is to show. `period` is the key of the run that made it.
 */
const TABLES = `
  CREATE TABLE IF NOT EXISTS invoice (
    number INTEGER PRIMARY KEY, customer_id TEXT NOT NULL, period TEXT NOT NULL, issued_on TEXT NOT NULL,
    total INTEGER NOT NULL, currency TEXT NOT NULL, node TEXT NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS invoice_line (
    invoice INTEGER NOT NULL REFERENCES invoice (number), position INTEGER NOT NULL, text TEXT NOT NULL,
    amount INTEGER NOT NULL, PRIMARY KEY (invoice, position)
  ) STRICT;
  CREATE INDEX IF NOT EXISTS invoice_period ON invoice (period, customer_id);
`

/** Opens the business database and creates what is missing; several processes at once. */
export function openDatabase(path: string): Db {
  const database = openFile(path)
  database.exec(`BEGIN IMMEDIATE; ${TABLES} COMMIT`)
  return database
}

/** Opens a file that several processes use, and creates it where it is missing. */
export function openFile(path: string): Db {
  const database = new Database(path, { timeout: 5_000 })
  database.pragma('journal_mode = WAL')
  // A killed process loses nothing with NORMAL, only a power failure may; a real application would say FULL.
  database.pragma('synchronous = NORMAL')
  return database
}
