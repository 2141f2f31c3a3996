import { CLOCK, demand, lockJobs, pad } from './shared-statements.js'

/** Waits for the rows of jobs are waits for statements as short as these. */
const LOCK_MS = 1_000

/** A run remembers the answers that its last attempts were given, each a word and what stands for the attempt. */
export const ANSWERS = { kept: 20, wordBytes: 1, attemptBytes: 32 } as const
const ANSWER_BYTES = ANSWERS.wordBytes + ANSWERS.attemptBytes

export const SETTLE_LOCK = lockJobs(LOCK_MS)

/** Every run is still what its settlement ends, and its job is there. */
export const SETTLE_DEMAND = demand(`
  (SELECT COUNT(*) FROM fleetcron_job FORCE INDEX (PRIMARY) WHERE fleet = :fleet AND job IN :jobs) = :jobcount
  AND (SELECT COUNT(*) FROM fleetcron_run FORCE INDEX (PRIMARY)
    WHERE fleet = :fleet AND (job, run_key) IN (:runs) AND state = 'running'
      AND (job, run_key, token, attempt) IN (:expected)) = :count`)

/** Runs that are there, under the locks of their jobs: nothing is inserted. \`settled_by\` carries what stands for the attempt. */
export const SETTLE_RUNS = `
  INSERT INTO fleetcron_run (fleet, job, run_key, settled_by, cause, lane, created_at, state, place, position, token, live_job,
    holder, attempt, ended_at, body)
  VALUES :rows
  ON DUPLICATE KEY UPDATE
    settled_by = CONCAT(
      IF((SELECT 1 FROM fleetcron_node n
        WHERE n.fleet = :fleet AND n.session = fleetcron_run.holder AND n.ended_at IS NULL) IS NULL, 'l', 's'),
      VALUES(settled_by), SUBSTRING(COALESCE(fleetcron_run.settled_by, ''), 1, ${(ANSWERS.kept - 1) * ANSWER_BYTES})),
    state = VALUES(state), place = VALUES(place), position = VALUES(position), token = VALUES(token),
    live_job = VALUES(live_job), holder = VALUES(holder), attempt = VALUES(attempt), ended_at = VALUES(ended_at),
    body = VALUES(body)`

/** Jobs that are there, and locked. \`retired\` carries whether failures in a row begin anew before those are added. */
export const SETTLE_JOBS = `
  INSERT INTO fleetcron_job (fleet, job, service, bucket, version, definition, wake_at, waiting, retired, settled, failures,
    succeeded_until, token_floor, header)
  VALUES :rows
  ON DUPLICATE KEY UPDATE settled = settled + VALUES(settled), failures = IF(VALUES(retired) = 1, 0, failures) + VALUES(failures),
    succeeded_until = GREATEST(COALESCE(succeeded_until, VALUES(succeeded_until)),
      COALESCE(VALUES(succeeded_until), succeeded_until)),
    token_floor = GREATEST(token_floor, VALUES(token_floor)),
    wake_at = IF(waiting > 0, LEAST(COALESCE(wake_at, ${CLOCK}), ${CLOCK}),
      LEAST(COALESCE(wake_at, VALUES(wake_at)), COALESCE(VALUES(wake_at), wake_at)))`

/** The answers: of those just given, the last word of each run. */
export const SETTLE_ANSWERS = `
  SELECT job, run_key, settled_by FROM fleetcron_run FORCE INDEX (PRIMARY)
  WHERE fleet = :fleet AND (job, run_key) IN (:runs)`

/** How the runs stand, where not all of them could be settled at once. */
export const SETTLE_STAND = `
  (SELECT 'J', job${pad(1)} FROM fleetcron_job FORCE INDEX (PRIMARY) WHERE fleet = :fleet AND job IN :jobs)
  UNION ALL
  (SELECT 'R', job, run_key, state, token, attempt, settled_by${pad(6)} FROM fleetcron_run FORCE INDEX (PRIMARY)
  WHERE fleet = :fleet AND (job, run_key) IN (:runs))`
