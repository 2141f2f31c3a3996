import type { Statements } from '../port.js'

const NOW = `CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER)`

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
  created_at INTEGER NOT NULL,
  input TEXT,
  idempotency_key TEXT,
  tries INTEGER,
  sending_until INTEGER,
  valid_until INTEGER,
  problem TEXT,
  audit TEXT
)`,
    `CREATE INDEX IF NOT EXISTS fleetcron_effect_uncertain ON fleetcron_effect (created_at)
WHERE state IN ('intended', 'uncertain')`,
    `CREATE TABLE IF NOT EXISTS fleetcron_fence (
  resource TEXT NOT NULL PRIMARY KEY,
  token INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
)`,
  ],
  columns: `SELECT relation.name AS name, attribute.name AS col, attribute.pk AS pk
FROM sqlite_master AS relation JOIN pragma_table_info(relation.name) AS attribute
WHERE relation.name IN ('fleetcron_effect', 'fleetcron_fence')`,
  raiseFence: `INSERT INTO fleetcron_fence (resource, token, updated_at)
VALUES (?, ?, ${NOW})
ON CONFLICT (resource) DO UPDATE SET token = excluded.token, updated_at = excluded.updated_at
WHERE excluded.token > fleetcron_fence.token`,
  readFence: `SELECT token FROM fleetcron_fence WHERE resource = ?`,
  takeKey: `INSERT INTO fleetcron_effect (key, fingerprint, job, run, token, attempt, result, state, created_at)
VALUES (?, ?, ?, ?, ?, ?, ?, 'open', ${NOW})
ON CONFLICT (key) DO NOTHING`,
  readKey: `SELECT state, fingerprint, result FROM fleetcron_effect WHERE key = ?`,
  lockKey: `SELECT state, fingerprint, result FROM fleetcron_effect WHERE key = ?`,
  retakeKey: `UPDATE fleetcron_effect SET fingerprint = ?, job = ?, run = ?, token = ?, attempt = ?, result = ?
WHERE key = ? AND state = 'open'`,
  finishKey: `UPDATE fleetcron_effect SET result = ?, state = 'done' WHERE key = ? AND state = 'open' AND result = ?`,
  expired: `SELECT key, CASE WHEN state IN ('done', 'confirmed', 'rejected') AND coalesce(sending_until, created_at) < ${NOW} - ?
  THEN 1 ELSE 0 END AS expired FROM fleetcron_effect WHERE key > ? ORDER BY key LIMIT ?`,
  prune: `DELETE FROM fleetcron_effect WHERE key = ?
  AND state IN ('done', 'confirmed', 'rejected') AND coalesce(sending_until, created_at) < ${NOW} - ?`,
  expiredFences: `SELECT resource AS key, CASE WHEN updated_at < ${NOW} - ? THEN 1 ELSE 0 END AS expired
FROM fleetcron_fence WHERE resource > ? ORDER BY resource LIMIT ?`,
  pruneFence: `DELETE FROM fleetcron_fence WHERE resource = ? AND updated_at < ${NOW} - ?`,
  savepoint: {
    begin: `SAVEPOINT fleetcron_effect`,
    rollBack: `ROLLBACK TO SAVEPOINT fleetcron_effect`,
    release: `RELEASE SAVEPOINT fleetcron_effect`,
  },
  calls: {
    intend: `INSERT INTO fleetcron_effect (key, fingerprint, job, run, token, attempt, input, idempotency_key,
  sending_until, valid_until, state, tries, created_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ${NOW} + ?, ${NOW} + ?, 'intended', 1, ${NOW})
ON CONFLICT (key) DO NOTHING`,
    takeOver: `UPDATE fleetcron_effect SET fingerprint = ?, job = ?, run = ?, token = ?, attempt = ?, input = ?,
  idempotency_key = ?, sending_until = ${NOW} + ?, valid_until = ${NOW} + ?, state = 'intended', tries = 1,
  created_at = ${NOW} WHERE key = ? AND state = 'open'`,
    read: `SELECT state, fingerprint, result, input, idempotency_key, tries, sending_until, valid_until, problem, audit,
  job, run, ${NOW} AS now FROM fleetcron_effect WHERE key = ?`,
    sendAgain: `UPDATE fleetcron_effect SET token = ?, attempt = ?, sending_until = ${NOW} + ?, valid_until = ?,
  state = 'intended', tries = tries + 1 WHERE key = ?`,
    settle: `UPDATE fleetcron_effect SET state = ?, result = ?, problem = ? WHERE key = ?`,
    answer: `UPDATE fleetcron_effect SET state = ?, result = ?, problem = ?, sending_until = ${NOW}
  WHERE key = ?`,
    audit: `UPDATE fleetcron_effect SET audit = ? WHERE key = ?`,
    uncertain: `SELECT key, state, job, run, input, idempotency_key, tries, problem, created_at FROM fleetcron_effect
WHERE state = 'uncertain' OR (state = 'intended' AND sending_until <= ${NOW}) ORDER BY created_at, key LIMIT ?`,
  },
}
