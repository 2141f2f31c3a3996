import { randomUUID } from 'node:crypto'
import { FleetcronError } from '../../errors.js'
import type { Migration } from '../migration.js'
import type { Connection } from './connection.js'

/**
 * The schema, as numbered steps. A step that was released never changes; a patch release adds none, a minor one only adds
 * tables, columns and indexes that older nodes can leave alone. Instants are integers, epoch milliseconds.
 */
export const STEPS: readonly string[] = [
  `
  CREATE TABLE job (
    fleet TEXT NOT NULL, job TEXT NOT NULL, service TEXT NOT NULL, name TEXT NOT NULL, bucket INTEGER NOT NULL,
    version TEXT NOT NULL, definition TEXT NOT NULL, wake_at INTEGER, waiting INTEGER NOT NULL, fate_key TEXT,
    settled INTEGER NOT NULL, failures INTEGER NOT NULL, succeeded_until INTEGER, token_floor INTEGER NOT NULL,
    header TEXT NOT NULL,
    PRIMARY KEY (fleet, job)
  ) STRICT;
  CREATE INDEX job_wake ON job (fleet, service, wake_at, job, bucket) WHERE wake_at IS NOT NULL;
  CREATE INDEX job_asleep ON job (fleet, job) WHERE wake_at IS NULL;

  CREATE TABLE run (
    fleet TEXT NOT NULL, job TEXT NOT NULL, key TEXT NOT NULL, cause TEXT NOT NULL, state TEXT NOT NULL,
    lane TEXT NOT NULL, place INTEGER NOT NULL, position INTEGER NOT NULL, ready_at INTEGER NOT NULL,
    token INTEGER NOT NULL, session TEXT, attempt_id TEXT, settled_by TEXT, stop TEXT,
    created_at INTEGER NOT NULL, ended_at INTEGER, body TEXT NOT NULL,
    PRIMARY KEY (fleet, job, key)
  ) STRICT;
  CREATE UNIQUE INDEX run_attempt ON run (fleet, attempt_id) WHERE attempt_id IS NOT NULL;
  CREATE INDEX run_running ON run (fleet, session) WHERE state = 'running';
  CREATE INDEX run_placed ON run (fleet, job, position, key) WHERE place = 1;
  CREATE INDEX run_waiting ON run (fleet, job, lane, position, key) WHERE state = 'queued' AND place = 0;
  CREATE INDEX run_ended ON run (fleet, ended_at) WHERE ended_at IS NOT NULL;
  CREATE INDEX run_created ON run (fleet, created_at, key, job);
  CREATE INDEX run_job_created ON run (fleet, job, created_at, key);

  CREATE TABLE definition (
    fleet TEXT NOT NULL, job TEXT NOT NULL, hash TEXT NOT NULL, seq INTEGER NOT NULL, entered_at INTEGER NOT NULL,
    release TEXT, content TEXT NOT NULL,
    PRIMARY KEY (fleet, job, hash)
  ) STRICT;
  CREATE INDEX definition_many ON definition (fleet, job) WHERE seq > 100;

  CREATE TABLE node (
    seq INTEGER PRIMARY KEY, fleet TEXT NOT NULL, session TEXT NOT NULL, node TEXT NOT NULL, label TEXT NOT NULL,
    services TEXT NOT NULL, attends INTEGER NOT NULL, room INTEGER NOT NULL, zone_data TEXT NOT NULL, release TEXT,
    manifest_id TEXT NOT NULL, started_at INTEGER NOT NULL, seen_at INTEGER NOT NULL, lease_end INTEGER NOT NULL,
    ended_at INTEGER, manifest TEXT NOT NULL,
    UNIQUE (fleet, session)
  ) STRICT;
  CREATE INDEX node_live ON node (fleet, lease_end) WHERE ended_at IS NULL;
  CREATE INDEX node_ended ON node (fleet, session) WHERE ended_at IS NOT NULL;
  CREATE INDEX node_seen ON node (fleet, seen_at);
  CREATE INDEX node_sessions ON node (fleet, node, seq);

  CREATE TABLE event (
    fleet TEXT NOT NULL, id TEXT NOT NULL, at INTEGER NOT NULL, job TEXT NOT NULL, kind TEXT NOT NULL,
    by TEXT NOT NULL, why TEXT, data TEXT,
    PRIMARY KEY (fleet, id)
  ) STRICT;
  CREATE INDEX event_at ON event (fleet, at, id);
  CREATE INDEX event_job ON event (fleet, job, at, id);

  CREATE TABLE wake (
    fleet TEXT NOT NULL, bucket INTEGER NOT NULL, seq INTEGER NOT NULL,
    PRIMARY KEY (fleet, bucket)
  ) STRICT;
  CREATE INDEX wake_seq ON wake (fleet, seq);
  `,
]

const HAS_META = `SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'meta'`
const CREATE_META = 'CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT'
const READ_META = 'SELECT value FROM meta WHERE name = @name'
const WRITE_META = `
  INSERT INTO meta (name, value) VALUES (@name, @value) ON CONFLICT (name) DO UPDATE SET value = excluded.value`

/** The oldest version of this list whose release works with the ledger that the newest one makes. */
export const COMPATIBLE = 1

export interface MigrateOptions {
  /** False: only verify. */
  readonly autoMigrate?: boolean
  readonly steps?: readonly string[]
  readonly compatible?: number
}

/** Creates, upgrades or verifies the schema in one transaction, and gives the incarnation. */
export async function migrate(connection: Connection, options: MigrateOptions = {}): Promise<string> {
  const { autoMigrate = true, steps = STEPS, compatible = COMPATIBLE } = options
  const known = steps.length
  return connection.write(() => {
    const before = versionOf(connection)
    if (!autoMigrate && (before === null || before.schema < known)) throw unmigrated(connection.path, before, known)
    if (before === null) {
      connection.exec(CREATE_META)
      connection.run(WRITE_META, { name: 'schema', value: '0' })
      connection.run(WRITE_META, { name: 'incarnation', value: randomUUID() })
    }
    const { schema: found, oldest } = before ?? { schema: 0, oldest: 0 }
    if (found > known && oldest > known) throw newer(connection.path, found, known)
    for (const step of steps.slice(found)) applyStep(connection, step)
    // Written also where nothing changes: a ledger that cannot be written says so when it is opened.
    connection.run(WRITE_META, { name: 'schema', value: String(Math.max(found, known)) })
    if (found < known) connection.run(WRITE_META, { name: 'compatible', value: String(compatible) })
    return readMeta(connection, 'incarnation') ?? ''
  })
}

/** What the file holds and what it lacks, as SQL for the sqlite3 command. */
export async function migration(connection: Connection, steps = STEPS): Promise<Migration> {
  const before = await connection.read(() => versionOf(connection))
  const from = before?.schema ?? null
  if (from !== null && from > steps.length) return { from, to: steps.length, sql: '' }
  return { from, to: steps.length, sql: from === steps.length ? '' : sqliteMigration(from, steps) }
}

/**
 * The SQL that makes the ledger's schema in a file, or brings it up from a version, in one transaction.
 *
 * @param from version found in the file; null: there is none yet
 */
export function sqliteMigration(from: number | null = null, steps: readonly string[] = STEPS): string {
  const meta = `${CREATE_META};\n  INSERT INTO meta (name, value) VALUES ('incarnation', lower(hex(randomblob(16))));`
  const put = (name: string, value: number) =>
    `INSERT INTO meta (name, value) VALUES ('${name}', '${value}') ON CONFLICT (name) DO UPDATE SET value = excluded.value;`
  const parts = [...(from === null ? [`  ${meta}`] : []), ...steps.slice(from ?? 0)]
  const marks = [put('schema', steps.length), put('compatible', COMPATIBLE)]
  return `BEGIN IMMEDIATE;\n${[...parts, ...marks].join('\n')}\nCOMMIT;\n`
}

/** The version found, and the oldest one whose release works with it; null: there is no ledger yet. */
function versionOf(connection: Connection): { readonly schema: number; readonly oldest: number } | null {
  if (connection.get(HAS_META, {}) === undefined) return null
  const schema = Number(readMeta(connection, 'schema'))
  const isOurs = Number.isInteger(schema) && readMeta(connection, 'incarnation') !== null
  if (!isOurs) throw foreign(connection.path, 'meta')
  return { schema, oldest: Number(readMeta(connection, 'compatible') ?? schema) }
}

function readMeta(connection: Connection, name: string): string | null {
  try {
    return connection.get<{ value: string }>(READ_META, { name })?.value ?? null
  } catch (cause) {
    if (/no such column/.test(String(cause))) throw foreign(connection.path, 'meta')
    throw cause
  }
}

function applyStep(connection: Connection, step: string): void {
  try {
    connection.exec(step)
  } catch (cause) {
    const [, table] = /table (\w+) already exists/.exec(String(cause)) ?? []
    if (table) throw foreign(connection.path, table)
    throw cause
  }
}

function foreign(path: string, table: string): FleetcronError {
  return new FleetcronError(
    'STORE_UNAVAILABLE',
    `The file ${path} already has a table named ${table} that is not the ledger's: give the ledger a file of its own.`,
  )
}

function newer(path: string, found: number, known: number): FleetcronError {
  return new FleetcronError(
    'STORE_NEWER',
    `The ledger ${path} has schema ${found}, and this version of fleetcron knows schema ${known}: ` +
      'upgrade fleetcron on this node.',
  )
}

function unmigrated(path: string, before: { readonly schema: number } | null, known: number): FleetcronError {
  const found = before === null ? 'no schema yet' : `schema ${before.schema}`
  return new FleetcronError(
    'STORE_UNAVAILABLE',
    `The ledger ${path} has ${found}, this version of fleetcron needs schema ${known}, and it is only verified here: ` +
      `run fleetcron migrate --store sqlite:${path}.`,
  )
}
