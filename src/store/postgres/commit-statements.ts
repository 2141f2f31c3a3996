import { SETTINGS } from './statements.js'

/** A commit waits for a job at most this long; then it is stale. */
const BRISK = `${SETTINGS} SET lock_timeout TO '100ms'`

/**
 * Like a settlement it locks its jobs first, in the order of their names, and then writes what belongs to them: whoever
 * writes a run holds its job, so no two wait for each other in a circle.
 *
 * Rows come as columns: one text for each, its values ended by \`p_sep\`, with \`p_null\` in the place of null. Splitting costs
 * a fraction of what reading JSON would.
 *
 * Changes are judged as a whole, which is right nearly always: every version is as read, every run that should be absent is, and so on.
 * Where a count shows that it was not, all is undone and each change is judged by itself before what is left is written.
 * What even then cannot be written together comes back undone, as \`again\`: the caller sends it in smaller parts.
 */
export const COMMIT = `
  CREATE FUNCTION fleetcron.commit(
    p_fleet text, p_gate bigint, p_session text, p_read bigint, p_lease bigint, p_sep text, p_null text, p_count integer,
    p_new integer, p_unsure integer, p_fresh integer, p_over integer,
    c_id text, c_job text, c_expect text, c_settled text, c_service text, c_name text, c_bucket text, c_definition text,
    c_unsure text, c_wake_at text, c_waiting text, c_fate_key text, c_failures text, c_retired text, c_header text,
    r_change text, r_key text, r_expect_state text, r_expect_token text, r_cause text, r_lane text, r_stop text,
    r_created_at text, r_state text, r_place text, r_position text, r_ready_at text, r_token text, r_session text,
    r_holder text, r_attempt text, r_ended_at text, r_body text,
    d_change text, d_hash text, d_seq text, d_entered_at text, d_release text, d_stored text, d_content text,
    e_change text, e_id text, e_at text, e_job text, e_kind text, e_by text, e_why text, e_data text
  ) RETURNS text LANGUAGE plpgsql VOLATILE ${BRISK} AS $body$
  DECLARE
    v_now bigint;
    v_jobs text[] := string_to_array(c_job, p_sep, p_null);
    v_expects text[] := string_to_array(c_expect, p_sep, p_null);
    v_fates text[];
    v_whys text[];
    v_at bigint[];
    v_wakes bigint[];
    v_settled bigint[];
    v_met bigint;
    v_redefined bigint;
    v_new bigint;
    v_fresh bigint;
    v_over bigint;
    v_rows bigint;
    v_change record;
    v_is_judged boolean := false;
    v_is_skipping boolean := false;
    v_why text;
  BEGIN
    PERFORM pg_advisory_xact_lock_shared(p_gate);
    LOOP
      BEGIN
        -- The jobs, in order. A row that another one holds for too long is passed over the second time.
        IF v_is_skipping THEN
          SELECT array_agg(l.at), array_agg(l.wake_at), array_agg(l.settled), 0, 1
          INTO v_at, v_wakes, v_settled, v_met, v_redefined FROM (
            SELECT c.at, o.wake_at, o.settled FROM unnest(v_jobs) WITH ORDINALITY AS c(job, at)
            CROSS JOIN LATERAL (
              SELECT j.wake_at, j.settled FROM fleetcron.job j
              WHERE j.fleet = p_fleet AND j.job = c.job LIMIT 1 FOR UPDATE SKIP LOCKED) AS o
            WHERE c.at <= p_count) AS l;
        ELSE
          SELECT array_agg(l.at), array_agg(l.wake_at), array_agg(l.settled), count(*) FILTER (WHERE l.met),
            count(*) FILTER (WHERE l.is_redefined)
          INTO v_at, v_wakes, v_settled, v_met, v_redefined FROM (
            SELECT c.at, o.wake_at, o.settled, o.version = c.expect AS met, o.definition <> c.unsure AS is_redefined
            FROM unnest(v_jobs, v_expects, string_to_array(c_unsure, p_sep, p_null))
              WITH ORDINALITY AS c(job, expect, unsure, at)
            CROSS JOIN LATERAL (
              SELECT j.wake_at, j.settled, j.version, j.definition FROM fleetcron.job j
              WHERE j.fleet = p_fleet AND j.job = c.job LIMIT 1 FOR UPDATE) AS o
            WHERE c.at <= p_count) AS l;
        END IF;
        v_now := fleetcron.clock();
        IF v_now > p_read + p_lease / 10 OR NOT EXISTS (
          SELECT FROM fleetcron.node n WHERE n.fleet = p_fleet AND n.session = p_session AND n.ended_at IS NULL
            AND (n.lease_end >= v_now OR NOT EXISTS (
              SELECT FROM fleetcron.run r WHERE r.holder = p_session AND ('' || r.fleet) = p_fleet)))
        THEN
          RETURN json_build_object('now', v_now, 'expired', true);
        END IF;

        v_fates := NULL;
        v_whys := NULL;
        v_new := p_new;
        v_fresh := p_fresh;
        v_over := p_over;
        IF v_is_judged OR v_is_skipping OR v_met + p_new < p_count OR v_redefined + p_unsure > 0 THEN
          v_fates := array_fill(NULL::text, ARRAY[p_count]);
          v_whys := v_fates;
          FOR v_change IN SELECT * FROM fleetcron.judge(p_fleet, p_sep, p_null, p_count, v_is_judged, v_at, c_id, c_job,
            c_expect, c_unsure, r_change, r_key, r_expect_state, r_expect_token, r_attempt, e_change, e_id)
          LOOP
            v_fates[v_change.at] := v_change.fate;
            v_whys[v_change.at] := v_change.why;
          END LOOP;
          SELECT count(*) INTO v_new FROM unnest(v_expects, v_fates) WITH ORDINALITY AS c(expect, fate, at)
          WHERE c.at <= p_count AND c.fate IS NULL AND c.expect IS NULL;
          SELECT count(*) FILTER (WHERE r.expect IS NULL), count(*) FILTER (WHERE r.expect IS NOT NULL) INTO v_fresh, v_over
          FROM unnest(string_to_array(r_change, p_sep), string_to_array(r_expect_state, p_sep, p_null)) AS r(change, expect)
          WHERE r.change <> '' AND v_fates[nullif(r.change, '')::integer] IS NULL;
        END IF;

        UPDATE fleetcron.job j SET service = c.service, name = c.name, bucket = c.bucket::integer, version = c.id,
          definition = c.definition, waiting = c.waiting::bigint, fate_key = c.fate_key, is_retired = c.retired = '1',
          header = c.header,
          wake_at = CASE WHEN j.settled = c.settled::bigint THEN c.wake_at::bigint ELSE v_now END,
          failures = CASE c.failures WHEN 'reset' THEN 0 WHEN 'count' THEN j.failures + 1 ELSE j.failures END
        FROM unnest(v_jobs, v_expects, v_fates, string_to_array(c_id, p_sep, p_null), string_to_array(c_settled, p_sep, p_null),
          string_to_array(c_service, p_sep, p_null), string_to_array(c_name, p_sep, p_null),
          string_to_array(c_bucket, p_sep, p_null), string_to_array(c_definition, p_sep, p_null),
          string_to_array(c_wake_at, p_sep, p_null), string_to_array(c_waiting, p_sep, p_null),
          string_to_array(c_fate_key, p_sep, p_null), string_to_array(c_failures, p_sep, p_null),
          string_to_array(c_retired, p_sep), string_to_array(c_header, p_sep, p_null)) WITH ORDINALITY AS c(job, expect,
          fate, id, settled, service, name, bucket, definition, wake_at, waiting, fate_key, failures, retired, header, at)
        CROSS JOIN LATERAL (
          SELECT o.ctid FROM fleetcron.job o WHERE o.fleet = p_fleet AND o.job = c.job LIMIT 1) AS old
        WHERE c.at <= p_count AND c.fate IS NULL AND c.expect IS NOT NULL AND j.ctid = old.ctid;
        IF v_new > 0 THEN
          INSERT INTO fleetcron.job (fleet, job, service, name, bucket, version, definition, wake_at, waiting, fate_key,
            settled, failures, succeeded_until, token_floor, is_retired, header)
          SELECT p_fleet, c.job, c.service, c.name, c.bucket::integer, c.id, c.definition,
            CASE WHEN c.settled::bigint = 0 THEN c.wake_at::bigint ELSE v_now END, c.waiting::bigint, c.fate_key,
            0, CASE c.failures WHEN 'count' THEN 1 ELSE 0 END, NULL, 0, c.retired = '1', c.header
          FROM unnest(v_jobs, v_expects, v_fates, string_to_array(c_id, p_sep, p_null),
            string_to_array(c_settled, p_sep, p_null), string_to_array(c_service, p_sep, p_null),
            string_to_array(c_name, p_sep, p_null), string_to_array(c_bucket, p_sep, p_null),
            string_to_array(c_definition, p_sep, p_null), string_to_array(c_wake_at, p_sep, p_null),
            string_to_array(c_waiting, p_sep, p_null), string_to_array(c_fate_key, p_sep, p_null),
            string_to_array(c_failures, p_sep, p_null), string_to_array(c_retired, p_sep),
            string_to_array(c_header, p_sep, p_null)) WITH ORDINALITY AS c(job, expect, fate, id, settled, service, name,
            bucket, definition, wake_at, waiting, fate_key, failures, retired, header, at)
          WHERE c.at <= p_count AND c.fate IS NULL AND c.expect IS NULL
          ORDER BY c.at ON CONFLICT DO NOTHING;
          GET DIAGNOSTICS v_rows = ROW_COUNT;
          IF v_rows < v_new THEN RAISE SQLSTATE 'FC001'; END IF;
        END IF;
        IF v_fresh > 0 THEN
          INSERT INTO fleetcron.run (fleet, job, key, cause, state, lane, place, position, ready_at, token, session,
            holder, attempt_id, stop, created_at, ended_at, body)
          SELECT p_fleet, v_jobs[r.change::integer], r.key, r.cause, r.state, r.lane, r.place = '1', r.position::bigint,
            r.ready_at::bigint, r.token::bigint, r.session, r.holder, r.attempt, r.stop, r.created_at::bigint,
            r.ended_at::bigint, r.body
          FROM unnest(string_to_array(r_change, p_sep), string_to_array(r_key, p_sep, p_null),
            string_to_array(r_expect_state, p_sep, p_null), string_to_array(r_cause, p_sep), string_to_array(r_state, p_sep),
            string_to_array(r_lane, p_sep), string_to_array(r_place, p_sep), string_to_array(r_position, p_sep),
            string_to_array(r_ready_at, p_sep), string_to_array(r_token, p_sep), string_to_array(r_session, p_sep, p_null),
            string_to_array(r_holder, p_sep, p_null), string_to_array(r_attempt, p_sep, p_null),
            string_to_array(r_stop, p_sep, p_null), string_to_array(r_created_at, p_sep),
            string_to_array(r_ended_at, p_sep, p_null), string_to_array(r_body, p_sep)) AS r(change, key, expect, cause,
            state, lane, place, position, ready_at, token, session, holder, attempt, stop, created_at, ended_at, body)
          WHERE r.change <> '' AND r.expect IS NULL AND v_fates[nullif(r.change, '')::integer] IS NULL
          ON CONFLICT DO NOTHING;
          GET DIAGNOSTICS v_rows = ROW_COUNT;
          IF v_rows < v_fresh THEN RAISE SQLSTATE 'FC001'; END IF;
        END IF;
        IF v_over > 0 THEN
          UPDATE fleetcron.run o SET cause = r.cause, state = r.state, lane = r.lane, place = r.place = '1',
            position = r.position::bigint, ready_at = r.ready_at::bigint, token = r.token::bigint, session = r.session,
            holder = r.holder, attempt_id = r.attempt, stop = r.stop, created_at = r.created_at::bigint,
            ended_at = r.ended_at::bigint, body = r.body
          FROM unnest(string_to_array(r_change, p_sep), string_to_array(r_key, p_sep, p_null),
            string_to_array(r_expect_state, p_sep, p_null), string_to_array(r_expect_token, p_sep, p_null),
            string_to_array(r_cause, p_sep), string_to_array(r_state, p_sep),
            string_to_array(r_lane, p_sep), string_to_array(r_place, p_sep), string_to_array(r_position, p_sep),
            string_to_array(r_ready_at, p_sep), string_to_array(r_token, p_sep), string_to_array(r_session, p_sep, p_null),
            string_to_array(r_holder, p_sep, p_null), string_to_array(r_attempt, p_sep, p_null),
            string_to_array(r_stop, p_sep, p_null), string_to_array(r_created_at, p_sep),
            string_to_array(r_ended_at, p_sep, p_null), string_to_array(r_body, p_sep)) AS r(change, key, expect_state,
            expect_token, cause, state, lane, place, position, ready_at, token, session, holder, attempt, stop, created_at,
            ended_at, body)
          CROSS JOIN LATERAL (
            SELECT x.ctid FROM fleetcron.run x
            WHERE x.fleet = p_fleet AND x.job = v_jobs[nullif(r.change, '')::integer] AND x.key = r.key LIMIT 1) AS old
          WHERE r.change <> '' AND r.expect_state IS NOT NULL AND v_fates[nullif(r.change, '')::integer] IS NULL
            AND o.ctid = old.ctid AND o.state = r.expect_state AND o.token = r.expect_token::bigint;
          GET DIAGNOSTICS v_rows = ROW_COUNT;
          IF v_rows < v_over THEN RAISE SQLSTATE 'FC001'; END IF;
        END IF;
        IF d_change <> '' THEN
          INSERT INTO fleetcron.definition AS o (fleet, job, hash, seq, entered_at, release, is_stored, content)
          SELECT p_fleet, v_jobs[d.change::integer], d.hash, d.seq::bigint, d.entered_at::bigint, d.release,
            d.stored = '1', d.content
          FROM unnest(string_to_array(d_change, p_sep), string_to_array(d_hash, p_sep, p_null),
            string_to_array(d_seq, p_sep), string_to_array(d_entered_at, p_sep), string_to_array(d_release, p_sep, p_null),
            string_to_array(d_stored, p_sep), string_to_array(d_content, p_sep))
            AS d(change, hash, seq, entered_at, release, stored, content)
          WHERE d.change <> '' AND v_fates[nullif(d.change, '')::integer] IS NULL
          ON CONFLICT (fleet, job, hash) DO UPDATE SET seq = excluded.seq, entered_at = excluded.entered_at,
            release = excluded.release, is_stored = excluded.is_stored, content = excluded.content;
        END IF;
        IF e_change <> '' THEN
          SELECT count(*) INTO v_new FROM unnest(string_to_array(e_change, p_sep)) AS e(change)
          WHERE e.change <> '' AND v_fates[nullif(e.change, '')::integer] IS NULL;
          INSERT INTO fleetcron.event (fleet, id, at, job, kind, by, why, data)
          SELECT p_fleet, e.id, e.at::bigint, e.job, e.kind, e.by, e.why, e.data
          FROM unnest(string_to_array(e_change, p_sep), string_to_array(e_id, p_sep, p_null),
            string_to_array(e_at, p_sep), string_to_array(e_job, p_sep, p_null), string_to_array(e_kind, p_sep),
            string_to_array(e_by, p_sep, p_null), string_to_array(e_why, p_sep, p_null),
            string_to_array(e_data, p_sep, p_null)) AS e(change, id, at, job, kind, by, why, data)
          WHERE e.change <> '' AND v_fates[nullif(e.change, '')::integer] IS NULL
          ORDER BY e.id COLLATE "C" ON CONFLICT DO NOTHING;
          GET DIAGNOSTICS v_rows = ROW_COUNT;
          IF v_rows < v_new THEN RAISE SQLSTATE 'FC001'; END IF;
        END IF;
        RETURN json_build_object('now', v_now, 'expired', false, 'fates', v_fates, 'whys', v_whys, 'at', v_at,
          'wakes', v_wakes, 'settled', v_settled);
      EXCEPTION
        WHEN SQLSTATE 'FC001' OR unique_violation THEN
          IF v_is_judged THEN RETURN json_build_object('now', v_now, 'expired', false, 'again', ''); END IF;
          v_is_judged := true;
        WHEN lock_not_available THEN
          IF v_is_skipping THEN RETURN json_build_object('now', fleetcron.clock(), 'expired', false, 'again', ''); END IF;
          v_is_skipping := true;
        WHEN data_exception OR integrity_constraint_violation OR program_limit_exceeded THEN
          RETURN json_build_object('now', v_now, 'expired', false, 'again', SQLERRM);
      END;
    END LOOP;
  END $body$;
`

/** The fates of changes that may not be applied, in the order of the guards; \`p_is_full\`: not by the jobs' rows alone. */
export const JUDGE = `
  CREATE FUNCTION fleetcron.judge(
    p_fleet text, p_sep text, p_null text, p_count integer, p_is_full boolean, p_locked bigint[],
    c_id text, c_job text, c_expect text, c_unsure text,
    r_change text, r_key text, r_expect_state text, r_expect_token text, r_attempt text,
    e_change text, e_id text
  ) RETURNS TABLE (at bigint, fate text, why text) LANGUAGE plpgsql VOLATILE AS $body$
  BEGIN
    RETURN QUERY
    SELECT c.at, f.fate, f.why
    FROM unnest(string_to_array(c_id, p_sep, p_null), string_to_array(c_job, p_sep, p_null),
      string_to_array(c_expect, p_sep, p_null), string_to_array(c_unsure, p_sep, p_null))
      WITH ORDINALITY AS c(id, job, expect, unsure, at)
    LEFT JOIN LATERAL (
      SELECT o.version, o.definition FROM fleetcron.job o WHERE o.fleet = p_fleet AND o.job = c.job LIMIT 1) AS j ON true
    CROSS JOIN LATERAL (
      SELECT 'won' AS fate, NULL AS why WHERE j.version = c.id
      UNION ALL
      SELECT 'stale', NULL WHERE j.version IS DISTINCT FROM c.expect OR (j.version IS NOT NULL
        AND c.at <> ALL (coalesce(p_locked, '{}')))
      UNION ALL
      SELECT 'clash', json_agg(x.key ORDER BY x.part, x.n)::text FROM (
        SELECT 0 AS part, r.n, r.key
        FROM unnest(string_to_array(r_change, p_sep), string_to_array(r_key, p_sep, p_null),
          string_to_array(r_expect_state, p_sep, p_null)) WITH ORDINALITY AS r(change, key, expect, n)
        CROSS JOIN LATERAL (
          SELECT FROM fleetcron.run x WHERE x.fleet = p_fleet AND x.job = c.job AND x.key = r.key LIMIT 1) AS o
        WHERE p_is_full AND r.change = c.at::text AND r.expect IS NULL
        UNION ALL
        SELECT 1, e.n, e.id
        FROM unnest(string_to_array(e_change, p_sep), string_to_array(e_id, p_sep, p_null)) WITH ORDINALITY AS e(change, id, n)
        CROSS JOIN LATERAL (SELECT FROM fleetcron.event x WHERE x.fleet = p_fleet AND x.id = e.id LIMIT 1) AS o
        WHERE p_is_full AND e.change = c.at::text) AS x HAVING count(*) > 0
      UNION ALL
      SELECT 'stale', NULL
      FROM unnest(string_to_array(r_change, p_sep), string_to_array(r_key, p_sep, p_null),
        string_to_array(r_expect_state, p_sep, p_null), string_to_array(r_expect_token, p_sep, p_null))
        AS r(change, key, expect_state, expect_token)
      LEFT JOIN LATERAL (
        SELECT x.state, x.token FROM fleetcron.run x
        WHERE x.fleet = p_fleet AND x.job = c.job AND x.key = r.key LIMIT 1) AS o ON true
      WHERE p_is_full AND r.change = c.at::text AND r.expect_state IS NOT NULL
        AND (o.state IS DISTINCT FROM r.expect_state OR o.token IS DISTINCT FROM r.expect_token::bigint)
      UNION ALL
      SELECT 'refused',
        format('The job %s would follow the definition %s, which the store does not know.', c.job, c.unsure)
      WHERE c.unsure IS NOT NULL AND c.unsure IS DISTINCT FROM j.definition AND NOT EXISTS (
        SELECT FROM fleetcron.definition d WHERE d.fleet = p_fleet AND d.job = c.job AND d.hash = c.unsure OFFSET 0)
      UNION ALL
      SELECT 'refused', format('The attempt %s already belongs to the run %s of %s.', r.attempt, o.key, o.job)
      FROM unnest(string_to_array(r_change, p_sep), string_to_array(r_key, p_sep, p_null),
        string_to_array(r_attempt, p_sep, p_null)) AS r(change, key, attempt)
      CROSS JOIN LATERAL (
        SELECT x.job, x.key FROM fleetcron.run x WHERE x.attempt_id = r.attempt AND ('' || x.fleet) = p_fleet LIMIT 1) AS o
      WHERE p_is_full AND r.change = c.at::text AND (o.job <> c.job OR o.key <> r.key)
      LIMIT 1) AS f
    WHERE c.at <= p_count;
  END $body$;
`
