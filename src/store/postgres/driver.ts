/**
 * What the ledger needs of a Postgres driver: the part of `Pool` and `PoolClient` of the package pg that is used here. A
 * pool of your own is taken as it is; nothing in it is changed.
 */
export interface PostgresPool {
  connect(): Promise<PostgresClient>
  /** Where it leads, for sentences; pg's pools have it. */
  readonly options?: {
    readonly max?: number | undefined
    readonly host?: string | undefined
    readonly port?: number | undefined
    readonly database?: string | undefined
    readonly connectionString?: string | undefined
  }
}

export interface PostgresClient {
  /** The server process behind the connection as it was told when the connection was made; pg has it. */
  readonly processID?: number | null
  /** Text without parameters, so that several statements may be in it; their results are a list then. */
  query(text: string): Promise<unknown>
  /** With `true` the connection is closed and not given out again. */
  release(destroy?: boolean): void
  on(event: 'error' | 'end' | 'notification', listener: Listener): unknown
  removeListener(event: 'error', listener: Listener): unknown
}

// biome-ignore lint/suspicious/noExplicitAny: what is told differs from event to event.
type Listener = (told: any) => void

export interface PostgresNotification {
  readonly channel: string
  readonly payload?: string | undefined
}

/** What the server said, by SQLSTATE; what the operating system said, by its name; null for anything else. */
export function codeOf(error: unknown): string | null {
  const code = (error as { code?: unknown } | null)?.code
  if (typeof code === 'string') return code
  const [first] = (error as AggregateError | null)?.errors ?? []
  return first === undefined ? null : codeOf(first)
}

/** The statement was undone for the sake of another one, or waited in vain: tried again it may well succeed. */
export function isPassing(error: unknown): boolean {
  return ['40001', '40P01', '55P03'].includes(codeOf(error) ?? '')
}

/** The server refused the statement; the connection is as good as before. */
export function isStatementsOwn(error: unknown): boolean {
  const code = codeOf(error) ?? ''
  return /^[0-9A-Z]{5}$/.test(code) && !/^(08|57P|XX)/.test(code)
}

/** Why the ledger cannot be used, as the end of a sentence, by the code or the class of codes. */
const SENTENCES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nobody listens there: is the server running, and are host and port right?',
  ENOTFOUND: 'there is no such host: look at its name',
  EAI_AGAIN: 'the name of the host could not be looked up just now',
  ETIMEDOUT: 'the host does not answer: is there a firewall in between?',
  EHOSTUNREACH: 'the host cannot be reached from here',
  ENETUNREACH: 'the host cannot be reached from here',
  ECONNRESET: 'the connection was cut',
  EPIPE: 'the connection was cut',
  '28P01': 'the password is wrong, or the user does not exist',
  '28': 'the server does not let this user in from here: look at its pg_hba.conf',
  '3D000': 'there is no such database: create it, or look at its name',
  '25006': 'it is read-only, a standby perhaps: the ledger needs the primary server',
  '3F000': 'it has no such schema: let fleetcron create it (autoMigrate), or run the migration by hand',
  '42P01': 'tables of the ledger are missing: let fleetcron create them (autoMigrate), or run the migration by hand',
  '42883': 'functions of the ledger are missing: let fleetcron create them (autoMigrate), or run the migration by hand',
  '42501': 'the user lacks a right: it needs CREATE on the database once, and the schema of the ledger must be its own',
  '53100': 'the disk of the server is full: free some space, the fleet goes on by itself',
  '53200': 'the server ran out of memory',
  '53300': 'the server has no connection left: raise max_connections, or lower the size of the pools',
  '57014': 'a statement took too long and was ended: is the server overloaded, or a row locked by somebody else?',
  '57P03': 'the server is starting up',
  '57': 'the server shut the connection down',
  '08': 'the connection was cut',
  '58': 'the server met an error of its disk or system',
  XX: 'the server met an internal error: look at its log',
}

/** Null where the error is about a statement or its data. */
export function whyUnavailable(error: unknown): string | null {
  const code = codeOf(error) ?? ''
  const known = SENTENCES[code] ?? SENTENCES[code.slice(0, 2)]
  if (known !== undefined) return known
  // pg has no code for what it sees itself.
  const message = error instanceof Error ? error.message : ''
  if (/timeout exceeded when trying to connect/.test(message)) return 'no connection could be had in time'
  if (/terminated|not queryable|closed|ended the connection/i.test(message)) return 'the connection was cut'
  if (/does not support SSL/.test(message)) return 'the server speaks no TLS: leave sslmode out, or set TLS up there'
  if (/password/i.test(message)) return 'it asks for a password, and there is none: put it into the URL'
  if (/certificate|SSL|TLS/i.test(message)) return 'the TLS connection could not be made: look at the certificates'
  return null
}
