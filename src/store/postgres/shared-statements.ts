import { WINDOW } from '../../ledger/limits.js'

/** What several statements have in common. They run under the settings of the function that calls them. */

/** The store's clock, epoch milliseconds: never the start of the transaction. */
export const CLOCK = `
  CREATE FUNCTION fleetcron.clock() RETURNS bigint LANGUAGE sql VOLATILE AS $body$
    SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint
  $body$;
`

/**
 * Which store this is: the word that was drawn with the schema, the number of its table, which a dump gives anew, and the
 * timeline, which a promoted replica or a restored backup counts up.
 */
export const INCARNATION = `
  CREATE FUNCTION fleetcron.incarnation() RETURNS text LANGUAGE plpgsql VOLATILE AS $body$
  DECLARE
    v_timeline text;
  BEGIN
    BEGIN
      v_timeline := left(pg_walfile_name(pg_current_wal_insert_lsn()), 8);
    EXCEPTION WHEN OTHERS THEN
      v_timeline := 'unknown';
    END;
    RETURN (SELECT m.value || '.' || m.tableoid || '.' || v_timeline FROM fleetcron.meta m WHERE m.name = 'incarnation');
  END $body$;
`

export const WHICH = `
  CREATE FUNCTION fleetcron.which() RETURNS text LANGUAGE plpgsql VOLATILE AS $body$
  BEGIN
    RETURN json_build_object('incarnation', fleetcron.incarnation());
  END $body$;
`

/**
 * A run as answers hold it. Its JSON stands in them as it is, which saves the server to quote it; \`p_careful\`: as a text, with
 * what else names the row, for those who look for one that cannot be read.
 */
export const RUN_ROW = `
  CREATE FUNCTION fleetcron.run_row(p_careful boolean, p_job text, p_key text, p_created_at bigint, p_body text, p_stop text)
  RETURNS text LANGUAGE sql STABLE AS $body$
    SELECT CASE WHEN p_careful THEN json_build_array(p_body, p_stop, p_job, p_key, p_created_at)::text
      ELSE '[' || p_body || ',' || coalesce(p_stop, 'null') || ']' END
  $body$;
`

/** Jobs as they are loaded, one JSON array: header, columns, definition, and the window of live runs with their stops. */
export const AGGREGATES = `
  CREATE FUNCTION fleetcron.aggregates(p_fleet text, p_jobs text[], p_careful boolean)
  RETURNS text LANGUAGE plpgsql VOLATILE AS $body$
  BEGIN
    RETURN (
      SELECT '[' || coalesce(string_agg(
        concat_ws(',', '[' || to_json(j.job)::text, to_json(j.definition)::text,
          CASE WHEN p_careful THEN to_json(j.header)::text ELSE j.header END, coalesce(j.wake_at::text, 'null'),
          to_json(j.version)::text, j.settled::text, j.failures::text, coalesce(j.succeeded_until::text, 'null'),
          j.token_floor::text, coalesce(CASE WHEN p_careful THEN to_json(d.content)::text ELSE d.content END, 'null'),
          '[' || coalesce(w.runs, '') || ']]'),
        ',' ORDER BY n.at), '') || ']'
      FROM unnest(p_jobs) WITH ORDINALITY AS n(job, at)
      CROSS JOIN LATERAL (
        SELECT o.* FROM fleetcron.job o WHERE o.fleet = p_fleet AND o.job = n.job LIMIT 1) AS j
      LEFT JOIN LATERAL (
        SELECT o.content FROM fleetcron.definition o
        WHERE o.fleet = p_fleet AND o.job = n.job AND o.hash = j.definition LIMIT 1) AS d ON true
      CROSS JOIN LATERAL (
        SELECT EXISTS (
          SELECT FROM fleetcron.run r WHERE r.live_fleet = p_fleet AND r.live_job = n.job) AS found) AS live
      CROSS JOIN LATERAL (
        SELECT string_agg(fleetcron.run_row(p_careful, n.job, x.key, 0, x.body, x.stop), ','
          ORDER BY x.part, x.position, x.key) AS runs
        FROM (
          SELECT 0 AS part, r.position, r.key, r.body, r.stop FROM fleetcron.run r
          WHERE live.found AND r.live_fleet = p_fleet AND r.live_job = n.job AND r.place
          UNION ALL (
            SELECT 1, r.position, r.key, r.body, r.stop FROM fleetcron.run r
            WHERE live.found AND r.live_fleet = p_fleet AND r.live_job = n.job AND NOT r.place
              AND r.lane = 'schedule' ORDER BY r.position, r.key LIMIT ${WINDOW})
          UNION ALL (
            SELECT 2, r.position, r.key, r.body, r.stop FROM fleetcron.run r
            WHERE live.found AND r.live_fleet = p_fleet AND r.live_job = n.job AND NOT r.place
              AND r.lane = 'manual' ORDER BY r.position, r.key LIMIT ${WINDOW})
          UNION ALL (
            SELECT 3, r.position, r.key, r.body, r.stop FROM fleetcron.run r
            WHERE live.found AND r.live_fleet = p_fleet AND r.live_job = n.job AND NOT r.place
              AND r.lane = 'backlog' ORDER BY r.position, r.key LIMIT ${WINDOW})
        ) AS x) AS w);
  END $body$;
`

/** The earliest wake-up after an instant in the buckets whose bit is \`p_wanted\`. */
export const NEXT_WAKE = `
  CREATE FUNCTION fleetcron.next_wake(p_fleet text, p_services text[], p_mine bytea, p_wanted integer, p_after bigint)
  RETURNS bigint LANGUAGE plpgsql VOLATILE AS $body$
  BEGIN
    RETURN (
      SELECT min(w.wake_at) FROM unnest(p_services) AS s(service)
      CROSS JOIN LATERAL (
        SELECT j.wake_at FROM fleetcron.job j
        WHERE j.fleet = p_fleet AND j.service = s.service AND j.wake_at > p_after AND get_bit(p_mine, j.bucket) = p_wanted
        ORDER BY j.wake_at LIMIT 1) AS w);
  END $body$;
`

/** The earliest lease end of another session that holds runs. */
export const NEXT_END = `
  CREATE FUNCTION fleetcron.next_end(p_fleet text, p_session text) RETURNS bigint LANGUAGE plpgsql VOLATILE AS $body$
  BEGIN
    RETURN (
      SELECT n.lease_end FROM fleetcron.node n
      WHERE n.fleet = p_fleet AND n.ended_at IS NULL AND n.session <> p_session
        AND EXISTS (SELECT FROM fleetcron.run r WHERE r.holder = n.session AND ('' || r.fleet) = p_fleet OFFSET 0)
      ORDER BY n.lease_end LIMIT 1);
  END $body$;
`
