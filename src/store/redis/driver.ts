/**
 * What the ledger needs of ioredis: the part of `Redis` and `Cluster` that is used here. A client of your own is only asked
 * for further connections like itself; it is neither used nor closed.
 */
export interface RedisClient {
  // biome-ignore lint/suspicious/noExplicitAny: Redis takes options, Cluster takes nodes and options.
  duplicate(...how: any[]): RedisConnection
  /** Whether it is a `Cluster`. */
  readonly isCluster?: boolean
  // biome-ignore lint/suspicious/noExplicitAny: only what is known of it is read.
  readonly options?: any
  /** The same place as a Cluster, for a client that does not know yet that it is one. */
  asCluster?(): RedisClient
}

export interface RedisConnection {
  readonly status: string
  connect(): Promise<unknown>
  call(command: string, args: (string | number)[]): Promise<unknown>
  subscribe(channel: string): Promise<unknown>
  // biome-ignore lint/suspicious/noExplicitAny: what is told differs from event to event.
  on(event: string, listener: (...told: any[]) => void): unknown
  /** With `true` it connects again. */
  disconnect(reconnect?: boolean): void
  /** Of a Cluster: its connections to the servers. */
  nodes?(role: 'master'): readonly Pick<RedisConnection, 'call'>[]
}

/** How connections of the ledger differ from those of the client they are like. */
const OPTIONS = {
  lazyConnect: true,
  // What cannot be sent is told when the next try to connect has failed, and what was sent is not sent twice by itself.
  enableOfflineQueue: true,
  maxRetriesPerRequest: 0,
  autoResendUnfulfilledCommands: false,
  stringNumbers: false,
  replyMapping: 'legacy',
  // Wakes are subscribed to anew by the ledger, which then looks at once.
  autoResubscribe: false,
  retryStrategy: (times: number) => Math.min(1_000, 50 * 2 ** Math.min(times - 1, 5)) * (0.75 + Math.random() / 2),
  // After a failover the server behind the connection may be a replica.
  reconnectOnError: (error: Error) => /^(-?READONLY|UNBLOCKED)|-READONLY/.test(error.message),
} as const

/** A further connection like a client, for the ledger alone. */
export function connectionLike(client: RedisClient, name: string): RedisConnection {
  if (client.isCluster !== true) return client.duplicate({ ...OPTIONS, connectionName: name })
  const { lazyConnect, enableOfflineQueue: _, retryStrategy, ...redisOptions } = OPTIONS
  return client.duplicate([], {
    lazyConnect,
    // What a Cluster queues it never gives up: it would grow for as long as the servers are away.
    enableOfflineQueue: false,
    scaleReads: 'master',
    clusterRetryStrategy: retryStrategy,
    redisOptions: { ...redisOptions, connectionName: name },
  })
}

/** Connects; resolves when it is ready, also where the first look at a Cluster found it not ready yet. */
export function readied(connection: RedisConnection): Promise<void> {
  return new Promise((resolve, reject) => {
    connection.on('ready', () => resolve())
    connection.connect().then(() => resolve(), reject)
  })
}

/**
 * What the server said, by the first word of its errors; what the operating system said, by its name; null for anything else.
 * Before version 7 what goes wrong in a script, and in a Cluster what was tried in vain, stands at the end of a longer text.
 */
export function codeOf(error: unknown): string | null {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown }
  if (typeof code === 'string') return code
  const text = typeof message === 'string' ? message : ''
  const [, first] = /^-?([A-Z]{2,}) /.exec(text) ?? []
  if (first !== undefined && first !== 'ERR') return first
  return /(?:: -|Last error: \w+: )([A-Z]{2,}) /.exec(text)?.[1] ?? null
}

/** The script is not in the server's cache: it was flushed, or the server is another one. */
export function isUnknownScript(error: unknown): boolean {
  return codeOf(error) === 'NOSCRIPT'
}

/** Why the ledger cannot be used, as the end of a sentence. */
const SENTENCES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nobody listens there: is the server running, and are host and port right?',
  ENOTFOUND: 'there is no such host: look at its name',
  EAI_AGAIN: 'the name of the host could not be looked up just now',
  ETIMEDOUT: 'the host does not answer: is there a firewall in between?',
  EHOSTUNREACH: 'the host cannot be reached from here',
  ENETUNREACH: 'the host cannot be reached from here',
  ENOENT: 'there is no such socket: look at its path',
  ECONNRESET: 'the connection was cut',
  EPIPE: 'the connection was cut',
  EPROTO: 'the TLS connection could not be made: does the server speak TLS on this port?',
  WRONGPASS: 'the password is wrong, or the user does not exist or is switched off',
  NOAUTH: 'it asks for a password, and there is none: put it into the URL',
  NOPERM:
    'the user lacks a right: it needs EVAL, EVALSHA, SUBSCRIBE and PUBLISH, and all commands on the keys of the ledger',
  DENIED: 'it runs in protected mode and lets nobody in from other hosts: set a password, or bind it to an address',
  LOADING: 'the server is reading its data from disk',
  READONLY: 'it is read-only, a replica perhaps: the ledger needs the master',
  MASTERDOWN: 'it is a replica that has lost its master',
  NOREPLICAS: 'it takes no writes while it has too few replicas (min-replicas-to-write)',
  OOM: 'the memory of the server is full (maxmemory), and nothing can be recorded, so nothing is started: free some, or raise maxmemory; the fleet goes on by itself',
  MISCONF: 'the server cannot save to its disk and takes no writes: look at its log',
  BUSY: 'the server is busy with a script that takes too long',
  CLUSTERDOWN: 'the cluster is down: some of its slots are served by nobody',
  TRYAGAIN: 'the cluster is moving the slot of the ledger to another node just now',
  MOVED: 'the cluster is moving the slot of the ledger to another node, or the client is not one for a Cluster',
  ASK: 'the cluster is moving the slot of the ledger to another node just now',
  NOPROTO: 'the server does not speak a protocol of Redis that is known here',
}

/** Null where the error is about a script or its data. */
export function whyUnavailable(error: unknown): string | null {
  const known = SENTENCES[codeOf(error) ?? '']
  if (known !== undefined) return known
  const message = error instanceof Error ? error.message : ''
  if (/max number of clients/.test(message)) return 'the server has no connection left: raise its maxclients'
  if (/DB index|SELECT is not allowed/.test(message))
    return 'there is no such database: look at the number after the host'
  if (/All sentinels are unreachable/.test(message)) return 'no sentinel can be reached'
  if (/startup nodes|slots cache|Cluster isn't/i.test(message)) return 'no node of the cluster can be reached'
  if (/closed|aborted|retries per request|writeable|ended/i.test(message)) return 'the connection was cut'
  if (/certificate|SSL|TLS/i.test(message)) return 'the TLS connection could not be made: look at the certificates'
  if (/too many cluster redirections/i.test(message))
    return 'the nodes of the cluster do not agree on who serves the ledger'
  return null
}
