import type { Failure, Statements } from '../port.js'

/**
 * Milliseconds of the server's clock at the statement, whatever the session's time zone is: only without an argument does
 * UNIX_TIMESTAMP tell the two hours apart that have one name when summer time ends.
 */
const NOW = `(UNIX_TIMESTAMP() * 1000 + MICROSECOND(NOW(6)) DIV 1000)`

/** Compares byte by byte, spaces at the end included; MariaDB reads the first comment, MySQL 8 the second. */
const EXACT = `CHARACTER SET utf8mb4 COLLATE /*M! utf8mb4_nopad_bin *//*!80017 utf8mb4_0900_bin */`

/** MySQL has no way to ask; MariaDB reads the comment. */
const STILL_IN = ` /*M! AND @@in_transaction = 1 */`

/**
 * What is read after somebody else's write is read with a lock: a snapshot can be older than the key that was in the way.
 * There are no savepoints: MySQL refuses them in prepared statements.
 */
export const MYSQL: Statements = {
  tables: [
    `CREATE TABLE IF NOT EXISTS fleetcron_effect (
  \`key\` VARCHAR(576) ${EXACT} NOT NULL PRIMARY KEY,
  state VARCHAR(16) NOT NULL,
  fingerprint VARCHAR(128) NOT NULL,
  result MEDIUMTEXT CHARACTER SET utf8mb4,
  job TEXT CHARACTER SET utf8mb4,
  run TEXT CHARACTER SET utf8mb4,
  token BIGINT,
  attempt INT,
  created_at BIGINT NOT NULL,
  input MEDIUMTEXT CHARACTER SET utf8mb4,
  idempotency_key VARCHAR(64),
  tries INT,
  sending_until BIGINT,
  valid_until BIGINT,
  problem TEXT CHARACTER SET utf8mb4,
  audit MEDIUMTEXT CHARACTER SET utf8mb4,
  KEY fleetcron_effect_uncertain (state, created_at)
) ENGINE = InnoDB`,
    `CREATE TABLE IF NOT EXISTS fleetcron_fence (
  resource VARCHAR(640) ${EXACT} NOT NULL PRIMARY KEY,
  token BIGINT NOT NULL,
  updated_at BIGINT NOT NULL
) ENGINE = InnoDB`,
  ],
  columns: `SELECT table_name AS name, column_name AS col, column_key = 'PRI' AS pk
FROM information_schema.columns
WHERE table_schema = DATABASE() AND table_name IN ('fleetcron_effect', 'fleetcron_fence')`,
  raiseFence: `INSERT INTO fleetcron_fence (resource, token, updated_at)
VALUES (?, ?, ${NOW})
ON DUPLICATE KEY UPDATE
  updated_at = IF(VALUES(token) > token, VALUES(updated_at), updated_at), token = GREATEST(token, VALUES(token))`,
  readFence: `SELECT token FROM fleetcron_fence WHERE resource = ? LOCK IN SHARE MODE`,
  takeKey: `INSERT IGNORE INTO fleetcron_effect (\`key\`, fingerprint, job, run, token, attempt, result, state, created_at)
VALUES (?, ?, ?, ?, ?, ?, ?, 'open', ${NOW})`,
  readKey: `SELECT state, fingerprint, result FROM fleetcron_effect WHERE \`key\` = ? LOCK IN SHARE MODE`,
  lockKey: `SELECT state, fingerprint, result FROM fleetcron_effect WHERE \`key\` = ? FOR UPDATE`,
  retakeKey: `UPDATE fleetcron_effect SET fingerprint = ?, job = ?, run = ?, token = ?, attempt = ?, result = ?
WHERE \`key\` = ? AND state = 'open'`,
  finishKey: `UPDATE fleetcron_effect SET result = ?, state = 'done'
WHERE \`key\` = ? AND state = 'open' AND result = ?${STILL_IN}`,
  expired: `SELECT \`key\`, CASE WHEN state IN ('done', 'confirmed', 'rejected') AND coalesce(sending_until, created_at) < ${NOW} - ?
  THEN 1 ELSE 0 END AS expired FROM fleetcron_effect WHERE \`key\` > ? ORDER BY \`key\` LIMIT ?`,
  prune: `DELETE FROM fleetcron_effect WHERE \`key\` = ?
  AND state IN ('done', 'confirmed', 'rejected') AND coalesce(sending_until, created_at) < ${NOW} - ?`,
  expiredFences: `SELECT resource AS \`key\`, CASE WHEN updated_at < ${NOW} - ? THEN 1 ELSE 0 END AS expired
FROM fleetcron_fence WHERE resource > ? ORDER BY resource LIMIT ?`,
  pruneFence: `DELETE FROM fleetcron_fence WHERE resource = ? AND updated_at < ${NOW} - ?`,
  savepoint: null,
  calls: {
    intend: `INSERT IGNORE INTO fleetcron_effect (\`key\`, fingerprint, job, run, token, attempt, input, idempotency_key,
  sending_until, valid_until, state, tries, created_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ${NOW} + ?, ${NOW} + ?, 'intended', 1, ${NOW})`,
    takeOver: `UPDATE fleetcron_effect SET fingerprint = ?, job = ?, run = ?, token = ?, attempt = ?, input = ?,
  idempotency_key = ?, sending_until = ${NOW} + ?, valid_until = ${NOW} + ?, state = 'intended', tries = 1,
  created_at = ${NOW} WHERE \`key\` = ? AND state = 'open'`,
    read: `SELECT state, fingerprint, result, input, idempotency_key, tries, sending_until, valid_until, problem, audit,
  job, run, ${NOW} AS now FROM fleetcron_effect WHERE \`key\` = ? FOR UPDATE`,
    sendAgain: `UPDATE fleetcron_effect SET token = ?, attempt = ?, sending_until = ${NOW} + ?, valid_until = ?,
  state = 'intended', tries = tries + 1 WHERE \`key\` = ?`,
    settle: `UPDATE fleetcron_effect SET state = ?, result = ?, problem = ? WHERE \`key\` = ?`,
    answer: `UPDATE fleetcron_effect SET state = ?, result = ?, problem = ?, sending_until = ${NOW}
  WHERE \`key\` = ?`,
    audit: `UPDATE fleetcron_effect SET audit = ? WHERE \`key\` = ?`,
    uncertain: `SELECT \`key\`, state, job, run, input, idempotency_key, tries, problem, created_at FROM fleetcron_effect
WHERE state = 'uncertain' OR (state = 'intended' AND sending_until <= ${NOW}) ORDER BY created_at, \`key\` LIMIT ?`,
  },
}

/** What an error number of the server asks for; `other` for whatever is none. */
export function failureOfNumber(error: unknown): Failure {
  const { errno } = (error ?? {}) as { errno?: unknown }
  if (typeof errno !== 'number') return 'other'
  if (RETRIED.has(errno)) return 'retry'
  return AWAY.has(errno) ? 'unavailable' : 'other'
}

/** Lock-wait time-out, deadlock, and a record that changed since the snapshot. */
const RETRIED: ReadonlySet<number> = new Set([1205, 1213, 1020])

/** Too many connections, shutting down, lost, killed, cut off while idle. */
const AWAY: ReadonlySet<number> = new Set([1040, 1053, 1927, 2006, 2013, 4031])
