/**
 * The statements of the loop that mostly read, each a function of the database: one call is one round trip, planned once
 * for each connection of the server, whoever is given it. In a function every statement sees what is committed when it
 * begins (READ COMMITTED), so a row is looked at after its lock was waited for.
 *
 * Plans are made when the tables may be empty, and kept: nothing in them may hang on how many rows there are. The settings
 * leave no scan of a table; and a row that is looked up by its key is so in a LATERAL with a LIMIT (or OFFSET 0), which
 * the planner cannot turn round into a walk through the table with a look at the list for each row.
 */
export const SETTINGS = `
  SET enable_seqscan TO off SET enable_bitmapscan TO off SET enable_hashjoin TO off SET enable_mergejoin TO off
  SET plan_cache_mode TO force_generic_plan SET jit TO off`

/** Waits for the rows of nodes are waits for statements as short as these. */
const PATIENT = `${SETTINGS} SET lock_timeout TO '1s'`

export const ATTEND = `
  CREATE FUNCTION fleetcron.attend(
    p_fleet text, p_session text, p_node text, p_lease bigint, p_hello json, p_services json, p_mine bytea,
    p_has_mine boolean, p_has_others boolean, p_grace bigint, p_limit integer, p_recovered text, p_due_at bigint,
    p_due_job text, p_careful boolean
  ) RETURNS text LANGUAGE plpgsql VOLATILE ${PATIENT} AS $body$
  DECLARE
    v_now bigint;
    v_alive boolean;
    v_node record;
    v_services text[] := ARRAY(SELECT json_array_elements_text(p_services));
    v_wakes bigint[] := ARRAY[NULL, NULL]::bigint[];
    v_recover text[] := '{}';
    v_due text[] := '{}';
    v_due_at bigint[];
    v_jobs text[];
    v_after json;
  BEGIN
    SELECT n.lease_end, n.ended_at INTO v_node FROM fleetcron.node n
    WHERE n.fleet = p_fleet AND n.session = p_session FOR NO KEY UPDATE;
    v_alive := FOUND;
    v_now := fleetcron.clock();
    IF v_alive THEN
      v_alive := v_node.ended_at IS NULL AND (v_node.lease_end >= v_now OR NOT EXISTS (
        SELECT FROM fleetcron.run r WHERE r.holder = p_session AND ('' || r.fleet) = p_fleet));
      IF NOT v_alive THEN
        UPDATE fleetcron.node n SET ended_at = v_now
        WHERE n.fleet = p_fleet AND n.session = p_session AND n.ended_at IS NULL;
      ELSIF p_hello IS NULL THEN
        UPDATE fleetcron.node n SET seen_at = v_now, lease_end = v_now + p_lease
        WHERE n.fleet = p_fleet AND n.session = p_session;
      END IF;
    END IF;
    IF p_hello IS NOT NULL AND (v_alive OR v_node IS NULL) THEN
      v_alive := true;
      INSERT INTO fleetcron.node AS n (fleet, session, node, label, services, attends, room, zone_data, release,
        manifest_id, started_at, seen_at, lease_end, manifest)
      VALUES (p_fleet, p_session, p_node, p_hello->>'label', p_hello->'services', (p_hello->>'attends')::boolean, true,
        p_hello->>'zoneData', p_hello->>'release', p_hello->>'manifestId', v_now, v_now, v_now + p_lease,
        p_hello->'manifest')
      ON CONFLICT (fleet, session) DO UPDATE SET label = excluded.label, services = excluded.services,
        attends = excluded.attends, zone_data = excluded.zone_data, release = excluded.release,
        manifest_id = excluded.manifest_id, manifest = excluded.manifest, seen_at = excluded.seen_at,
        lease_end = excluded.lease_end;
    END IF;
    IF NOT v_alive THEN
      RETURN json_build_object('now', v_now, 'alive', false, 'incarnation', fleetcron.incarnation());
    END IF;

    -- Whoever marks or renews one of these at this moment does what is to be done: nobody waits for anybody here.
    UPDATE fleetcron.node n SET ended_at = v_now
    FROM (
      SELECT o.ctid FROM fleetcron.node o
      WHERE o.fleet = p_fleet AND o.ended_at IS NULL AND o.lease_end < v_now AND o.session <> p_session
        AND EXISTS (SELECT FROM fleetcron.run r WHERE r.holder = o.session AND ('' || r.fleet) = p_fleet OFFSET 0)
      FOR NO KEY UPDATE SKIP LOCKED) AS gone
    WHERE n.ctid = gone.ctid;

    -- Wake-ups are read before the page: what becomes due in between is in the page, and is not passed over.
    IF p_has_mine THEN v_wakes[1] := fleetcron.next_wake(p_fleet, v_services, p_mine, 1, v_now); END IF;
    IF p_has_others THEN v_wakes[2] := fleetcron.next_wake(p_fleet, v_services, p_mine, 0, v_now - p_grace); END IF;
    IF p_due_at IS NULL THEN
      SELECT coalesce(array_agg(x.job ORDER BY x.job), '{}') INTO v_recover FROM (
        SELECT DISTINCT r.job FROM fleetcron.node n
        CROSS JOIN LATERAL (
          SELECT h.job FROM fleetcron.run h
          WHERE h.holder = n.session AND ('' || h.fleet) = p_fleet AND ('' || h.job) > p_recovered OFFSET 0) AS r
        CROSS JOIN LATERAL (
          SELECT j.service FROM fleetcron.job j WHERE j.fleet = p_fleet AND j.job = r.job LIMIT 1) AS j
        WHERE n.fleet = p_fleet AND n.ended_at IS NOT NULL AND j.service = ANY (v_services)
        ORDER BY r.job LIMIT p_limit + 1) AS x;
    END IF;
    IF cardinality(v_recover) <= p_limit THEN
      SELECT coalesce(array_agg(x.job ORDER BY x.wake_at, x.job), '{}'), array_agg(x.wake_at ORDER BY x.wake_at, x.job)
      INTO v_due, v_due_at FROM (
        SELECT d.job, d.wake_at FROM unnest(v_services) AS s(service)
        CROSS JOIN LATERAL (
          SELECT j.job, j.wake_at FROM fleetcron.job j
          WHERE j.fleet = p_fleet AND j.service = s.service AND j.wake_at <= v_now
            AND (j.wake_at, j.job) > (coalesce(p_due_at, ${Number.MIN_SAFE_INTEGER}), p_due_job)
            AND (j.wake_at <= v_now - p_grace OR get_bit(p_mine, j.bucket) = 1) AND j.job <> ALL (v_recover)
          ORDER BY j.wake_at, j.job LIMIT p_limit + 1) AS d
        ORDER BY d.wake_at, d.job LIMIT p_limit + 1 - cardinality(v_recover)) AS x;
    END IF;
    v_jobs := v_recover || v_due;
    IF cardinality(v_jobs) > p_limit THEN
      v_after := CASE WHEN p_limit <= cardinality(v_recover) THEN json_build_object('recovered', v_recover[p_limit])
        ELSE json_build_object('due', json_build_array(v_due_at[p_limit - cardinality(v_recover)], v_jobs[p_limit])) END;
      v_jobs := v_jobs[1:p_limit];
    END IF;
    RETURN concat('{"now":', v_now, ',"alive":true,"jobs":', fleetcron.aggregates(p_fleet, v_jobs, p_careful),
      ',"ended":', coalesce((
        SELECT json_agg(json_build_object('session', n.session, 'node', n.node, 'leaseEnd', n.lease_end, 'endedAt', n.ended_at,
          'returned', EXISTS (
            SELECT FROM fleetcron.node later WHERE later.fleet = n.fleet AND later.node = n.node AND later.seq > n.seq)))
        FROM fleetcron.node n
        WHERE n.fleet = p_fleet AND n.ended_at IS NOT NULL AND EXISTS (
          SELECT FROM fleetcron.run r WHERE r.holder = n.session AND ('' || r.fleet) = p_fleet AND ('' || r.job) = ANY (v_jobs)
          OFFSET 0))::text, '[]'),
      ',"after":', coalesce(v_after::text, 'null'), ',"nextWakeAt":', coalesce(v_wakes[1]::text, 'null'),
      ',"nextOtherWakeAt":', coalesce(v_wakes[2]::text, 'null'),
      ',"nextEndAt":', coalesce(fleetcron.next_end(p_fleet, p_session)::text, 'null'),
      ',"incarnation":', to_json(fleetcron.incarnation()), '}');
  END $body$;
`

export const LOAD = `
  CREATE FUNCTION fleetcron.load(
    p_fleet text, p_gate bigint, p_jobs json, p_attempts json, p_keys json, p_requests json, p_nodes boolean,
    p_seen_ms bigint, p_careful boolean
  ) RETURNS text LANGUAGE plpgsql VOLATILE ${PATIENT} AS $body$
  DECLARE
    v_now bigint;
    v_jobs text[] := ARRAY(SELECT json_array_elements_text(p_jobs));
  BEGIN
    -- Whoever asks after attempts wants to know what has become of a commit: those that are on their way come first, and
    -- those that come later read a later clock.
    IF json_array_length(p_attempts) > 0 THEN PERFORM pg_advisory_xact_lock(p_gate); END IF;
    v_now := fleetcron.clock();
    RETURN concat('{"now":', v_now, ',"jobs":', fleetcron.aggregates(p_fleet, v_jobs, p_careful),
      ',"definitions":', coalesce((
        SELECT json_agg(json_build_array(d.job, d.hash, d.seq, d.entered_at, d.release, d.content) ORDER BY n.at, d.seq)
        FROM unnest(v_jobs) WITH ORDINALITY AS n(job, at)
        CROSS JOIN LATERAL (
          SELECT o.* FROM fleetcron.definition o WHERE o.fleet = p_fleet AND o.job = n.job OFFSET 0) AS d)::text, '[]'),
      ',"runs":[', (
        SELECT string_agg(fleetcron.run_row(p_careful, r.job, r.key, 0, r.body, r.stop), ',') FROM (
          SELECT r.job, r.key, r.body, r.stop FROM (SELECT DISTINCT json_array_elements_text(p_attempts) AS attempt) AS a
          CROSS JOIN LATERAL (
            SELECT o.job, o.key, o.body, o.stop FROM fleetcron.run o
            WHERE o.attempt_id = a.attempt AND ('' || o.fleet) = p_fleet LIMIT 1) AS r
          UNION ALL
          SELECT k.job, k.key, r.body, r.stop FROM (
            SELECT DISTINCT k.value->>0 AS job, k.value->>1 AS key FROM json_array_elements(p_keys) AS k) AS k
          CROSS JOIN LATERAL (
            SELECT o.body, o.stop FROM fleetcron.run o
            WHERE o.fleet = p_fleet AND o.job = k.job AND o.key = k.key LIMIT 1) AS r) AS r),
      '],"events":', coalesce((
        SELECT json_agg(json_build_array(e.id, e.at, e.job, e.kind, e.by, e.why, e.data))
        FROM (SELECT DISTINCT json_array_elements_text(p_requests) AS id) AS q
        CROSS JOIN LATERAL (
          SELECT o.* FROM fleetcron.event o WHERE o.fleet = p_fleet AND o.id = q.id LIMIT 1) AS e)::text, '[]'),
      ',"nodes":', CASE WHEN p_nodes THEN coalesce((
        SELECT json_agg(json_build_array(n.session, n.node, n.label, n.services, n.attends, n.room, n.zone_data, n.release,
          n.started_at, n.seen_at, n.lease_end, n.ended_at, n.manifest) ORDER BY n.seq)
        FROM fleetcron.node n WHERE n.fleet = p_fleet AND n.seen_at >= v_now - p_seen_ms)::text, '[]') ELSE '[]' END, '}');
  END $body$;
`

export const BEAT = `
  CREATE FUNCTION fleetcron.beat(
    p_fleet text, p_session text, p_lease bigint, p_services json, p_mine bytea, p_has_mine boolean,
    p_has_others boolean, p_attempts json, p_room boolean, p_end boolean, p_seen_ms bigint, p_careful boolean
  ) RETURNS text LANGUAGE plpgsql VOLATILE ${PATIENT} AS $body$
  DECLARE
    v_now bigint;
    v_known boolean;
    v_alive boolean;
    v_node record;
    v_services text[] := ARRAY(SELECT json_array_elements_text(p_services));
    v_attempts text[] := ARRAY(SELECT json_array_elements_text(p_attempts));
    v_wakes bigint[] := ARRAY[NULL, NULL]::bigint[];
  BEGIN
    SELECT n.lease_end, n.ended_at INTO v_node FROM fleetcron.node n
    WHERE n.fleet = p_fleet AND n.session = p_session FOR NO KEY UPDATE;
    v_known := FOUND;
    v_now := fleetcron.clock();
    v_alive := v_known AND v_node.ended_at IS NULL AND (v_node.lease_end >= v_now OR NOT EXISTS (
      SELECT FROM fleetcron.run r WHERE r.holder = p_session AND ('' || r.fleet) = p_fleet));
    IF v_alive THEN
      UPDATE fleetcron.node n SET seen_at = v_now, lease_end = v_now + p_lease, room = p_room,
        ended_at = CASE WHEN p_end THEN v_now END
      WHERE n.fleet = p_fleet AND n.session = p_session;
    ELSIF v_known AND p_end THEN
      UPDATE fleetcron.node n SET ended_at = v_now
      WHERE n.fleet = p_fleet AND n.session = p_session AND n.ended_at IS NULL;
    END IF;
    IF p_has_mine THEN
      v_wakes[1] := fleetcron.next_wake(p_fleet, v_services, p_mine, 1, ${Number.MIN_SAFE_INTEGER});
    END IF;
    IF p_has_others THEN
      v_wakes[2] := fleetcron.next_wake(p_fleet, v_services, p_mine, 0, ${Number.MIN_SAFE_INTEGER});
    END IF;
    RETURN concat('{"now":', v_now, ',"alive":', to_json(v_alive), ',"known":', to_json(v_known), ',"running":[', (
        SELECT string_agg(concat_ws(',', '[' || to_json(r.attempt_id)::text, (r.attempt_id = ANY (v_attempts))::text,
          fleetcron.run_row(p_careful, r.job, r.key, 0,
            CASE WHEN r.attempt_id = ANY (v_attempts) THEN 'null' ELSE r.body END, r.stop) || ']'), ',')
        FROM fleetcron.run r WHERE r.holder = p_session AND ('' || r.fleet) = p_fleet),
      '],"nextWakeAt":', coalesce(v_wakes[1]::text, 'null'), ',"nextOtherWakeAt":', coalesce(v_wakes[2]::text, 'null'),
      ',"nextEndAt":', coalesce(fleetcron.next_end(p_fleet, p_session)::text, 'null'), ',"nodes":', coalesce((
        SELECT json_agg(json_build_array(n.session, n.node, n.label, n.services, n.attends, n.room, n.zone_data,
          n.manifest_id, n.seen_at, n.ended_at) ORDER BY n.seq)
        FROM fleetcron.node n WHERE n.fleet = p_fleet AND n.seen_at >= v_now - p_seen_ms)::text, '[]'),
      ',"incarnation":', to_json(fleetcron.incarnation()), '}');
  END $body$;
`

/**
 * Guarded by the runs alone, under the locks of their jobs. A run remembers the answers that its last attempts were
 * given, \`s\` or \`l\` before the attempt's id: whoever asks again hears the same.
 */
export const SETTLE = `
  CREATE FUNCTION fleetcron.settle(
    p_fleet text, p_sep text, p_null text, p_count integer, p_jobs text,
    s_job text, s_key text, s_token text, s_attempt text, s_failures text, s_wake_at text, s_succeeded text, s_floor text,
    r_state text, r_place text, r_position text, r_ready_at text, r_token text, r_session text, r_holder text,
    r_attempt text, r_ended_at text, r_body text
  ) RETURNS text LANGUAGE plpgsql VOLATILE ${PATIENT} AS $body$
  DECLARE
    v_now bigint;
    v_jobs text[] := string_to_array(s_job, p_sep, p_null);
    v_at bigint[];
    v_words text[];
    v_other_at bigint[];
    v_other_words text[];
    v_buckets integer[];
  BEGIN
    PERFORM FROM (
      SELECT FROM unnest(string_to_array(p_jobs, p_sep, p_null)) AS c(job)
      CROSS JOIN LATERAL (
        SELECT FROM fleetcron.job j WHERE j.fleet = p_fleet AND j.job = c.job LIMIT 1 FOR UPDATE) AS j) AS locked;
    v_now := fleetcron.clock();
    WITH done AS (
      UPDATE fleetcron.run o SET state = s.state, place = s.place = '1', position = s.position::bigint,
        ready_at = s.ready_at::bigint, token = s.new_token::bigint, session = s.session, holder = s.holder,
        attempt_id = s.new_attempt, ended_at = s.ended_at::bigint, body = s.body,
        settled_by = (coalesce(o.settled_by, '{}') || (CASE WHEN EXISTS (
            SELECT FROM fleetcron.node n WHERE n.fleet = p_fleet AND n.session = o.holder AND n.ended_at IS NULL)
          THEN 's' ELSE 'l' END || s.attempt))[greatest(1, coalesce(cardinality(o.settled_by), 0) - 18):]
      FROM unnest(v_jobs, string_to_array(s_key, p_sep, p_null), string_to_array(s_token, p_sep),
        string_to_array(s_attempt, p_sep, p_null), string_to_array(r_state, p_sep), string_to_array(r_place, p_sep),
        string_to_array(r_position, p_sep), string_to_array(r_ready_at, p_sep), string_to_array(r_token, p_sep),
        string_to_array(r_session, p_sep, p_null), string_to_array(r_holder, p_sep, p_null),
        string_to_array(r_attempt, p_sep, p_null), string_to_array(r_ended_at, p_sep, p_null),
        string_to_array(r_body, p_sep)) WITH ORDINALITY AS s(job, key, token, attempt, state, place, position, ready_at,
        new_token, session, holder, new_attempt, ended_at, body, at)
      CROSS JOIN LATERAL (
        SELECT x.ctid FROM fleetcron.run x WHERE x.fleet = p_fleet AND x.job = s.job AND x.key = s.key LIMIT 1) AS old
      WHERE s.at <= p_count AND o.ctid = old.ctid
        AND o.state = 'running' AND o.token = nullif(s.token, '')::bigint AND coalesce(o.attempt_id, '') = s.attempt
      RETURNING s.at, left(o.settled_by[cardinality(o.settled_by)], 1) AS word)
    SELECT array_agg(d.at), array_agg(d.word) INTO v_at, v_words FROM done d;
    IF coalesce(cardinality(v_at), 0) < p_count THEN
      SELECT array_agg(s.at), array_agg(CASE WHEN 's' || s.attempt = ANY (o.settled_by) THEN 's'
        WHEN 'l' || s.attempt = ANY (o.settled_by) THEN 'l' END)
      INTO v_other_at, v_other_words
      FROM unnest(v_jobs, string_to_array(s_key, p_sep, p_null), string_to_array(s_attempt, p_sep, p_null))
        WITH ORDINALITY AS s(job, key, attempt, at)
      CROSS JOIN LATERAL (
        SELECT x.settled_by FROM fleetcron.run x
        WHERE x.fleet = p_fleet AND x.job = s.job AND x.key = s.key LIMIT 1) AS o
      WHERE s.at <= p_count AND s.at <> ALL (coalesce(v_at, '{}'));
    END IF;
    WITH tally AS (
      SELECT s.job, count(*) AS settled, max(s.succeeded::bigint) AS succeeded, max(s.floor::bigint) AS floor,
        min(s.wake_at::bigint) AS wake_at, bool_or(s.reset_at IS NOT NULL) AS is_reset,
        count(*) FILTER (WHERE s.failures = 'count' AND s.at > coalesce(s.reset_at, 0)) AS failures
      FROM (
        SELECT x.*, max(x.at) FILTER (WHERE x.failures = 'reset') OVER (PARTITION BY x.job) AS reset_at
        FROM unnest(v_jobs, string_to_array(s_failures, p_sep), string_to_array(s_wake_at, p_sep, p_null),
          string_to_array(s_succeeded, p_sep, p_null), string_to_array(s_floor, p_sep, p_null)) WITH ORDINALITY
          AS x(job, failures, wake_at, succeeded, floor, at)
        WHERE x.at <= p_count AND (cardinality(v_at) = p_count OR x.at = ANY (v_at))) AS s
      GROUP BY s.job
    ), done AS (
      UPDATE fleetcron.job j SET settled = j.settled + t.settled,
        failures = CASE WHEN t.is_reset THEN 0 ELSE j.failures END + t.failures,
        succeeded_until = greatest(j.succeeded_until, t.succeeded), token_floor = greatest(j.token_floor, t.floor),
        wake_at = least(j.wake_at, CASE WHEN j.waiting > 0 THEN v_now ELSE t.wake_at END)
      FROM tally t
      CROSS JOIN LATERAL (
        SELECT o.ctid, o.wake_at FROM fleetcron.job o WHERE o.fleet = p_fleet AND o.job = t.job LIMIT 1) AS before
      WHERE j.ctid = before.ctid
      RETURNING j.bucket, j.wake_at < before.wake_at OR (before.wake_at IS NULL AND j.wake_at IS NOT NULL) AS is_earlier)
    SELECT array_agg(DISTINCT d.bucket) INTO v_buckets FROM done d WHERE d.is_earlier;
    RETURN json_build_object('now', v_now, 'at', v_at, 'words', v_words, 'otherAt', v_other_at, 'otherWords', v_other_words,
      'woken', v_buckets);
  END $body$;
`
