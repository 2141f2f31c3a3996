import { FleetcronError } from '../../errors.js'
import type { StoreInfo } from '../port.js'
import { unusable } from '../unavailable.js'
import { codeOf, type MysqlConnection } from './driver.js'
import type { Ledger } from './ledger.js'
import { textAt } from './rows.js'
import { type Server, send } from './server.js'

/** What the server is like: its variables by name, those that it has. */
export interface Facts {
  readonly version: string
  readonly variables: ReadonlyMap<string, string>
}

const VARIABLES = [
  'autocommit',
  'binlog_format',
  'group_replication_group_name',
  'innodb_flush_log_at_trx_commit',
  'innodb_read_only',
  'log_bin',
  'max_allowed_packet',
  'read_only',
  'super_read_only',
  'sync_binlog',
  'wsrep_on',
] as const

const FACTS = `SHOW VARIABLES WHERE Variable_name IN (${VARIABLES.map((name) => `'${name}'`).join(', ')})`

/** Looks at the server before anything is made in it, and refuses one that cannot hold a ledger. */
export async function inspect(server: Server): Promise<Facts> {
  const facts = await server.use(async (connection) => {
    await severalAtOnce(connection, server.place)
    const { rows } = await send(connection, ['SELECT VERSION(), DATABASE()', FACTS])
    const variables = new Map((rows[1] ?? []).map((row) => [textAt(row, 0), textAt(row, 1)]))
    return { version: textAt(rows[0]?.[0] ?? [], 0), database: rows[0]?.[0]?.[1] ?? null, variables }
  })
  const is = (name: (typeof VARIABLES)[number], value: string) => facts.variables.get(name) === value
  if (!isNewEnough(facts.version)) {
    const what = `The ledger ${server.place} is in ${facts.version}`
    throw new FleetcronError('OPTION_INVALID', `${what}: it needs MySQL 8.0 or MariaDB 10.6, or later.`)
  }
  if (facts.database === null) {
    throw unusable(server.place, 'it names no database: put it at the end of the URL, or into the options of the pool')
  }
  if (is('read_only', 'ON') || is('super_read_only', 'ON') || is('innodb_read_only', 'ON')) {
    throw unusable(server.place, 'it is read-only, a replica perhaps: the ledger needs the primary server')
  }
  if (is('log_bin', 'ON') && is('binlog_format', 'STATEMENT')) {
    const why = 'its binlog_format is STATEMENT, under which READ COMMITTED cannot write: set it to ROW or MIXED'
    throw unusable(server.place, why)
  }
  if (is('autocommit', 'OFF')) {
    throw unusable(server.place, 'autocommit is off in the sessions of the pool: leave it on, as it is by default')
  }
  return facts
}

/** A message of one statement at a time could not be a whole transaction. */
async function severalAtOnce(connection: MysqlConnection, place: string): Promise<void> {
  try {
    await send(connection, ['DO 0', 'DO 0'])
  } catch (error) {
    if (codeOf(error) !== 1064) throw error
    const what = `The pool of the ledger ${place} sends one statement at a time`
    throw new FleetcronError('OPTION_INVALID', `${what}: create it with multipleStatements: true.`)
  }
}

function isNewEnough(version: string): boolean {
  const [, major = '0', minor = '0'] =
    /(\d+)\.(\d+)\.\d+(?=-MariaDB)/i.exec(version) ?? /^(\d+)\.(\d+)/.exec(version) ?? []
  const isMariadb = /mariadb/i.test(version)
  const [oldest, oldestMinor] = isMariadb ? [10, 6] : [8, 0]
  return Number(major) > oldest || (Number(major) === oldest && Number(minor) >= oldestMinor)
}

const INCARNATION = `
  SELECT m.value, (SELECT UNIX_TIMESTAMP(t.create_time) FROM information_schema.tables t
    WHERE t.table_schema = DATABASE() AND t.table_name = :meta)
  FROM fleetcron_meta m WHERE m.name = 'incarnation'`

/** The store's grade, and what else to know of it. */
export async function infoOf({ server, identity }: Ledger, facts: Facts): Promise<StoreInfo> {
  const { rows } = await server.read([server.sql(INCARNATION, { meta: `${server.prefix}meta` })])
  const [row = []] = rows[0] ?? []
  identity.sawMade(textAt(row, 1))
  const remarks = losses(facts)
  return {
    kind: 'mysql',
    grade: remarks.length > 0 ? 'efficient' : 'correct',
    remark: [...remarks, 'What becomes due earlier is seen at the next beat.'].join(' '),
    incarnation: identity.of(textAt(row, 0)),
  }
}

/** How acknowledged writes can be lost. */
function losses({ variables }: Facts): string[] {
  const flush = variables.get('innodb_flush_log_at_trx_commit')
  const isLoggedLate = variables.get('log_bin') === 'ON' && variables.get('sync_binlog') !== '1'
  const isCluster = variables.get('wsrep_on') === 'ON' || (variables.get('group_replication_group_name') ?? '') !== ''
  return [
    flush === '1'
      ? ''
      : `The server's setting innodb_flush_log_at_trx_commit is ${flush}: what it has acknowledged can be lost when it stops; set it to 1.`,
    isLoggedLate
      ? "The server's setting sync_binlog is not 1: what it has acknowledged can be lost when its machine stops; set it to 1."
      : '',
    isCluster
      ? 'The server is one of a cluster (Galera or group replication): what one of them has acknowledged, another may not have yet; connect all nodes of the fleet to one and the same.'
      : '',
  ].filter((remark) => remark !== '')
}

/** Bytes that a message may have, with room for what stands around the rows. */
export function packetBytesOf({ variables }: Facts): number {
  const most = Number(variables.get('max_allowed_packet') ?? 0)
  return Math.max(64_000, most - 100_000)
}
