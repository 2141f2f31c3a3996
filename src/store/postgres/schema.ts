import { FleetcronError } from '../../errors.js'
import type { Migration } from '../migration.js'
import { literal } from './columns.js'
import { COMMIT, JUDGE } from './commit-statements.js'
import { codeOf, type PostgresClient } from './driver.js'
import { inSchema, lockKey, quotedSchema } from './names.js'
import { EVENTS, JOBS, PRUNE, RUNS } from './people-statements.js'
import type { Server } from './server.js'
import { AGGREGATES, CLOCK, INCARNATION, NEXT_END, NEXT_WAKE, RUN_ROW, WHICH } from './shared-statements.js'
import { ATTEND, BEAT, LOAD, SETTLE } from './statements.js'
import { TABLES } from './tables.js'

/**
 * The schema, as numbered steps. A step that was released never changes; a patch release adds none, a minor one only adds
 * tables, columns, indexes and functions of new names that older nodes can leave alone.
 */
export const STEPS: readonly string[] = [
  [
    TABLES,
    CLOCK,
    INCARNATION,
    WHICH,
    RUN_ROW,
    AGGREGATES,
    NEXT_WAKE,
    NEXT_END,
    ATTEND,
    LOAD,
    JUDGE,
    COMMIT,
    SETTLE,
    BEAT,
    JOBS,
    RUNS,
    EVENTS,
    PRUNE,
  ].join('\n'),
]

const META = `
  CREATE TABLE fleetcron.meta (name text PRIMARY KEY, value text NOT NULL);
  INSERT INTO fleetcron.meta (name, value) VALUES ('schema', '0'), ('incarnation', gen_random_uuid());
`

const READ_META = `SELECT name, value FROM fleetcron.meta WHERE name IN ('schema', 'incarnation', 'compatible')`

/** The oldest version of this list whose release works with the ledger that the newest one makes. */
const COMPATIBLE = 1

/** What is run for a schema that has the first \`from\` steps; null: for a database without it. */
function upgrade(quoted: string, from: number | null, steps: readonly string[], compatible: number): string {
  const missing = from === null ? [META, ...steps] : steps.slice(from)
  const mark = `UPDATE fleetcron.meta SET value = ${literal(String(steps.length))} WHERE name = 'schema';`
  const oldest = `
    INSERT INTO fleetcron.meta (name, value) VALUES ('compatible', ${literal(String(compatible))})
    ON CONFLICT (name) DO UPDATE SET value = excluded.value;`
  return inSchema([...missing, mark, oldest].join('\n'), quoted)
}

/**
 * The SQL that makes the ledger's schema, or brings it up from a version, in one transaction: for databases that only
 * their administrators may change. Run it as the user that fleetcron connects as, or grant that user all on the schema.
 *
 * @param from version found in the database; null: there is none yet
 */
export function postgresMigration(schema = 'fleetcron', from: number | null = null): string {
  const quoted = quotedSchema(schema)
  const create = from === null ? `CREATE SCHEMA IF NOT EXISTS ${quoted};\n` : ''
  return `BEGIN;\n${create}${upgrade(quoted, from, STEPS, COMPATIBLE)}\nCOMMIT;\n`
}

export interface MigrateOptions {
  readonly schema: string
  readonly autoMigrate: boolean
  readonly steps?: readonly string[]
  readonly compatible?: number
}

/** Creates, upgrades or verifies the schema, with any number of others doing the same. */
export async function migrate(server: Server, options: MigrateOptions): Promise<void> {
  const { schema, steps = STEPS } = options
  const found = await server.use((client) => version(client, schema, server.place))
  throwIfNewer(server.place, found, steps.length)
  if (found !== null && found.schema >= steps.length) return
  if (!options.autoMigrate) throw unmigrated(server.place, found?.schema ?? null, steps.length)
  await server.use((client) => migrateOn(client, server.place, options), MIGRATION_MS)
}

/** What the database holds and what it lacks. */
export async function migration(server: Server, schema: string): Promise<Migration> {
  const found = await server.use((client) => version(client, schema, server.place))
  const from = found?.schema ?? null
  const isThere = from !== null && from >= STEPS.length
  return { from, to: STEPS.length, sql: isThere ? '' : postgresMigration(schema, from) }
}

const MIGRATION_MS = 60_000

async function migrateOn(client: PostgresClient, place: string, options: MigrateOptions): Promise<void> {
  const { schema, steps = STEPS, compatible = COMPATIBLE } = options
  const quoted = quotedSchema(schema)
  // A process that is stopped in here holds up nobody for long: the server ends its transaction.
  await client.query(
    'BEGIN ISOLATION LEVEL READ COMMITTED; ' +
      `SET LOCAL statement_timeout = ${MIGRATION_MS / 2}; SET LOCAL idle_in_transaction_session_timeout = 10000; ` +
      `SELECT pg_advisory_xact_lock(${lockKey('schema', schema)})`,
  )
  try {
    const found = await version(client, schema, place)
    throwIfNewer(place, found, steps.length)
    const hasSchema = await exists(client, `SELECT FROM pg_namespace WHERE nspname = ${literal(schema)}`)
    if (!hasSchema) await client.query(`CREATE SCHEMA ${quoted}`)
    const from = found?.schema ?? null
    if (from === null || from < steps.length) await client.query(upgrade(quoted, from, steps, compatible))
    await client.query('COMMIT')
  } catch (error) {
    await client.query('ROLLBACK').catch(() => undefined)
    throw foreign(error, place, schema) ?? error
  }
}

interface Version {
  readonly schema: number
  /** The oldest version whose release works with it. */
  readonly oldest: number
}

/** The version of the schema; null where there is none. */
async function version(client: PostgresClient, schema: string, place: string): Promise<Version | null> {
  const quoted = quotedSchema(schema)
  const hasMeta = await exists(
    client,
    `SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE n.nspname = ${literal(schema)} AND c.relname = 'meta'`,
  )
  if (!hasMeta) return null
  try {
    const { rows } = (await client.query(inSchema(READ_META, quoted))) as { rows: { name: string; value: string }[] }
    const values = new Map(rows.map((row) => [row.name, row.value]))
    const found = Number(values.get('schema'))
    const oldest = Number(values.get('compatible') ?? found)
    if (values.has('incarnation') && Number.isInteger(found)) return { schema: found, oldest }
  } catch (error) {
    if (codeOf(error) !== '42703') throw error
  }
  throw notOurs(place, schema, 'meta')
}

/**
 * Asks the catalog's tables. The functions that look up a name, such as to_regclass, may answer from a cache of the time
 * before a lock was waited for.
 */
async function exists(client: PostgresClient, sql: string): Promise<boolean> {
  const { rows } = (await client.query(`SELECT EXISTS (${sql}) AS found`)) as { rows: [{ found: boolean }] }
  return rows[0].found
}

/** A newer schema that only added serves this version too. */
function throwIfNewer(place: string, found: Version | null, known: number): void {
  if (found === null || found.schema <= known || found.oldest <= known) return
  throw new FleetcronError(
    'STORE_NEWER',
    `The ledger ${place} has schema ${found.schema}, and this version of fleetcron knows schema ${known}: ` +
      'upgrade fleetcron on this node.',
  )
}

function unmigrated(place: string, found: number | null, known: number): FleetcronError {
  return new FleetcronError(
    'STORE_UNAVAILABLE',
    `The ledger ${place} has ${found === null ? 'no schema yet' : `schema ${found}`}, this version of fleetcron needs schema ${known}, and ` +
      'it is only verified here: run the SQL of fleetcron migrate --print.',
  )
}

/** Something of another kind bears a name of the ledger's. */
function foreign(error: unknown, place: string, schema: string): FleetcronError | null {
  if (codeOf(error) !== '42P07' && codeOf(error) !== '42723') return null
  const [, name = 'something'] = /(?:relation|function) "([^"(]+)/.exec(String(error)) ?? []
  return notOurs(place, schema, name)
}

function notOurs(place: string, schema: string, name: string): FleetcronError {
  return new FleetcronError(
    'STORE_UNAVAILABLE',
    `The schema ${schema} of ${place} already has a table or function named ${name} that is not the ledger's: ` +
      'give the ledger a schema of its own.',
  )
}
