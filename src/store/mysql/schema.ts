import { FleetcronError } from '../../errors.js'
import type { Migration } from '../migration.js'
import { codeOf, type MysqlConnection } from './driver.js'
import { checkedPrefix, type Parameters, statement } from './names.js'
import { integerAt, textAt } from './rows.js'
import { type Rows, type Server, send } from './server.js'
import { META, TABLE_NAMES, TABLES } from './tables.js'

/**
 * The schema, as numbered steps. A step that was released never changes; a patch release adds none, a minor one only adds
 * tables, columns and indexes that older nodes can leave alone. MySQL commits each statement of a step by itself: a step that
 * was broken off is run again, and what it finds done is left as it is.
 */
export const STEPS: readonly (readonly string[])[] = [TABLES]

/** The oldest version of this list whose release works with the ledger that the newest one makes. */
const COMPATIBLE = 1

const READ_META = `SELECT name, value FROM fleetcron_meta WHERE name IN ('schema', 'compatible')`
const WRITE_META = `UPDATE fleetcron_meta SET value = :version WHERE name = 'schema'`
const WRITE_COMPATIBLE = `
  INSERT INTO fleetcron_meta (name, value) VALUES ('compatible', :version) ON DUPLICATE KEY UPDATE value = :version`

/** Tables of these names, and what is said of them; those of the ledger say so. */
const FOUND = `
  SELECT t.table_name, t.table_comment, t.engine FROM information_schema.tables t
  WHERE t.table_schema = DATABASE() AND t.table_name IN (:tables)`

/** Only one process of all makes a schema; the lock is the server's, and its name the database's. */
const LOCK = `SELECT GET_LOCK(CONCAT('fleetcron ', SHA1(CONCAT(DATABASE(), '.', :prefix))), 30)`
const UNLOCK = `DO RELEASE_LOCK(CONCAT('fleetcron ', SHA1(CONCAT(DATABASE(), '.', :prefix))))`

/** A table, column or index that is there already: what a step that was broken off had done. */
const DONE_BEFORE: readonly unknown[] = [1050, 1060, 1061]

/**
 * The SQL that makes the ledger's tables, or brings them up from a version: for databases that only their administrators may
 * change. Run it in the database that fleetcron connects to; the user of fleetcron then needs SELECT, INSERT, UPDATE and
 * DELETE on these tables.
 *
 * @param from version found in the database; null: there is none yet
 */
export function mysqlMigration(prefix = 'fleetcron_', from: number | null = null): string {
  const checked = checkedPrefix(prefix)
  const list = [
    ...(from === null ? META : []),
    ...STEPS.slice(from ?? 0).flat(),
    WRITE_META.replace(':version', `'${STEPS.length}'`),
    WRITE_COMPATIBLE.replaceAll(':version', `'${COMPATIBLE}'`),
  ]
  return list.map((sql) => `${statement(sql, checked, {}).trim()};\n`).join('')
}

export interface MigrateOptions {
  readonly autoMigrate: boolean
  readonly steps?: readonly (readonly string[])[]
}

/** Creates, upgrades or verifies the tables, with any number of others doing the same. */
export async function migrate(server: Server, options: MigrateOptions): Promise<void> {
  const { steps = STEPS } = options
  const found = await server.use((connection) => version(connection, server))
  throwIfNewer(server.place, found, steps.length)
  if (found !== null && found.schema >= steps.length) return server.use((connection) => verified(connection, server))
  if (!options.autoMigrate) throw unmigrated(server.place, found?.schema ?? null, steps.length)
  await server.use((connection) => migrateOn(connection, server, steps), MIGRATION_MS)
}

/** What the database holds and what it lacks. */
export async function migration(server: Server): Promise<Migration> {
  const found = await server.use((connection) => version(connection, server))
  const from = found?.schema ?? null
  const isThere = from !== null && from >= STEPS.length
  return { from, to: STEPS.length, sql: isThere ? '' : mysqlMigration(server.prefix, from) }
}

const MIGRATION_MS = 60_000

async function migrateOn(
  connection: MysqlConnection,
  server: Server,
  steps: readonly (readonly string[])[],
): Promise<void> {
  const run = (sql: string, parameters: Parameters = {}) => send(connection, [server.sql(sql, parameters)])
  const { rows } = await run(LOCK, { prefix: server.prefix })
  if (integerAt(rows[0]?.[0] ?? [], 0) !== 1) throw busy(server.place)
  try {
    await verified(connection, server)
    const found = await version(connection, server)
    throwIfNewer(server.place, found, steps.length)
    if (found === null) for (const sql of META) await run(sql)
    for (const [index, step] of steps.entries()) {
      if (index < (found?.schema ?? 0)) continue
      for (const sql of step) await run(sql).catch(ignoreDone)
      await run(WRITE_META, { version: String(index + 1) })
    }
    if ((found?.schema ?? 0) < steps.length) await run(WRITE_COMPATIBLE, { version: String(COMPATIBLE) })
    await verified(connection, server)
  } finally {
    await run(UNLOCK, { prefix: server.prefix })
  }
}

function ignoreDone(error: unknown): void {
  if (!DONE_BEFORE.includes(codeOf(error))) throw error
}

interface Version {
  readonly schema: number
  /** The oldest version whose release works with it. */
  readonly oldest: number
}

/** The version of the schema; null where there is none. */
async function version(connection: MysqlConnection, server: Server): Promise<Version | null> {
  try {
    const { rows } = await send(connection, [server.sql(READ_META, {})])
    const values = new Map(((rows[0] ?? []) as Rows).map((row) => [textAt(row, 0), Number(textAt(row, 1))]))
    const schema = values.get('schema')
    // The table is there and not filled yet: somebody is at it, or was broken off.
    return schema === undefined ? null : { schema, oldest: values.get('compatible') ?? schema }
  } catch (error) {
    if (codeOf(error) === 1146) return null
    if (codeOf(error) === 1054) throw notOurs(server, 'meta')
    throw error
  }
}

/** Refuses tables of these names that are somebody else's, or in an engine without transactions. */
async function verified(connection: MysqlConnection, server: Server): Promise<void> {
  const sql = server.sql(
    FOUND.replace(':tables', TABLE_NAMES.map((name) => `'${server.prefix}${name}'`).join(', ')),
    {},
  )
  const { rows } = await send(connection, [sql])
  for (const row of (rows[0] ?? []) as Rows) {
    const [table, comment, engine] = [textAt(row, 0), textAt(row, 1), textAt(row, 2)]
    if (comment !== 'fleetcron') throw notOurs(server, table.slice(server.prefix.length))
    if (engine !== 'InnoDB') throw notInnodb(server.place, table, engine)
  }
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

function busy(place: string): FleetcronError {
  return new FleetcronError(
    'STORE_UNAVAILABLE',
    `The ledger ${place} is being made or upgraded by another process, which takes long: try again.`,
  )
}

function notOurs({ place, prefix }: Server, table: string): FleetcronError {
  return new FleetcronError(
    'STORE_UNAVAILABLE',
    `The database of the ledger ${place} already has a table named ${prefix}${table} that is not the ledger's: ` +
      'give the ledger another prefix, or a database of its own.',
  )
}

function notInnodb(place: string, table: string, engine: string): FleetcronError {
  return new FleetcronError(
    'OPTION_INVALID',
    `The table ${table} of the ledger ${place} is in the engine ${engine}: the ledger needs the transactions of InnoDB.`,
  )
}
