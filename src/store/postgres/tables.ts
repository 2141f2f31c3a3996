import { KEPT_DEFINITIONS } from '../retention.js'

/**
 * The tables, with the columns that the SQLite ledger has. Text that is compared or put in order has the collation "C":
 * its order is that of its bytes, the same on every server and the one that pages go by. Instants are integers, epoch
 * milliseconds. What JSON holds is opaque to the database, and kept as text so that it comes back letter for letter.
 *
 * A table is empty when the first plans are made, and then every index is worth the same to the planner: which one it takes,
 * and keeps, must not be left to it. So each way to look something up has columns or expressions that no other index has:
 * - a run by its key: `fleet, job, key`, which stand in the primary key alone;
 * - a session's running runs: `holder`, the session while the run is running;
 * - a job's live runs: `live_fleet, live_job`, fleet and job while the run has not ended;
 * - a run by its last attempt: `attempt_id`;
 * - pages for people: `(fleet || '')` and its likes, which are the same text and another expression.
 * What else a row has to be is asked in a form that no index has, `('' || fleet)`.
 *
 * Vacuum does not give back the end of a table: to do so it locks the table, and a commit waits for nothing that long.
 */
export const TABLES = `
  CREATE TABLE fleetcron.job (
    fleet text COLLATE "C" NOT NULL, job text COLLATE "C" NOT NULL, service text COLLATE "C" NOT NULL, name text NOT NULL,
    bucket integer NOT NULL, version text NOT NULL, definition text COLLATE "C" NOT NULL, wake_at bigint,
    waiting bigint NOT NULL, fate_key text COLLATE "C", settled bigint NOT NULL, failures bigint NOT NULL,
    succeeded_until bigint, token_floor bigint NOT NULL, is_retired boolean NOT NULL, header text NOT NULL,
    PRIMARY KEY (fleet, job)
  ) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0, vacuum_truncate = false);
  CREATE INDEX job_wake ON fleetcron.job (fleet, service, wake_at, job, bucket) WHERE wake_at IS NOT NULL;
  CREATE INDEX job_retired ON fleetcron.job ((fleet || ''), (job || '')) WHERE is_retired;

  CREATE TABLE fleetcron.run (
    fleet text COLLATE "C" NOT NULL, job text COLLATE "C" NOT NULL, key text COLLATE "C" NOT NULL, cause text NOT NULL,
    state text NOT NULL, lane text COLLATE "C" NOT NULL, place boolean NOT NULL, position bigint NOT NULL,
    ready_at bigint NOT NULL, token bigint NOT NULL, session text COLLATE "C", holder text COLLATE "C",
    attempt_id text COLLATE "C", settled_by text[], stop text, created_at bigint NOT NULL, ended_at bigint,
    body text NOT NULL,
    live_fleet text COLLATE "C" GENERATED ALWAYS AS (CASE WHEN ended_at IS NULL THEN fleet END) STORED,
    live_job text COLLATE "C" GENERATED ALWAYS AS (CASE WHEN ended_at IS NULL THEN job END) STORED,
    PRIMARY KEY (fleet, job, key)
  ) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05, vacuum_truncate = false);
  CREATE UNIQUE INDEX run_attempt ON fleetcron.run (attempt_id, fleet) WHERE attempt_id IS NOT NULL;
  CREATE INDEX run_holder ON fleetcron.run (holder) WHERE holder IS NOT NULL;
  CREATE INDEX run_live ON fleetcron.run (live_fleet, live_job, place, lane, position, key) WHERE live_job IS NOT NULL;
  CREATE INDEX run_ended ON fleetcron.run ((fleet || ''), ended_at) WHERE ended_at IS NOT NULL;
  CREATE INDEX run_created ON fleetcron.run ((fleet || ''), created_at, (key || ''), (job || ''));
  CREATE INDEX run_job_created ON fleetcron.run ((fleet || ''), (job || ''), created_at, (key || ''));

  CREATE TABLE fleetcron.definition (
    fleet text COLLATE "C" NOT NULL, job text COLLATE "C" NOT NULL, hash text COLLATE "C" NOT NULL, seq bigint NOT NULL,
    entered_at bigint NOT NULL, release text, is_stored boolean NOT NULL, content text NOT NULL,
    PRIMARY KEY (fleet, job, hash)
  );
  CREATE INDEX definition_many ON fleetcron.definition ((fleet || ''), (job || '')) WHERE seq > ${KEPT_DEFINITIONS};

  CREATE TABLE fleetcron.node (
    seq bigint GENERATED ALWAYS AS IDENTITY, fleet text COLLATE "C" NOT NULL, session text COLLATE "C" NOT NULL,
    node text COLLATE "C" NOT NULL, label text NOT NULL, services text NOT NULL, attends boolean NOT NULL,
    room boolean NOT NULL, zone_data text NOT NULL, release text, manifest_id text NOT NULL, started_at bigint NOT NULL,
    seen_at bigint NOT NULL, lease_end bigint NOT NULL, ended_at bigint, manifest text NOT NULL,
    PRIMARY KEY (fleet, session)
  ) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.1, autovacuum_vacuum_threshold = 200, vacuum_truncate = false);
  CREATE INDEX node_live ON fleetcron.node (fleet, lease_end) WHERE ended_at IS NULL;
  CREATE INDEX node_ended ON fleetcron.node (fleet, session) WHERE ended_at IS NOT NULL;
  CREATE INDEX node_seen ON fleetcron.node (fleet, seen_at);
  CREATE INDEX node_sessions ON fleetcron.node (fleet, node, seq);

  CREATE TABLE fleetcron.event (
    fleet text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL, at bigint NOT NULL, job text COLLATE "C" NOT NULL,
    kind text NOT NULL, by text NOT NULL, why text, data text,
    PRIMARY KEY (fleet, id)
  );
  CREATE INDEX event_at ON fleetcron.event ((fleet || ''), at, (id || ''));
  CREATE INDEX event_job ON fleetcron.event ((fleet || ''), job, at, (id || ''));
`
