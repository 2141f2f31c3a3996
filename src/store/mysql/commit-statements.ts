import { CLOCK, demand, IS_ALIVE, lockJobs, pad, SELF } from './shared-statements.js'

/**
 * A commit is one message and one transaction. It locks its jobs, in the order of their names, and writes what belongs to
 * them: whoever writes a run holds its job, so no two wait for each other in a circle. It is written in the hope that every
 * guard holds, which is right nearly always. One that does not fails the message before its COMMIT; then all is undone,
 * every change is held against the rows by itself, and what is left is sent again.
 */

/** A commit waits for its jobs at most this long; then those that somebody else holds are stale. */
const LOCK_MS = 100

export const COMMIT_LOCK = lockJobs(LOCK_MS)

const ALIVE = `(SELECT 1 FROM fleetcron_node WHERE fleet = :fleet AND session = :session AND ${IS_ALIVE})`

/** The session is alive. */
export const COMMIT_DEMAND_ALIVE = demand(`${ALIVE} IS NOT NULL`)

/** Jobs have the version that was read, and the definition that is to stay in force. */
export const COMMIT_DEMAND_UNCHANGED = demand(`
  (SELECT COUNT(*) FROM fleetcron_job FORCE INDEX (PRIMARY)
    WHERE fleet = :fleet AND job IN :jobs AND (job, version, definition) IN (:expected)) = :count`)

/** Jobs have the version that was read; the definition comes with the change. */
export const COMMIT_DEMAND_CHANGED = demand(`
  (SELECT COUNT(*) FROM fleetcron_job FORCE INDEX (PRIMARY)
    WHERE fleet = :fleet AND job IN :jobs AND (job, version) IN (:expected)) = :count`)

/** Definitions of new jobs that do not bring them. */
export const COMMIT_DEMAND_FOREIGN = demand(`
  (SELECT COUNT(*) FROM fleetcron_definition FORCE INDEX (PRIMARY)
    WHERE fleet = :fleet AND (job, hash) IN (:expected)) = :count`)

/** Runs are in the state and have the token expected. */
export const COMMIT_DEMAND_RUNS = demand(`
  (SELECT COUNT(*) FROM fleetcron_run FORCE INDEX (PRIMARY)
    WHERE fleet = :fleet AND (job, run_key) IN (:runs) AND (job, run_key, state, token) IN (:expected)) = :count`)

/** Last of all, when nothing is waited for any more: the commit is in time. */
export const COMMIT_IN_TIME = `
  SELECT ${CLOCK}, 9223372036854775807 + IF(${CLOCK} <= :deadline
    AND (SELECT 1 FROM fleetcron_node WHERE fleet = :fleet AND session = :session AND ended_at IS NULL) IS NOT NULL, 0, 1)`

export const COMMIT_NEW_JOBS = `
  INSERT INTO fleetcron_job (fleet, job, service, bucket, version, definition, wake_at, waiting, fate_key, retired, settled,
    failures, succeeded_until, token_floor, header)
  VALUES :rows`

/**
 * Jobs that are there, and locked: nothing is inserted. The columns of what settlements write carry what the change says of
 * them: \`settled\` the count that it read, \`failures\` -1 to keep, -2 to count one more. Fewer settlements than were read mean
 * that the store was set back in between: that fails.
 */
export const COMMIT_JOBS = `
  INSERT INTO fleetcron_job (fleet, job, service, bucket, version, definition, wake_at, waiting, fate_key, retired, settled,
    failures, succeeded_until, token_floor, header)
  VALUES :rows
  ON DUPLICATE KEY UPDATE service = VALUES(service), bucket = VALUES(bucket), version = VALUES(version),
    definition = VALUES(definition), waiting = VALUES(waiting), fate_key = VALUES(fate_key), retired = VALUES(retired),
    header = VALUES(header),
    failures = CASE VALUES(failures) WHEN -1 THEN failures WHEN -2 THEN failures + 1 ELSE 0 END,
    wake_at = IF(settled = VALUES(settled), VALUES(wake_at),
      IF(settled > VALUES(settled), ${CLOCK}, 9223372036854775807 + (VALUES(settled) - settled)))`

const RUN = `
  INSERT INTO fleetcron_run (fleet, job, run_key, cause, lane, stop, created_at, state, place, position, token, live_job,
    holder, attempt, ended_at, body)
  VALUES :rows`

export const COMMIT_NEW_RUNS = RUN

/** Runs that are there, under the lock of their job. */
export const COMMIT_RUNS = `${RUN}
  ON DUPLICATE KEY UPDATE cause = VALUES(cause), lane = VALUES(lane), stop = VALUES(stop), created_at = VALUES(created_at),
    state = VALUES(state), place = VALUES(place), position = VALUES(position), token = VALUES(token),
    live_job = VALUES(live_job), holder = VALUES(holder), attempt = VALUES(attempt), ended_at = VALUES(ended_at),
    body = VALUES(body)`

export const COMMIT_DEFINITIONS = `
  INSERT INTO fleetcron_definition (fleet, job, hash, seq, entered_at, has_handler, body) VALUES :rows
  ON DUPLICATE KEY UPDATE seq = VALUES(seq), entered_at = VALUES(entered_at), has_handler = VALUES(has_handler),
    body = VALUES(body)`

export const COMMIT_EVENTS = 'INSERT INTO fleetcron_event (fleet, id, at, job, kind, body) VALUES :rows'

/** Which of the jobs nobody else holds: they are locked no longer than this statement takes. */
export const COMMIT_FREE = `
  SELECT job FROM fleetcron_job FORCE INDEX (PRIMARY) WHERE fleet = :fleet AND job IN :jobs ORDER BY job
  FOR UPDATE SKIP LOCKED`

/** What each change is held against, when the whole did not go through. */
export const COMMIT_JUDGE = `
  ${SELF}
  UNION ALL
  (SELECT 'J', job, version, settled${pad(3)} FROM fleetcron_job FORCE INDEX (PRIMARY)
  WHERE fleet = :fleet AND job IN :jobs)
  UNION ALL
  (SELECT 'R', job, run_key, state, token${pad(4)} FROM fleetcron_run FORCE INDEX (PRIMARY)
  WHERE fleet = :fleet AND (job, run_key) IN (:runs))
  UNION ALL
  (SELECT 'E', id${pad(1)} FROM fleetcron_event FORCE INDEX (PRIMARY) WHERE fleet = :fleet AND id IN :events)
  UNION ALL
  (SELECT 'D', job, hash${pad(2)} FROM fleetcron_definition FORCE INDEX (PRIMARY)
  WHERE fleet = :fleet AND (job, hash) IN (:definitions))
  UNION ALL
  (SELECT 'A', attempt, job, run_key${pad(3)} FROM fleetcron_run FORCE INDEX (run_attempt)
  WHERE fleet = :fleet AND attempt IN :attempts)`
