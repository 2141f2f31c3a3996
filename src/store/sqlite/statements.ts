/**
 * The statements of the loop, in the order of the port. None reads more of `job` or `run` than it gives or changes: each
 * goes by a key or an index, whatever the number of idle jobs and of runs that ended. `@mine` is a text of 256 digits, a 1
 * for each bucket of the node's own.
 */

// ---- attend, beat: sessions

export const SESSION = `
  SELECT ended_at, lease_end, EXISTS (
    SELECT 1 FROM run WHERE run.fleet = node.fleet AND run.session = node.session AND run.state = 'running') AS holds
  FROM node WHERE fleet = @fleet AND session = @session`

export const ATTEND_MARK = `
  UPDATE node SET ended_at = @now
  WHERE fleet = @fleet AND ended_at IS NULL AND lease_end < @now AND EXISTS (
    SELECT 1 FROM run WHERE run.fleet = node.fleet AND run.session = node.session AND run.state = 'running')`

export const ATTEND_BEGIN = `
  INSERT INTO node (fleet, session, node, label, services, attends, room, zone_data, release, manifest_id, started_at,
    seen_at, lease_end, manifest)
  VALUES (@fleet, @session, @node, @label, @services, @attends, 1, @zone_data, @release, @manifest_id, @now,
    @now, @lease_end, @manifest)`

export const ATTEND_HELLO = `
  UPDATE node SET label = @label, services = @services, attends = @attends, zone_data = @zone_data, release = @release,
    manifest_id = @manifest_id, manifest = @manifest
  WHERE fleet = @fleet AND session = @session`

export const ATTEND_RENEW = `
  UPDATE node SET seen_at = @now, lease_end = @lease_end WHERE fleet = @fleet AND session = @session`

export const BEAT_RENEW = `
  UPDATE node SET seen_at = @now, lease_end = @lease_end, room = @room WHERE fleet = @fleet AND session = @session`

export const BEAT_END = `
  UPDATE node SET ended_at = @now WHERE fleet = @fleet AND session = @session AND ended_at IS NULL`

// ---- attend: what needs attention

export const ATTEND_RECOVER = `
  SELECT DISTINCT run.job AS job
  FROM node
  CROSS JOIN run ON run.fleet = node.fleet AND run.session = node.session AND run.state = 'running'
  CROSS JOIN job ON job.fleet = run.fleet AND job.job = run.job
  WHERE node.fleet = @fleet AND node.ended_at IS NOT NULL AND run.job > @after
    AND job.service IN (SELECT value FROM json_each(@services))
  ORDER BY run.job LIMIT @limit`

export const ATTEND_DUE = `
  SELECT job, wake_at FROM job
  WHERE fleet = @fleet AND service = @service AND (wake_at, job) > (@after_at, @after_job) AND wake_at <= @now
    AND (wake_at <= @others_until OR substr(@mine, bucket + 1, 1) = '1')
  ORDER BY wake_at, job LIMIT @limit`

export const ATTEND_ENDED = `
  SELECT session, node, lease_end, ended_at, EXISTS (
    SELECT 1 FROM node AS later WHERE later.fleet = node.fleet AND later.node = node.node AND later.seq > node.seq) AS returned
  FROM node WHERE fleet = @fleet AND session = @session AND ended_at IS NOT NULL`

// ---- attend, beat: what to wait for

export const NEXT_WAKE = `
  SELECT wake_at FROM job
  WHERE fleet = @fleet AND service = @service AND wake_at > @after AND substr(@mine, bucket + 1, 1) = @wanted
  ORDER BY wake_at LIMIT 1`

export const NEXT_END = `
  SELECT lease_end FROM node
  WHERE fleet = @fleet AND ended_at IS NULL AND session <> @session AND EXISTS (
    SELECT 1 FROM run WHERE run.fleet = node.fleet AND run.session = node.session AND run.state = 'running')
  ORDER BY lease_end LIMIT 1`

// ---- load

export const LOAD_JOB = `
  SELECT job.header, job.definition AS hash, job.wake_at, job.version, job.settled, job.failures, job.succeeded_until, job.token_floor,
    definition.content AS definition,
    EXISTS (SELECT 1 FROM run WHERE run.fleet = job.fleet AND run.job = job.job AND run.place = 1) AS has_placed,
    EXISTS (
      SELECT 1 FROM run
      WHERE run.fleet = job.fleet AND run.job = job.job AND run.state = 'queued' AND run.place = 0) AS has_waiting
  FROM job LEFT JOIN definition
    ON definition.fleet = job.fleet AND definition.job = job.job AND definition.hash = job.definition
  WHERE job.fleet = @fleet AND job.job = @job`

export const LOAD_PLACED = `
  SELECT job, key, created_at, body, stop FROM run WHERE fleet = @fleet AND job = @job AND place = 1 ORDER BY position, key`

/** The first in line. */
export const LOAD_WAITING = `
  SELECT job, key, created_at, body, stop, position FROM run
  WHERE fleet = @fleet AND job = @job AND lane = @lane AND state = 'queued' AND place = 0
  ORDER BY position, key LIMIT @limit`

/** Those behind them, as many as are wanted and not heavier together than is worth reading. */
export const LOAD_WAITING_BEHIND = `
  SELECT job, key, created_at, body, stop FROM (
    SELECT *, sum(length(body)) OVER (ORDER BY position, key ROWS UNBOUNDED PRECEDING) - length(body) AS weight_before
    FROM (
      SELECT job, key, created_at, body, stop, position FROM run
      WHERE fleet = @fleet AND job = @job AND lane = @lane AND state = 'queued' AND place = 0
        AND (position, key) > (@position, @key)
      ORDER BY position, key LIMIT @limit))
  WHERE weight_before < @light ORDER BY position, key`

export const LOAD_DEFINITIONS = `
  SELECT hash, seq, entered_at, release, content FROM definition WHERE fleet = @fleet AND job = @job ORDER BY seq`

export const LOAD_ATTEMPT = `
  SELECT job, key, created_at, body, stop FROM run WHERE fleet = @fleet AND attempt_id = @attempt`

export const LOAD_RUN = `
  SELECT job, key, created_at, body, stop FROM run WHERE fleet = @fleet AND job = @job AND key = @key`

export const LOAD_EVENT = `
  SELECT id, at, job, kind, by, why, data FROM event WHERE fleet = @fleet AND id = @id`

export const LOAD_NODES = `
  SELECT session, node, label, services, attends, room, zone_data, release, started_at, seen_at, lease_end, ended_at,
    manifest
  FROM node WHERE fleet = @fleet AND seen_at >= @since ORDER BY seq`

// ---- commit

/** A change that cannot be written is taken back alone. */
export const COMMIT_BEGIN = 'SAVEPOINT change'
export const COMMIT_UNDO = 'ROLLBACK TO change'
export const COMMIT_END = 'RELEASE change'

export const COMMIT_JOB = `
  SELECT version, settled, failures, succeeded_until, token_floor, wake_at FROM job WHERE fleet = @fleet AND job = @job`

export const COMMIT_RUN = `
  SELECT state, token FROM run WHERE fleet = @fleet AND job = @job AND key = @key`

export const COMMIT_ATTEMPT = `
  SELECT job, key FROM run WHERE fleet = @fleet AND attempt_id = @attempt`

export const COMMIT_EVENT = `
  SELECT 1 FROM event WHERE fleet = @fleet AND id = @id`

export const COMMIT_DEFINITION = `
  SELECT 1 FROM definition WHERE fleet = @fleet AND job = @job AND hash = @hash`

export const COMMIT_PUT_JOB = `
  INSERT INTO job (fleet, job, service, name, bucket, version, definition, wake_at, waiting, fate_key, settled, failures,
    succeeded_until, token_floor, header)
  VALUES (@fleet, @job, @service, @name, @bucket, @version, @definition, @wake_at, @waiting, @fate_key, 0, @failures,
    NULL, 0, @header)
  ON CONFLICT (fleet, job) DO UPDATE SET service = excluded.service, name = excluded.name, bucket = excluded.bucket,
    version = excluded.version, definition = excluded.definition, wake_at = excluded.wake_at,
    waiting = excluded.waiting, fate_key = excluded.fate_key, failures = excluded.failures, header = excluded.header`

export const COMMIT_NEW_RUN = `
  INSERT INTO run (fleet, job, key, cause, state, lane, place, position, ready_at, token, session, attempt_id, stop,
    created_at, ended_at, body)
  VALUES (@fleet, @job, @key, @cause, @state, @lane, @place, @position, @ready_at, @token, @session, @attempt_id, @stop,
    @created_at, @ended_at, @body)`

/** Without what never changes: SQLite writes each index anew whose column is named, whatever its value. */
export const COMMIT_PUT_RUN = `
  UPDATE run SET state = @state, lane = @lane, place = @place, position = @position, ready_at = @ready_at, token = @token,
    session = @session, attempt_id = @attempt_id, stop = @stop, ended_at = @ended_at, body = @body
  WHERE fleet = @fleet AND job = @job AND key = @key`

export const COMMIT_PUT_DEFINITION = `
  INSERT INTO definition (fleet, job, hash, seq, entered_at, release, content)
  VALUES (@fleet, @job, @hash, @seq, @entered_at, @release, @content)
  ON CONFLICT (fleet, job, hash) DO UPDATE SET seq = excluded.seq, entered_at = excluded.entered_at,
    release = excluded.release, content = excluded.content`

export const COMMIT_PUT_EVENT = `
  INSERT INTO event (fleet, id, at, job, kind, by, why, data) VALUES (@fleet, @id, @at, @job, @kind, @by, @why, @data)`

// ---- settle

export const SETTLE_RUN = `
  SELECT state, token, attempt_id, session, settled_by FROM run WHERE fleet = @fleet AND job = @job AND key = @key`

export const SETTLE_SESSION = `
  SELECT 1 FROM node WHERE fleet = @fleet AND session = @session AND ended_at IS NULL`

export const SETTLE_PUT_RUN = `
  UPDATE run SET state = @state, place = @place, position = @position, ready_at = @ready_at, token = @token,
    session = @session, attempt_id = @attempt_id, settled_by = @settled_by, ended_at = @ended_at, body = @body
  WHERE fleet = @fleet AND job = @job AND key = @key`

export const SETTLE_JOB = `
  SELECT bucket, waiting, wake_at, settled, failures, succeeded_until, token_floor FROM job
  WHERE fleet = @fleet AND job = @job`

export const SETTLE_PUT_JOB = `
  UPDATE job SET wake_at = @wake_at, settled = @settled, failures = @failures, succeeded_until = @succeeded_until,
    token_floor = @token_floor
  WHERE fleet = @fleet AND job = @job`

// ---- beat

export const BEAT_RUNNING = `
  SELECT attempt_id, stop FROM run WHERE fleet = @fleet AND session = @session AND state = 'running'`

export const BEAT_NODES = `
  SELECT session, node, label, services, attends, room, zone_data, manifest_id, seen_at, ended_at
  FROM node WHERE fleet = @fleet AND seen_at >= @since ORDER BY seq`

// ---- subscribe

export const DATA_VERSION = 'PRAGMA data_version'

export const WAKE_LAST = `
  SELECT max(seq) AS seq FROM wake WHERE fleet = @fleet`

export const WAKE_SINCE = `
  SELECT bucket FROM wake WHERE fleet = @fleet AND seq > @seen ORDER BY seq`

/** At most 256 rows a fleet: each bucket has the number of its latest mark. */
export const WAKE_PUT = `
  INSERT INTO wake (fleet, bucket, seq)
  VALUES (@fleet, @bucket, (SELECT coalesce(max(seq), 0) + 1 FROM wake WHERE fleet = @fleet))
  ON CONFLICT (fleet, bucket) DO UPDATE SET seq = excluded.seq`
