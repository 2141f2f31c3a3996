import { KEPT_DEFINITIONS } from '../retention.js'
import { CLOCK } from './shared-statements.js'

/**
 * The statements for retention. Each kind of row is looked for without a lock, and then removed by name, if it is still what it
 * was: a removal holds nothing but what it removes.
 */

export const PRUNE_CLOCK = `SELECT ${CLOCK}`

export const PRUNE_RUNS_FIND = `
  SELECT r.job, r.run_key FROM fleetcron_run r FORCE INDEX (run_ended)
  WHERE r.fleet = :fleet AND r.ended_at < :before
    AND (r.ended_at < :requests_before OR r.cause NOT IN ('manual', 'backfill'))
    AND (SELECT 1 FROM fleetcron_job j FORCE INDEX (PRIMARY)
      WHERE j.fleet = :fleet AND j.job = r.job AND j.fate_key = r.run_key LIMIT 1) IS NULL
  ORDER BY r.ended_at LIMIT :limit`

export const PRUNE_RUNS = `
  DELETE FROM fleetcron_run WHERE fleet = :fleet AND (job, run_key) IN (:found) AND ended_at < :before`

export const PRUNE_EVENTS_FIND = `
  SELECT e.id FROM fleetcron_event e FORCE INDEX (event_at)
  WHERE e.fleet = :fleet AND e.at < :before AND (e.at < :requests_before OR e.kind NOT IN :kinds)
  ORDER BY e.at LIMIT :limit`

export const PRUNE_EVENTS = 'DELETE FROM fleetcron_event WHERE fleet = :fleet AND (id) IN (:found)'

export const PRUNE_NODES_FIND = `
  SELECT n.session FROM fleetcron_node n FORCE INDEX (node_seen)
  WHERE n.fleet = :fleet AND n.seen_at < :nodes_before
    AND (SELECT 1 FROM fleetcron_run r FORCE INDEX (run_holder)
      WHERE r.fleet = :fleet AND r.holder = n.session LIMIT 1) IS NULL
  ORDER BY n.seen_at LIMIT :limit`

export const PRUNE_NODES = `
  DELETE FROM fleetcron_node WHERE fleet = :fleet AND (session) IN (:found) AND seen_at < :nodes_before`

/** Only a job that entered more than the many has any to lose. */
export const PRUNE_DEFINITIONS_FIND = `
  SELECT ranked.job, ranked.hash FROM (
    SELECT old.job, old.hash, ROW_NUMBER() OVER (PARTITION BY old.job ORDER BY old.seq DESC) AS place
    FROM fleetcron_definition old FORCE INDEX (PRIMARY)
    WHERE old.fleet = :fleet AND old.entered_at < :definitions_before AND old.job IN (
      SELECT many.job FROM fleetcron_definition many FORCE INDEX (definition_seq)
      WHERE many.fleet = :fleet AND many.seq > ${KEPT_DEFINITIONS})) AS ranked
  WHERE ranked.place > ${KEPT_DEFINITIONS} AND (SELECT 1 FROM fleetcron_job j FORCE INDEX (PRIMARY)
    WHERE j.fleet = :fleet AND j.job = ranked.job AND j.definition = ranked.hash LIMIT 1) IS NULL
  LIMIT :limit`

export const PRUNE_DEFINITIONS = `
  DELETE FROM fleetcron_definition
  WHERE fleet = :fleet AND (job, hash) IN (:found) AND entered_at < :definitions_before`

/** Schedules of the store that were removed, of which nothing is left but themselves. */
export const PRUNE_RETIRED_FIND = `
  SELECT j.job FROM fleetcron_job j FORCE INDEX (job_retired)
  STRAIGHT_JOIN fleetcron_definition d FORCE INDEX (PRIMARY)
    ON d.fleet = :fleet AND d.job = j.job AND d.hash = j.definition
  WHERE j.fleet = :fleet AND j.retired = 1 AND d.has_handler = 1
    AND (SELECT 1 FROM fleetcron_run r FORCE INDEX (PRIMARY) WHERE r.fleet = :fleet AND r.job = j.job LIMIT 1) IS NULL
    AND (SELECT 1 FROM fleetcron_event e FORCE INDEX (event_job) WHERE e.fleet = :fleet AND e.job = j.job LIMIT 1) IS NULL
  ORDER BY j.job LIMIT :limit`

/** Under its lock nothing more can come to the job. */
export const PRUNE_RETIRED_LOCK = `
  SELECT 1 FROM fleetcron_job FORCE INDEX (PRIMARY) WHERE fleet = :fleet AND (job) IN (:found) ORDER BY job FOR UPDATE`

export const PRUNE_RETIRED = `
  DELETE FROM fleetcron_job WHERE fleet = :fleet AND (job) IN (:found) AND retired = 1
    AND (SELECT 1 FROM fleetcron_run r FORCE INDEX (PRIMARY)
      WHERE r.fleet = :fleet AND r.job = fleetcron_job.job LIMIT 1) IS NULL`

export const PRUNE_RETIRED_DEFINITIONS = `
  DELETE FROM fleetcron_definition WHERE fleet = :fleet AND (job) IN (:found) AND (
    SELECT 1 FROM fleetcron_job j WHERE j.fleet = :fleet AND j.job = fleetcron_definition.job LIMIT 1) IS NULL`
