import { CLOCK, pad } from './shared-statements.js'

/** The statements of load, and those for people. */

/**
 * Whoever asks after attempts wants to know what has become of a commit. One that is on its way has its attempts in the index
 * already, locked: this waits for it. One that has not come so far reads a later clock.
 */
export const LOAD_GATE = `
  SELECT 1 FROM fleetcron_run FORCE INDEX (run_attempt) WHERE fleet = :fleet AND attempt IN :attempts LOCK IN SHARE MODE`

export const LOAD_CLOCK = `(SELECT 'n', ${CLOCK}${pad(1)})`

export const LOAD_DEFINITIONS = `
  UNION ALL
  (SELECT 'D', d.job, d.hash, d.seq, CAST(d.body AS BINARY)${pad(4)} FROM fleetcron_definition d FORCE INDEX (PRIMARY)
  WHERE d.fleet = :fleet AND d.job IN :jobs)`

export const LOAD_ATTEMPTS = `
  UNION ALL
  (SELECT 'R', r.job, r.run_key, CAST(r.body AS BINARY), CAST(r.stop AS BINARY)${pad(4)}
  FROM fleetcron_run r FORCE INDEX (run_attempt) WHERE r.fleet = :fleet AND r.attempt IN :attempts)`

export const LOAD_KEYS = `
  UNION ALL
  (SELECT 'R', r.job, r.run_key, CAST(r.body AS BINARY), CAST(r.stop AS BINARY)${pad(4)}
  FROM fleetcron_run r FORCE INDEX (PRIMARY) WHERE r.fleet = :fleet AND (r.job, r.run_key) IN (:pairs))`

export const LOAD_EVENTS = `
  UNION ALL
  (SELECT 'E', CAST(e.body AS BINARY)${pad(1)} FROM fleetcron_event e FORCE INDEX (PRIMARY)
  WHERE e.fleet = :fleet AND e.id IN :ids)`

export const LOAD_NODES = `
  UNION ALL
  (SELECT 'N', n.seq, CAST(n.said AS BINARY), CAST(n.manifest AS BINARY), n.room, n.started_at, n.seen_at, n.lease_end,
    n.ended_at${pad(8)}
  FROM fleetcron_node n FORCE INDEX (node_seen) WHERE n.fleet = :fleet AND n.seen_at >= ${CLOCK} - :seen)`

// ---- for people

/** Pages go by the columns of an index, so none of them is sorted. */
export const JOBS = `
  (SELECT j.job, 0 AS at FROM fleetcron_job j FORCE INDEX (PRIMARY)
  WHERE j.fleet = :fleet AND j.job > :after AND (:any_service OR j.service = :service)
  ORDER BY j.job LIMIT :limit)`

export const RUNS = `
  SELECT r.job, r.run_key, r.created_at, CAST(r.body AS BINARY), CAST(r.stop AS BINARY)
  FROM fleetcron_run r FORCE INDEX (run_created)
  WHERE r.fleet = :fleet AND r.created_at <= :created_at AND (r.created_at < :created_at
      OR r.run_key < :key OR (r.run_key = :key AND r.job < :before_job))
    AND (:any_state OR r.state IN :states)
  ORDER BY r.created_at DESC, r.run_key DESC, r.job DESC LIMIT :limit`

export const RUNS_OF_JOB = `
  SELECT r.job, r.run_key, r.created_at, CAST(r.body AS BINARY), CAST(r.stop AS BINARY)
  FROM fleetcron_run r FORCE INDEX (run_job_created)
  WHERE r.fleet = :fleet AND r.job = :job AND r.created_at <= :created_at AND (r.created_at < :created_at
      OR r.run_key < :key OR (r.run_key = :key AND r.job < :before_job))
    AND (:any_state OR r.state IN :states)
  ORDER BY r.created_at DESC, r.run_key DESC LIMIT :limit`

export const EVENTS = `
  SELECT CAST(e.body AS BINARY) FROM fleetcron_event e FORCE INDEX (event_at)
  WHERE e.fleet = :fleet AND e.at <= :at AND (e.at < :at OR e.id < :id)
  ORDER BY e.at DESC, e.id DESC LIMIT :limit`

export const EVENTS_OF_JOB = `
  SELECT CAST(e.body AS BINARY) FROM fleetcron_event e FORCE INDEX (event_job)
  WHERE e.fleet = :fleet AND e.job = :job AND e.at <= :at AND (e.at < :at OR e.id < :id)
  ORDER BY e.at DESC, e.id DESC LIMIT :limit`
