import type { Failure, Statements } from '../port.js'

/**
 * Milliseconds of the server's clock at the statement, whatever the session's time zone is: only without an argument does
 * UNIX_TIMESTAMP tell the two hours apart that have one name when summer time ends.
 */
const NOW = `(UNIX_TIMESTAMP() * 1000 + MICROSECOND(NOW(6)) DIV 1000)`

/** Compares byte by byte, spaces at the end included; MariaDB reads the first comment, MySQL 8 the second. */
const COLLATION = `COLLATE /*M! utf8mb4_nopad_bin *//*!80017 utf8mb4_0900_bin */`
const EXACT = `CHARACTER SET utf8mb4 ${COLLATION}`

/** A text as the digits of its bytes (texts.ts). */
const TEXT = `CONVERT(UNHEX(?) USING utf8mb4) ${COLLATION}`

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
VALUES (${TEXT}, ?, ${NOW})
ON DUPLICATE KEY UPDATE
  updated_at = IF(VALUES(token) > token, VALUES(updated_at), updated_at), token = GREATEST(token, VALUES(token))`,
  readFence: `SELECT token FROM fleetcron_fence WHERE resource = ${TEXT} LOCK IN SHARE MODE`,
  takeKey: `INSERT IGNORE INTO fleetcron_effect (\`key\`, fingerprint, job, run, token, attempt, result, state, created_at)
VALUES (${TEXT}, ${TEXT}, ${TEXT}, ${TEXT}, ?, ?, ${TEXT}, 'open', ${NOW})`,
  readKey: `SELECT state, fingerprint, HEX(result) AS result FROM fleetcron_effect WHERE \`key\` = ${TEXT} LOCK IN SHARE MODE`,
  lockKey: `SELECT state, fingerprint, HEX(result) AS result FROM fleetcron_effect WHERE \`key\` = ${TEXT} FOR UPDATE`,
  retakeKey: `UPDATE fleetcron_effect SET fingerprint = ${TEXT}, job = ${TEXT}, run = ${TEXT}, token = ?, attempt = ?,
  result = ${TEXT}
WHERE \`key\` = ${TEXT} AND state = 'open'`,
  finishKey: `UPDATE fleetcron_effect SET result = ${TEXT}, state = 'done'
WHERE \`key\` = ${TEXT} AND state = 'open' AND result = ${TEXT}${STILL_IN}`,
  expired: `SELECT HEX(\`key\`) AS \`key\`, CASE WHEN state IN ('done', 'confirmed', 'rejected') AND coalesce(sending_until, created_at) < ${NOW} - ?
  THEN 1 ELSE 0 END AS expired FROM fleetcron_effect WHERE \`key\` > ${TEXT} ORDER BY fleetcron_effect.\`key\` LIMIT ?`,
  prune: `DELETE FROM fleetcron_effect WHERE \`key\` = ${TEXT}
  AND state IN ('done', 'confirmed', 'rejected') AND coalesce(sending_until, created_at) < ${NOW} - ?`,
  expiredFences: `SELECT HEX(resource) AS \`key\`, CASE WHEN updated_at < ${NOW} - ? THEN 1 ELSE 0 END AS expired
FROM fleetcron_fence WHERE resource > ${TEXT} ORDER BY resource LIMIT ?`,
  pruneFence: `DELETE FROM fleetcron_fence WHERE resource = ${TEXT} AND updated_at < ${NOW} - ?`,
  savepoint: null,
  calls: {
    intend: `INSERT IGNORE INTO fleetcron_effect (\`key\`, fingerprint, job, run, token, attempt, input, idempotency_key,
  sending_until, valid_until, state, tries, created_at)
VALUES (${TEXT}, ${TEXT}, ${TEXT}, ${TEXT}, ?, ?, ${TEXT}, ${TEXT}, ${NOW} + ?, ${NOW} + ?, 'intended', 1, ${NOW})`,
    takeOver: `UPDATE fleetcron_effect SET fingerprint = ${TEXT}, job = ${TEXT}, run = ${TEXT}, token = ?, attempt = ?,
  input = ${TEXT}, idempotency_key = ${TEXT}, sending_until = ${NOW} + ?, valid_until = ${NOW} + ?, state = 'intended',
  tries = 1, created_at = ${NOW} WHERE \`key\` = ${TEXT} AND state = 'open'`,
    read: `SELECT state, fingerprint, HEX(result) AS result, HEX(input) AS input, idempotency_key, tries, sending_until, valid_until,
  HEX(problem) AS problem, HEX(audit) AS audit, HEX(job) AS job, HEX(run) AS run, ${NOW} AS now FROM fleetcron_effect WHERE \`key\` = ${TEXT} FOR UPDATE`,
    sendAgain: `UPDATE fleetcron_effect SET token = ?, attempt = ?, sending_until = ${NOW} + ?, valid_until = ?,
  state = 'intended', tries = tries + 1 WHERE \`key\` = ${TEXT}`,
    settle: `UPDATE fleetcron_effect SET state = ${TEXT}, result = ${TEXT}, problem = ${TEXT} WHERE \`key\` = ${TEXT}`,
    answer: `UPDATE fleetcron_effect SET state = ${TEXT}, result = ${TEXT}, problem = ${TEXT}, sending_until = ${NOW}
  WHERE \`key\` = ${TEXT}`,
    audit: `UPDATE fleetcron_effect SET audit = ${TEXT} WHERE \`key\` = ${TEXT}`,
    uncertain: `SELECT HEX(\`key\`) AS \`key\`, state, HEX(job) AS job, HEX(run) AS run, HEX(input) AS input,
  idempotency_key, tries, HEX(problem) AS problem, created_at FROM fleetcron_effect
WHERE state = 'uncertain' OR (state = 'intended' AND sending_until <= ${NOW}) ORDER BY created_at, fleetcron_effect.\`key\` LIMIT ?`,
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
