import { KEPT_DEFINITIONS } from '../retention.js'
import { SETTINGS } from './statements.js'

/** The statements for people and for retention. */

export const JOBS = `
  CREATE FUNCTION fleetcron.jobs(p_fleet text, p_service text, p_after text, p_limit integer, p_careful boolean)
  RETURNS text LANGUAGE plpgsql VOLATILE ${SETTINGS} AS $body$
  BEGIN
    RETURN fleetcron.aggregates(p_fleet, ARRAY(
      SELECT j.job FROM fleetcron.job j
      WHERE j.fleet = p_fleet AND j.job > p_after AND (p_service IS NULL OR j.service = p_service)
      ORDER BY j.job LIMIT p_limit), p_careful);
  END $body$;
`

export const RUNS = `
  CREATE FUNCTION fleetcron.runs(
    p_fleet text, p_job text, p_states json, p_created_at bigint, p_key text, p_before_job text, p_limit integer,
    p_careful boolean
  ) RETURNS text LANGUAGE plpgsql VOLATILE ${SETTINGS} AS $body$
  DECLARE
    v_states text[] := ARRAY(SELECT json_array_elements_text(p_states));
  BEGIN
    IF p_job IS NULL THEN
      RETURN concat('[', (
        SELECT string_agg(fleetcron.run_row(p_careful, x.job, x.key, x.created_at, x.body, x.stop), ',') FROM (
          SELECT r.job, r.key, r.created_at, r.body, r.stop FROM fleetcron.run r
          WHERE (r.fleet || '') = p_fleet
            AND (r.created_at, r.key || '', r.job || '') < (p_created_at, p_key, p_before_job)
            AND (p_states IS NULL OR r.state = ANY (v_states))
          ORDER BY r.created_at DESC, r.key || '' DESC, r.job || '' DESC LIMIT p_limit) AS x), ']');
    END IF;
    RETURN concat('[', (
      SELECT string_agg(fleetcron.run_row(p_careful, x.job, x.key, x.created_at, x.body, x.stop), ',') FROM (
        SELECT r.job, r.key, r.created_at, r.body, r.stop FROM fleetcron.run r
        WHERE (r.fleet || '') = p_fleet AND (r.job || '') = p_job AND r.created_at <= p_created_at
          AND (r.created_at, r.key || '', r.job || '') < (p_created_at, p_key, p_before_job)
          AND (p_states IS NULL OR r.state = ANY (v_states))
        ORDER BY r.created_at DESC, r.key || '' DESC LIMIT p_limit) AS x), ']');
  END $body$;
`

export const EVENTS = `
  CREATE FUNCTION fleetcron.events(p_fleet text, p_job text, p_at bigint, p_id text, p_limit integer) RETURNS text
  LANGUAGE plpgsql VOLATILE ${SETTINGS} AS $body$
  BEGIN
    IF p_job IS NULL THEN
      RETURN coalesce((
        SELECT json_agg(json_build_array(x.id, x.at, x.job, x.kind, x.by, x.why, x.data)) FROM (
          SELECT e.* FROM fleetcron.event e WHERE (e.fleet || '') = p_fleet AND (e.at, e.id || '') < (p_at, p_id)
          ORDER BY e.at DESC, e.id || '' DESC LIMIT p_limit) AS x)::text, '[]');
    END IF;
    RETURN coalesce((
      SELECT json_agg(json_build_array(x.id, x.at, x.job, x.kind, x.by, x.why, x.data)) FROM (
        SELECT e.* FROM fleetcron.event e
        WHERE (e.fleet || '') = p_fleet AND e.job = p_job AND (e.at, e.id || '') < (p_at, p_id)
        ORDER BY e.at DESC, e.id || '' DESC LIMIT p_limit) AS x)::text, '[]');
  END $body$;
`

/**
 * A row that another one holds is left for the next time. Jobs are locked before they are looked at once more, so that
 * nobody adds to one in between; their definitions go with them.
 */
export const PRUNE = `
  CREATE FUNCTION fleetcron.prune(
    p_fleet text, p_before bigint, p_limit integer, p_kept_ms bigint, p_request_ms bigint, p_node_ms bigint,
    p_definition_ms bigint, p_definitions integer, p_request_kinds json
  ) RETURNS text LANGUAGE plpgsql VOLATILE ${SETTINGS} SET lock_timeout TO '1s' AS $body$
  DECLARE
    v_now bigint := fleetcron.clock();
    v_before bigint := least(p_before, v_now - p_kept_ms);
    v_requests_before bigint := least(v_before, v_now - p_request_ms);
    v_left integer := p_limit;
    v_rows integer;
    v_jobs text[];
  BEGIN
    DELETE FROM fleetcron.run r USING (
      SELECT o.ctid FROM fleetcron.run o
      WHERE (o.fleet || '') = p_fleet AND o.ended_at < v_before
        AND (o.ended_at < v_requests_before OR o.cause NOT IN ('manual', 'backfill'))
        AND NOT EXISTS (SELECT FROM fleetcron.job j WHERE j.fleet = o.fleet AND j.job = o.job AND j.fate_key = o.key OFFSET 0)
      ORDER BY o.ended_at LIMIT v_left FOR UPDATE OF o SKIP LOCKED) AS old
    WHERE r.ctid = old.ctid;
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    v_left := v_left - v_rows;
    DELETE FROM fleetcron.event e USING (
      SELECT o.ctid FROM fleetcron.event o
      WHERE (o.fleet || '') = p_fleet AND o.at < v_before
        AND (o.at < v_requests_before OR o.kind NOT IN (SELECT json_array_elements_text(p_request_kinds)))
      ORDER BY o.at LIMIT v_left FOR UPDATE OF o SKIP LOCKED) AS old
    WHERE e.ctid = old.ctid;
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    v_left := v_left - v_rows;
    DELETE FROM fleetcron.node n USING (
      SELECT o.ctid FROM fleetcron.node o
      WHERE o.fleet = p_fleet AND o.seen_at < v_now - p_node_ms
        AND NOT EXISTS (SELECT FROM fleetcron.run r WHERE r.holder = o.session AND ('' || r.fleet) = p_fleet OFFSET 0)
      ORDER BY o.seen_at LIMIT v_left FOR UPDATE OF o SKIP LOCKED) AS old
    WHERE n.ctid = old.ctid;
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    v_left := v_left - v_rows;
    DELETE FROM fleetcron.definition d USING (
      SELECT x.ctid FROM (
        SELECT DISTINCT m.job FROM fleetcron.definition m
        WHERE (m.fleet || '') = p_fleet AND m.seq > ${KEPT_DEFINITIONS}) AS many
      CROSS JOIN LATERAL (
        SELECT o.ctid, o.hash FROM fleetcron.definition o
        WHERE o.fleet = p_fleet AND o.job = many.job AND o.entered_at < v_now - p_definition_ms
        ORDER BY o.seq DESC OFFSET p_definitions) AS x
      WHERE NOT EXISTS (
        SELECT FROM fleetcron.job j WHERE j.fleet = p_fleet AND j.job = many.job AND j.definition = x.hash OFFSET 0)
      LIMIT v_left) AS old
    WHERE d.ctid = old.ctid;
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    v_left := v_left - v_rows;
    v_jobs := ARRAY(
      SELECT j.job FROM fleetcron.job j
      CROSS JOIN LATERAL (
        SELECT FROM fleetcron.definition d
        WHERE d.fleet = p_fleet AND d.job = j.job AND d.hash = j.definition AND d.is_stored LIMIT 1) AS d
      WHERE (j.fleet || '') = p_fleet AND j.is_retired
        AND NOT EXISTS (SELECT FROM fleetcron.run r WHERE r.fleet = p_fleet AND r.job = j.job OFFSET 0)
        AND NOT EXISTS (SELECT FROM fleetcron.event e WHERE (e.fleet || '') = p_fleet AND e.job = j.job OFFSET 0)
      ORDER BY j.job LIMIT v_left FOR UPDATE OF j SKIP LOCKED);
    v_jobs := ARRAY(
      SELECT o.job FROM unnest(v_jobs) AS o(job)
      WHERE NOT EXISTS (SELECT FROM fleetcron.run r WHERE r.fleet = p_fleet AND r.job = o.job OFFSET 0)
        AND NOT EXISTS (SELECT FROM fleetcron.event e WHERE (e.fleet || '') = p_fleet AND e.job = o.job OFFSET 0));
    DELETE FROM fleetcron.job j USING unnest(v_jobs) AS o(job) WHERE j.fleet = p_fleet AND j.job = o.job;
    DELETE FROM fleetcron.definition d USING unnest(v_jobs) AS o(job) WHERE d.fleet = p_fleet AND d.job = o.job;
    RETURN p_limit - v_left + cardinality(v_jobs);
  END $body$;
`
