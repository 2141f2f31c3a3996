import type { Statements } from '../port.js'

/**
 * Instants are milliseconds of SQLite's own clock. Nothing is locked for share: a transaction that reads the fence and
 * then writes is refused (busy) if somebody wrote in between, and ours begin as writers.
 */
export const SQLITE: Statements = {
  tables: [
    `CREATE TABLE IF NOT EXISTS fleetcron_effect (
  key TEXT NOT NULL PRIMARY KEY,
  state TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  result TEXT,
  job TEXT,
  run TEXT,
  token INTEGER,
  attempt INTEGER,
  created_at INTEGER NOT NULL
)`,
    `CREATE TABLE IF NOT EXISTS fleetcron_fence (
  resource TEXT NOT NULL PRIMARY KEY,
  token INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
)`,
  ],
  raiseFence: `INSERT INTO fleetcron_fence (resource, token, updated_at)
VALUES (?, ?, CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER))
ON CONFLICT (resource) DO UPDATE SET token = excluded.token, updated_at = excluded.updated_at
WHERE excluded.token > fleetcron_fence.token`,
  readFence: `SELECT token FROM fleetcron_fence WHERE resource = ?`,
  takeKey: `INSERT INTO fleetcron_effect (key, fingerprint, job, run, token, attempt, state, created_at)
VALUES (?, ?, ?, ?, ?, ?, 'open', CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER))
ON CONFLICT (key) DO NOTHING`,
  readKey: `SELECT state, fingerprint, result FROM fleetcron_effect WHERE key = ?`,
  retakeKey: `UPDATE fleetcron_effect SET fingerprint = ?, job = ?, run = ?, token = ?, attempt = ?
WHERE key = ? AND state = 'open'`,
  finishKey: `UPDATE fleetcron_effect SET result = ?, state = 'done' WHERE key = ?`,
  savepoint: {
    begin: `SAVEPOINT fleetcron_effect`,
    rollBack: `ROLLBACK TO SAVEPOINT fleetcron_effect`,
    release: `RELEASE SAVEPOINT fleetcron_effect`,
  },
}
