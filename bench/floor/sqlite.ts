import Database from 'better-sqlite3'
import type { Floor } from './floor.js'

/** One connection: SQLite has one writer at a time, and waits for nobody better than for itself. */
export async function sqliteFloor(path: string): Promise<Floor> {
  const database = new Database(path)
  database.pragma('journal_mode = WAL')
  database.pragma('synchronous = FULL')
  database.exec(`
    CREATE TABLE IF NOT EXISTS floor (job TEXT, key TEXT, state TEXT, token INTEGER, session TEXT, PRIMARY KEY (job, key))
      WITHOUT ROWID;
    DELETE FROM floor`)
  const claim = database.prepare(`INSERT INTO floor VALUES ('job', ?, 'running', ?, 'session') ON CONFLICT DO NOTHING`)
  const complete = database.prepare(
    `UPDATE floor SET state = 'succeeded' WHERE job = 'job' AND key = ? AND state = 'running' AND token = ?`,
  )
  const claimAll = database.transaction((numbers: readonly number[]) => {
    for (const number of numbers) won(claim.run(String(number), number).changes)
  })
  const completeAll = database.transaction((numbers: readonly number[]) => {
    for (const number of numbers) won(complete.run(String(number), number).changes)
  })
  const batch = async (_: number, numbers: readonly number[]) => {
    claimAll(numbers)
    completeAll(numbers)
  }
  return {
    batchConnections: 1,
    singleConnections: 1,
    batch,
    single: (connection, number) => batch(connection, [number]),
    end: async () => void database.close(),
  }
}

function won(changes: number): void {
  if (changes !== 1) throw new Error('The floor lost a claim.')
}
