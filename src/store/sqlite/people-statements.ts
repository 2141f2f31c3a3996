/** The statements for people and for retention. */

export const JOBS = `
  SELECT job FROM job
  WHERE fleet = @fleet AND job > @after AND (@service IS NULL OR service = @service)
  ORDER BY job LIMIT @limit`

export const RUNS = `
  SELECT body, stop FROM run
  WHERE fleet = @fleet AND (created_at, key, job) < (@created_at, @key, @before_job)
    AND (@states IS NULL OR state IN (SELECT value FROM json_each(@states)))
  ORDER BY created_at DESC, key DESC, job DESC LIMIT @limit`

export const RUNS_OF_JOB = `
  SELECT body, stop FROM run
  WHERE fleet = @fleet AND job = @job AND (created_at, key, job) < (@created_at, @key, @before_job)
    AND (@states IS NULL OR state IN (SELECT value FROM json_each(@states)))
  ORDER BY created_at DESC, key DESC LIMIT @limit`

export const EVENTS = `
  SELECT id, at, job, kind, by, why, data FROM event
  WHERE fleet = @fleet AND (at, id) < (@at, @id)
  ORDER BY at DESC, id DESC LIMIT @limit`

export const EVENTS_OF_JOB = `
  SELECT id, at, job, kind, by, why, data FROM event
  WHERE fleet = @fleet AND job = @job AND (at, id) < (@at, @id)
  ORDER BY at DESC, id DESC LIMIT @limit`

export const PRUNE_RUNS = `
  DELETE FROM run WHERE rowid IN (
    SELECT rowid FROM run AS old
    WHERE fleet = @fleet AND ended_at < @before
      AND (cause NOT IN ('manual', 'backfill') OR ended_at < @requests_before)
      AND NOT EXISTS (
        SELECT 1 FROM job WHERE job.fleet = old.fleet AND job.job = old.job AND job.fate_key = old.key)
    ORDER BY ended_at LIMIT @limit)`

export const PRUNE_EVENTS = `
  DELETE FROM event WHERE rowid IN (
    SELECT rowid FROM event
    WHERE fleet = @fleet AND at < @before
      AND (at < @requests_before OR kind NOT IN (SELECT value FROM json_each(@request_kinds)))
    ORDER BY at LIMIT @limit)`

export const PRUNE_NODES = `
  DELETE FROM node WHERE seq IN (
    SELECT seq FROM node AS old
    WHERE fleet = @fleet AND seen_at < @before AND NOT EXISTS (
      SELECT 1 FROM run WHERE run.fleet = old.fleet AND run.session = old.session AND run.state = 'running')
    ORDER BY seen_at LIMIT @limit)`
