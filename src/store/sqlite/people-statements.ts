import { KEPT_DEFINITIONS } from '../retention.js'

/** The statements for people and for retention. */

export const JOBS = `
  SELECT job FROM job
  WHERE fleet = @fleet AND job > @after AND (@service IS NULL OR service = @service)
  ORDER BY job LIMIT @limit`

export const RUNS = `
  SELECT job, key, created_at, body, stop FROM run
  WHERE fleet = @fleet AND (created_at, key, job) < (@created_at, @key, @before_job)
    AND (@states IS NULL OR state IN (SELECT value FROM json_each(@states)))
  ORDER BY created_at DESC, key DESC, job DESC LIMIT @limit`

export const RUNS_OF_JOB = `
  SELECT job, key, created_at, body, stop FROM run
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
      AND (ended_at < @requests_before OR cause NOT IN ('manual', 'backfill'))
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

/** Only a job that entered more than the many has any to lose: the index holds no other. */
export const PRUNE_DEFINITIONS = `
  DELETE FROM definition WHERE rowid IN (
    SELECT ranked.id FROM (
      SELECT old.rowid AS id, old.job, old.hash,
        row_number() OVER (PARTITION BY old.job ORDER BY old.seq DESC) AS place
      FROM definition AS old
      WHERE old.fleet = @fleet AND old.entered_at < @before AND old.job IN (
        SELECT job FROM definition WHERE fleet = @fleet AND seq > ${KEPT_DEFINITIONS})) AS ranked
    WHERE ranked.place > @kept AND NOT EXISTS (
      SELECT 1 FROM job WHERE job.fleet = @fleet AND job.job = ranked.job AND job.definition = ranked.hash)
    LIMIT @limit)`

/** Schedules of the store that were removed, of which nothing is left but themselves. */
export const PRUNE_RETIRED = `
  SELECT job.job AS job FROM job
  JOIN definition ON definition.fleet = job.fleet AND definition.job = job.job AND definition.hash = job.definition
  WHERE job.fleet = @fleet AND job.wake_at IS NULL
    AND CASE WHEN json_valid(job.header) THEN json_extract(job.header, '$.retired') END = 1
    AND CASE WHEN json_valid(definition.content) THEN json_extract(definition.content, '$.handler') END IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM run WHERE run.fleet = job.fleet AND run.job = job.job)
    AND NOT EXISTS (SELECT 1 FROM event WHERE event.fleet = job.fleet AND event.job = job.job)
  ORDER BY job.job LIMIT @limit`

export const PRUNE_JOB = 'DELETE FROM job WHERE fleet = @fleet AND job = @job'

export const PRUNE_JOB_DEFINITIONS = 'DELETE FROM definition WHERE fleet = @fleet AND job = @job'
