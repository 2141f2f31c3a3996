import { FleetcronError } from '../../errors.js'

/**
 * What the ledger needs of a MySQL driver: the part of the promise pool of the package mysql2 that is used here. A pool of
 * your own is taken as it is; nothing in it, and nothing in the sessions of its connections, is left changed.
 */
export interface MysqlPool {
  getConnection(): Promise<MysqlConnection>
  /** Where it leads, for sentences; mysql2's pools have it one level down. */
  readonly pool?: { readonly config?: { readonly connectionConfig?: MysqlPlace; readonly connectionLimit?: number } }
}

export interface MysqlPlace {
  readonly host?: string | undefined
  readonly port?: number | undefined
  readonly database?: string | undefined
  readonly socketPath?: string | undefined
}

export interface MysqlConnection {
  /** What a wrapper wraps; the same each time the pool gives it out. */
  readonly connection?: object
  /** One message, in which several statements may be; their results are a list then. */
  query(what: MysqlQuery): Promise<readonly [unknown, ...unknown[]]>
  /** Gives it back to the pool. */
  release(): void
  /** Closes it at once, in whatever state it is. */
  destroy(): void
  on?(event: 'error', listener: () => void): unknown
  removeListener?(event: 'error', listener: () => void): unknown
}

/** Options that make the answer the same whatever a pool's own are: rows as lists of bytes, nothing put into the text. */
export interface MysqlQuery {
  readonly sql: string
  readonly rowsAsArray: true
  readonly typeCast: false
  readonly nestTables: false
  readonly namedPlaceholders: false
}

/** The number that the server gave an error, the operating system's name for its own, or null. */
export function codeOf(error: unknown): number | string | null {
  const { errno, code, errors } = (error ?? {}) as { errno?: unknown; code?: unknown; errors?: readonly unknown[] }
  if (typeof errno === 'number' && errno > 0) return errno
  if (typeof code === 'string') return code
  const [first] = errors ?? []
  return first === undefined ? null : codeOf(first)
}

/** What the driver threw, where it was put into words. */
export function causeOf(error: unknown): unknown {
  return error instanceof FleetcronError ? (error.cause ?? error) : error
}

/** Lock wait timeout, deadlock, a row that changed under snapshot isolation, and a group's certification that failed. */
const PASSING: readonly unknown[] = [1205, 1213, 1020, 3101, 3572]

/** The transaction was undone for the sake of another one, or waited in vain: tried again it may well succeed. */
export function isPassing(error: unknown): boolean {
  return PASSING.includes(codeOf(error))
}

/** The lock on a row was not had in the time given: by MariaDB, by MySQL. */
export function isOverdue(error: unknown): boolean {
  return [1969, 3024].includes(codeOf(error) as number)
}

/** A guard of the statement, which adds one to the greatest number, did not hold. */
export function isGuard(error: unknown): boolean {
  return codeOf(error) === 1690
}

export function isDuplicate(error: unknown): boolean {
  return codeOf(error) === 1062
}

/** Numbers of errors that end the connection, or were met on its way. */
const OF_CONNECTION: readonly unknown[] = [1040, 1042, 1043, 1044, 1045, 1047, 1049, 1053, 1152, 1153, 1158, 1159, 1160]

/** The server refused a statement; the connection is as good as before. */
export function isStatementsOwn(error: unknown): boolean {
  const code = codeOf(error)
  return typeof code === 'number' && !OF_CONNECTION.includes(code) && !isFatal(error)
}

function isFatal(error: unknown): boolean {
  return (error as { fatal?: unknown } | null)?.fatal === true
}

/** Why the ledger cannot be used, as the end of a sentence. */
const SENTENCES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nobody listens there: is the server running, and are host and port right?',
  ENOTFOUND: 'there is no such host: look at its name',
  EAI_AGAIN: 'the name of the host could not be looked up just now',
  ETIMEDOUT: 'the host does not answer: is there a firewall in between?',
  EHOSTUNREACH: 'the host cannot be reached from here',
  ENETUNREACH: 'the host cannot be reached from here',
  ECONNRESET: 'the connection was cut',
  EPIPE: 'the connection was cut',
  PROTOCOL_CONNECTION_LOST: 'the connection was cut',
  HANDSHAKE_NO_SSL_SUPPORT: 'the server speaks no TLS: leave ssl out, or set TLS up there',
  HANDSHAKE_SSL_ERROR: 'the TLS connection could not be made: look at the certificates',
  POOL_CLOSED: 'its pool was ended: end it after the fleet has stopped',
  1021: 'the disk of the server is full: free some space, the fleet goes on by itself',
  1028: 'the disk of the server is full: free some space, the fleet goes on by itself',
  1037: 'the server ran out of memory',
  1038: 'the server ran out of memory',
  1040: 'the server has no connection left: raise max_connections, or lower the size of the pools',
  1041: 'the server ran out of memory',
  1044: 'the user has no right to this database',
  1045: 'the password is wrong, or the user does not exist',
  1046: 'it names no database: put it at the end of the URL, or into the options of the pool',
  1047: 'the node of the cluster is not ready',
  1049: 'there is no such database: create it, or look at its name',
  1053: 'the server shut the connection down',
  1114: 'the disk of the server is full: free some space, the fleet goes on by itself',
  1129: 'the server lets this host in no more after many errors: run FLUSH HOSTS there',
  1130: 'the server does not let this user in from here',
  1142: 'the user lacks a right: it needs SELECT, INSERT, UPDATE and DELETE on the tables, and CREATE once',
  1146: 'tables of the ledger are missing: let fleetcron create them (autoMigrate), or run the migration by hand',
  1180: 'the server met an error of its disk or system',
  1203: 'the user has no connection left: raise max_user_connections, or lower the size of the pools',
  1226: 'the user has used up what it may do in an hour: raise its limits',
  1290: 'it is read-only, a replica perhaps: the ledger needs the primary server',
  1317: 'a statement took too long and was ended: is the server overloaded, or a row locked by somebody else?',
  1665: 'its binlog_format is STATEMENT, under which READ COMMITTED cannot write: set it to ROW or MIXED',
  1698: 'the user may not come by password: look at its plugin',
  1792: 'it is read-only, a replica perhaps: the ledger needs the primary server',
  1836: 'it is read-only, a replica perhaps: the ledger needs the primary server',
  1874: 'it is read-only: InnoDB was started so',
  1927: 'the server shut the connection down',
  1969: 'a statement took too long and was ended: is the server overloaded, or a row locked by somebody else?',
  3024: 'a statement took too long and was ended: is the server overloaded, or a row locked by somebody else?',
  4031: 'the server shut the connection down',
}

/** Null where the error is about a statement or its data. */
export function whyUnavailable(error: unknown): string | null {
  const known = SENTENCES[String(codeOf(error))]
  if (known !== undefined) return known
  if (isFatal(error)) return 'the connection was cut'
  // mysql2 has no code for what it sees itself.
  const message = error instanceof Error ? error.message : ''
  if (/closed state|pool is closed|not open/i.test(message)) return 'the connection was cut'
  if (/certificate|SSL|TLS/i.test(message)) return 'the TLS connection could not be made: look at the certificates'
  return null
}
