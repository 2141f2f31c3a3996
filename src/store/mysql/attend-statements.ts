import { aggregatesOn, CLOCK, IS_ALIVE, NODE_HOLDS, pad } from './shared-statements.js'

/** The statements of attend and beat, in the order in which they are sent. */

export const ATTEND_RENEW = `
  UPDATE fleetcron_node SET seen_at = ${CLOCK}, lease_end = ${CLOCK} + :lease
  WHERE fleet = :fleet AND session = :session AND ${IS_ALIVE}`

export const ATTEND_HELLO = `
  UPDATE fleetcron_node SET seen_at = ${CLOCK}, lease_end = ${CLOCK} + :lease, manifest_id = :manifest_id, said = :said,
    manifest = :manifest
  WHERE fleet = :fleet AND session = :session AND ${IS_ALIVE}`

export const ATTEND_BEGIN = `
  INSERT INTO fleetcron_node (fleet, session, node, beats, room, started_at, seen_at, lease_end, manifest_id, said, manifest)
  VALUES (:fleet, :session, :node, 0, 1, ${CLOCK}, ${CLOCK}, ${CLOCK} + :lease, :manifest_id, :said, :manifest)
  ON DUPLICATE KEY UPDATE beats = beats`

/** Sessions that have run out while they hold runs. */
export const ATTEND_OVERDUE = `
  UNION ALL
  (SELECT 'x', n.session${pad(1)} FROM fleetcron_node n FORCE INDEX (node_live)
  WHERE n.fleet = :fleet AND n.ended_at IS NULL AND n.lease_end < ${CLOCK} AND ${NODE_HOLDS} IS NOT NULL)`

/** One session; whoever renews it at this moment was faster. */
export const ATTEND_MARK = `
  UPDATE fleetcron_node SET ended_at = ${CLOCK}
  WHERE fleet = :fleet AND session = :session AND ended_at IS NULL AND lease_end < ${CLOCK}`

/** Ended sessions that hold runs. */
export const ATTEND_ENDED = `
  UNION ALL
  (SELECT 'g', n.session, CAST(n.said AS BINARY), n.lease_end, n.ended_at,
    (SELECT 1 FROM fleetcron_node later FORCE INDEX (node_sessions)
    WHERE later.fleet = :fleet AND later.node = n.node AND later.seq > n.seq LIMIT 1)${pad(5)}
  FROM fleetcron_node n FORCE INDEX (node_live)
  WHERE n.fleet = :fleet AND n.ended_at IS NOT NULL AND ${NODE_HOLDS} IS NOT NULL)`

/** Jobs with runs of those. */
export const ATTEND_RECOVER = `
  SELECT DISTINCT r.job
  FROM fleetcron_node n FORCE INDEX (node_live)
  STRAIGHT_JOIN fleetcron_run r FORCE INDEX (run_holder) ON r.fleet = :fleet AND r.holder = n.session
  STRAIGHT_JOIN fleetcron_job j FORCE INDEX (PRIMARY) ON j.fleet = :fleet AND j.job = r.job
  WHERE n.fleet = :fleet AND n.ended_at IS NOT NULL AND r.job > :recovered AND j.service IN :services
  ORDER BY r.job LIMIT :wanted`

/** Jobs due of one service. */
export const DUE = `
  (SELECT j.job, j.wake_at AS at FROM fleetcron_job j FORCE INDEX (job_wake)
  WHERE j.fleet = :fleet AND j.service = :service AND j.wake_at >= :after_at AND j.wake_at <= ${CLOCK}
    AND (j.wake_at > :after_at OR j.job > :after_job)
    AND (j.wake_at <= ${CLOCK} - :grace OR SUBSTRING(:mine, j.bucket + 1, 1) = '1')
  ORDER BY j.wake_at, j.job LIMIT :wanted)`

export const DUE_OF_ALL = '(SELECT u.job, u.at FROM (:parts) u ORDER BY u.at, u.job LIMIT :wanted)'

/** A page of jobs due, with all that is loaded of a job except the runs that wait. */
export const ATTEND_DUE = ` UNION ALL ${aggregatesOn(':page page')}`

// ---- beat

export const BEAT_RENEW = `
  UPDATE fleetcron_node SET seen_at = ${CLOCK}, lease_end = ${CLOCK} + :lease, room = :room, beats = beats + 1
  WHERE fleet = :fleet AND session = :session AND ${IS_ALIVE}`

export const BEAT_END = `
  UPDATE fleetcron_node SET ended_at = ${CLOCK} WHERE fleet = :fleet AND session = :session AND ended_at IS NULL`

/** When the table with the store's word was made. */
export const BEAT_MADE = `
  UNION ALL
  (SELECT 'i', UNIX_TIMESTAMP(t.create_time)${pad(1)} FROM information_schema.tables t
  WHERE t.table_schema = DATABASE() AND t.table_name = :meta)`

/** What runs in this session; of an attempt that was sent there is no body. */
export const BEAT_RUNNING = `
  UNION ALL
  (SELECT 'h', r.attempt, r.run_key, CAST(r.stop AS BINARY), IF(r.attempt IN :attempts, NULL, CAST(r.body AS BINARY))${pad(4)}
  FROM fleetcron_run r FORCE INDEX (run_holder) WHERE r.fleet = :fleet AND r.holder = :session)`

export const BEAT_NODES = `
  UNION ALL
  (SELECT 'v', n.seq, CAST(n.said AS BINARY), n.manifest_id, n.room, n.seen_at, n.ended_at${pad(6)}
  FROM fleetcron_node n FORCE INDEX (node_seen) WHERE n.fleet = :fleet AND n.seen_at >= ${CLOCK} - :seen)`
