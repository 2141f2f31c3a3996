/**
 * The tables. Names are bytes, VARBINARY: they are compared and put in order byte by byte, spaces at their end count, and no
 * collation, character set or sql_mode of anybody's has a say. Instants are integers, epoch milliseconds. JSON is text that is
 * opaque to the database and comes back letter for letter; a name that is too long for its column (see literal.ts) stands
 * there in full.
 *
 * Each way to look something up has one index, which the statements name: what the optimizer makes of a table that was empty a
 * moment ago is not left to it. `live_job` is the job of a run that has not ended, `holder` the session of one that is
 * running.
 */
const NAME = 'VARBINARY(768)'
const JSON_TEXT = 'LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin'
/** Said in full: a server may have other defaults, and replace an engine that it does not know without a word. */
const TABLE = `ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='fleetcron'`

const JOB = `
  CREATE TABLE IF NOT EXISTS fleetcron_job (
    fleet ${NAME} NOT NULL, job ${NAME} NOT NULL, service ${NAME} NOT NULL, bucket INT NOT NULL,
    version VARBINARY(4096) NOT NULL, definition ${NAME} NOT NULL, wake_at BIGINT NULL, waiting BIGINT NOT NULL,
    fate_key ${NAME} NULL, retired TINYINT NOT NULL, settled BIGINT NOT NULL, failures BIGINT NOT NULL,
    succeeded_until BIGINT NULL, token_floor BIGINT NOT NULL, header ${JSON_TEXT} NOT NULL,
    PRIMARY KEY (fleet, job),
    INDEX job_wake (fleet, service, wake_at, job, bucket),
    INDEX job_retired (fleet, retired, job)
  ) ${TABLE}`

const RUN = `
  CREATE TABLE IF NOT EXISTS fleetcron_run (
    fleet ${NAME} NOT NULL, job ${NAME} NOT NULL, run_key ${NAME} NOT NULL, cause VARBINARY(16) NOT NULL,
    state VARBINARY(16) NOT NULL, lane VARBINARY(16) NOT NULL, place TINYINT NOT NULL, position BIGINT NOT NULL,
    token BIGINT NOT NULL, live_job ${NAME} NULL, holder ${NAME} NULL, attempt ${NAME} NULL,
    settled_by VARBINARY(1024) NULL, stop ${JSON_TEXT} NULL, created_at BIGINT NOT NULL, ended_at BIGINT NULL,
    body ${JSON_TEXT} NOT NULL,
    PRIMARY KEY (fleet, job, run_key),
    UNIQUE INDEX run_attempt (fleet, attempt),
    INDEX run_holder (fleet, holder),
    INDEX run_live (fleet, live_job, place, lane, position, run_key),
    INDEX run_ended (fleet, ended_at),
    INDEX run_created (fleet, created_at, run_key, job),
    INDEX run_job_created (fleet, job, created_at, run_key)
  ) ${TABLE}`

const DEFINITION = `
  CREATE TABLE IF NOT EXISTS fleetcron_definition (
    fleet ${NAME} NOT NULL, job ${NAME} NOT NULL, hash ${NAME} NOT NULL, seq BIGINT NOT NULL, entered_at BIGINT NOT NULL,
    has_handler TINYINT NOT NULL, body ${JSON_TEXT} NOT NULL,
    PRIMARY KEY (fleet, job, hash),
    INDEX definition_seq (fleet, seq)
  ) ${TABLE}`

const NODE = `
  CREATE TABLE IF NOT EXISTS fleetcron_node (
    seq BIGINT NOT NULL AUTO_INCREMENT, fleet ${NAME} NOT NULL, session ${NAME} NOT NULL, node ${NAME} NOT NULL,
    beats BIGINT NOT NULL, room TINYINT NOT NULL, started_at BIGINT NOT NULL, seen_at BIGINT NOT NULL,
    lease_end BIGINT NOT NULL, ended_at BIGINT NULL, manifest_id VARBINARY(64) NOT NULL, said ${JSON_TEXT} NOT NULL,
    manifest ${JSON_TEXT} NOT NULL,
    PRIMARY KEY (fleet, session),
    UNIQUE INDEX node_seq (seq),
    INDEX node_live (fleet, ended_at, lease_end),
    INDEX node_seen (fleet, seen_at),
    INDEX node_sessions (fleet, node, seq)
  ) ${TABLE}`

const EVENT = `
  CREATE TABLE IF NOT EXISTS fleetcron_event (
    fleet ${NAME} NOT NULL, id ${NAME} NOT NULL, at BIGINT NOT NULL, job ${NAME} NOT NULL, kind VARBINARY(16) NOT NULL,
    body ${JSON_TEXT} NOT NULL,
    PRIMARY KEY (fleet, id),
    INDEX event_at (fleet, at, id),
    INDEX event_job (fleet, job, at, id)
  ) ${TABLE}`

export const TABLES: readonly string[] = [JOB, RUN, DEFINITION, NODE, EVENT]

/** What the schema is known by; the first table that is made, and the last word once a step is done. */
export const META: readonly string[] = [
  `CREATE TABLE IF NOT EXISTS fleetcron_meta (name VARBINARY(64) NOT NULL PRIMARY KEY, value VARBINARY(255) NOT NULL) ${TABLE}`,
  `INSERT IGNORE INTO fleetcron_meta (name, value) VALUES ('schema', '0'), ('incarnation', UUID())`,
]

/** Names of the tables, without what stands before them. */
export const TABLE_NAMES = ['meta', 'job', 'run', 'definition', 'node', 'event'] as const
