import type { Failure, Statements } from '../port.js'

/** Milliseconds of the server's clock at the statement; `now()` would be the beginning of the transaction. */
const NOW = `(SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT))`

/** Which transaction a key was taken in: another one, begun after a COMMIT inside it, does not finish it. */
const XACT = `' in ' || txid_current()::text`

/**
 * The fence is read for share: effects of one attempt pass side by side, and an attempt that raises it waits for them.
 * Results are text: `jsonb` refuses NUL and half surrogates. There are no savepoints: beyond 64 in a transaction every
 * snapshot of the server slows down.
 */
export const POSTGRES: Statements = {
  tables: [
    `CREATE TABLE IF NOT EXISTS fleetcron_effect (
  key TEXT NOT NULL PRIMARY KEY,
  state TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  result TEXT,
  job TEXT,
  run TEXT,
  token BIGINT,
  attempt INTEGER,
  created_at BIGINT NOT NULL,
  input TEXT,
  idempotency_key TEXT,
  tries INTEGER,
  sending_until BIGINT,
  valid_until BIGINT,
  problem TEXT,
  audit TEXT
)`,
    `CREATE INDEX IF NOT EXISTS fleetcron_effect_uncertain ON fleetcron_effect (created_at)
WHERE state IN ('intended', 'uncertain')`,
    `CREATE TABLE IF NOT EXISTS fleetcron_fence (
  resource TEXT NOT NULL PRIMARY KEY,
  token BIGINT NOT NULL,
  updated_at BIGINT NOT NULL
)`,
  ],
  columns: `SELECT relation.relname AS name, attribute.attname AS col,
  (SELECT count(*) FROM pg_index WHERE indrelid = relation.oid AND indisprimary AND attnum = ANY (indkey)) AS pk
FROM pg_class AS relation JOIN pg_attribute AS attribute ON attribute.attrelid = relation.oid
WHERE relation.oid IN (to_regclass('fleetcron_effect'), to_regclass('fleetcron_fence')) AND attnum > 0`,
  raiseFence: `INSERT INTO fleetcron_fence (resource, token, updated_at)
VALUES ($1, $2, ${NOW})
ON CONFLICT (resource) DO UPDATE SET token = excluded.token, updated_at = excluded.updated_at
WHERE excluded.token > fleetcron_fence.token`,
  readFence: `SELECT token FROM fleetcron_fence WHERE resource = $1 FOR SHARE`,
  takeKey: `INSERT INTO fleetcron_effect (key, fingerprint, job, run, token, attempt, result, state, created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7::text || ${XACT}, 'open', ${NOW})
ON CONFLICT (key) DO NOTHING
RETURNING key`,
  readKey: `SELECT state, fingerprint, result FROM fleetcron_effect WHERE key = $1`,
  lockKey: `SELECT state, fingerprint, result FROM fleetcron_effect WHERE key = $1 FOR UPDATE`,
  retakeKey: `UPDATE fleetcron_effect SET fingerprint = $1, job = $2, run = $3, token = $4, attempt = $5,
  result = $6::text || ${XACT}
WHERE key = $7 AND state = 'open'`,
  finishKey: `UPDATE fleetcron_effect SET result = $1, state = 'done'
WHERE key = $2 AND state = 'open' AND result = $3::text || ${XACT}
RETURNING key`,
  expired: `SELECT key, CASE WHEN state IN ('done', 'confirmed', 'rejected') AND coalesce(sending_until, created_at) < ${NOW} - $1::bigint
  THEN 1 ELSE 0 END AS expired FROM fleetcron_effect WHERE key > $2 ORDER BY key LIMIT $3::bigint`,
  prune: `DELETE FROM fleetcron_effect WHERE key = $1
  AND state IN ('done', 'confirmed', 'rejected') AND coalesce(sending_until, created_at) < ${NOW} - $2::bigint`,
  expiredFences: `SELECT resource AS key, CASE WHEN updated_at < ${NOW} - $1::bigint THEN 1 ELSE 0 END AS expired
FROM fleetcron_fence WHERE resource > $2 ORDER BY resource LIMIT $3::bigint`,
  pruneFence: `DELETE FROM fleetcron_fence WHERE resource = $1 AND updated_at < ${NOW} - $2::bigint`,
  savepoint: null,
  calls: {
    intend: `INSERT INTO fleetcron_effect (key, fingerprint, job, run, token, attempt, input, idempotency_key,
  sending_until, valid_until, state, tries, created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, ${NOW} + $9::bigint, ${NOW} + $10::bigint, 'intended', 1, ${NOW})
ON CONFLICT (key) DO NOTHING
RETURNING key`,
    takeOver: `UPDATE fleetcron_effect SET fingerprint = $1, job = $2, run = $3, token = $4, attempt = $5, input = $6,
  idempotency_key = $7, sending_until = ${NOW} + $8::bigint, valid_until = ${NOW} + $9::bigint, state = 'intended', tries = 1,
  created_at = ${NOW} WHERE key = $10 AND state = 'open'`,
    read: `SELECT state, fingerprint, result, input, idempotency_key, tries, sending_until, valid_until, problem, audit,
  job, run, ${NOW} AS now FROM fleetcron_effect WHERE key = $1 FOR UPDATE`,
    sendAgain: `UPDATE fleetcron_effect SET token = $1, attempt = $2, sending_until = ${NOW} + $3::bigint, valid_until = $4,
  state = 'intended', tries = tries + 1 WHERE key = $5`,
    settle: `UPDATE fleetcron_effect SET state = $1, result = $2, problem = $3 WHERE key = $4`,
    answer: `UPDATE fleetcron_effect SET state = $1, result = $2, problem = $3, sending_until = ${NOW}
  WHERE key = $4`,
    audit: `UPDATE fleetcron_effect SET audit = $1 WHERE key = $2`,
    uncertain: `SELECT key, state, job, run, input, idempotency_key, tries, problem, created_at FROM fleetcron_effect
WHERE state = 'uncertain' OR (state = 'intended' AND sending_until <= ${NOW}) ORDER BY created_at, key LIMIT $1::bigint`,
  },
}

/** What an SQLSTATE asks for; `other` for whatever is none. */
export function failureOfState(error: unknown): Failure {
  const { code, constraint } = (error ?? {}) as { code?: unknown; constraint?: unknown }
  if (typeof code !== 'string') return 'other'
  if (RETRIED.has(code)) return 'retry'
  // Two processes that create a table at once: IF NOT EXISTS alone lets one fail in the catalog.
  if (code === '23505' && typeof constraint === 'string' && constraint.startsWith('pg_')) return 'retry'
  return AWAY.has(code) || /^08...$/.test(code) ? 'unavailable' : 'other'
}

/** Serialization failure, deadlock, lock not available, and a table or its type that another process made meanwhile. */
const RETRIED: ReadonlySet<string> = new Set(['40001', '40P01', '55P03', '42P07', '42710'])

/** Ended by an administrator, crashed, starting, cut off while silent in a transaction, too many connections. */
const AWAY: ReadonlySet<string> = new Set(['57P01', '57P02', '57P03', '25P03', '53300'])
