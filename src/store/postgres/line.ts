import { randomUUID } from 'node:crypto'
import { literal } from './columns.js'
import { isStatementsOwn, type PostgresClient, type PostgresNotification, type PostgresPool } from './driver.js'
import type { Arguments, Server } from './server.js'

type Wake = (bucket: number) => void

/** Between two tries to listen again, at first and at most. */
const RETRY_MS = { first: 100, most: 5_000 }

/**
 * The connection that beats have to themselves, so that handlers which use up the pool never keep a session from being
 * renewed. Wake-ups come and go on it too: they are told after the commit that they are about and not in it, since a
 * NOTIFY in a transaction makes all commits of the database wait for each other. A hint may be lost; beats are the floor.
 */
export class Line {
  readonly #server: Server
  readonly #pool: PostgresPool
  readonly #channel: string
  readonly #self = randomUUID().slice(0, 8)
  readonly #wakes = new Set<Wake>()
  readonly #untold = new Set<number>()
  readonly #turns = new WeakMap<PostgresClient, Promise<unknown>>()
  #client: Promise<PostgresClient> | null = null
  #telling: Promise<void> | null = null
  #retry: NodeJS.Timeout | null = null
  #retryMs = RETRY_MS.first
  #isClosed = false

  constructor(server: Server, pool: PostgresPool, channel: string) {
    this.#server = server
    this.#pool = pool
    this.#channel = channel
  }

  /** Calls a function of the ledger on this connection. */
  call<T>(name: string, args: Arguments, statementMs: number): Promise<T> {
    return this.#server.retried(() =>
      this.#use((client) => this.#server.callOn<T>(client, name, args, statementMs), statementMs),
    )
  }

  /** Resolves when wake-ups are heard, or cannot be for now: then it goes on trying. */
  async subscribe(wake: Wake): Promise<() => Promise<void>> {
    const own: Wake = (bucket) => wake(bucket)
    this.#wakes.add(own)
    if (this.#wakes.size === 1) await this.#listen()
    return async () => void this.#wakes.delete(own)
  }

  /** Jobs of these buckets became due earlier: subscribers of this process hear it now, others as soon as can be. */
  tell(buckets: readonly number[]): void {
    if (buckets.length === 0) return
    for (const bucket of buckets) {
      this.#wake(bucket)
      this.#untold.add(bucket)
    }
    this.#telling ??= this.#tellOthers().finally(() => {
      this.#telling = null
    })
  }

  open(): void {
    this.#isClosed = false
  }

  async close(): Promise<void> {
    await this.#telling
    this.#isClosed = true
    this.#wakes.clear()
    if (this.#retry) clearTimeout(this.#retry)
    const client = this.#client
    this.#client = null
    // Closed and not given back: it listens.
    await client?.then((made) => made.release(true)).catch(() => undefined)
  }

  async #tellOthers(): Promise<void> {
    while (this.#untold.size > 0) {
      // A turn later: what is told at once goes as one.
      await new Promise(setImmediate)
      const payload = `${this.#self}:${[...this.#untold].join(',')}`
      this.#untold.clear()
      const sql = `SELECT pg_notify(${literal(this.#channel)}, ${literal(payload)})`
      await this.#use((client) => client.query(sql)).catch(() => undefined)
    }
  }

  async #use<T>(act: (client: PostgresClient) => Promise<T>, statementMs = this.#server.statementMs): Promise<T> {
    this.#client ??= this.#connect()
    const connecting = this.#client
    return this.#server.within(
      statementMs,
      async () => {
        const client = await connecting
        return this.#inTurn(client, () => act(client))
      },
      (error) => {
        if (!isStatementsOwn(error)) this.#drop(connecting)
      },
    )
  }

  /** One statement after the other: `pg` no longer keeps a queue for its callers. */
  #inTurn<T>(client: PostgresClient, act: () => Promise<T>): Promise<T> {
    const mine = (this.#turns.get(client) ?? Promise.resolve()).then(act, act)
    this.#turns.set(client, mine)
    return mine
  }

  async #connect(): Promise<PostgresClient> {
    const client = await this.#pool.connect()
    const connecting = this.#client
    const lost = () => this.#drop(connecting)
    client.on('error', lost)
    client.on('end', lost)
    client.on('notification', (message) => this.#heard(message))
    return client
  }

  /** The connection is of no use any more. Subscribers may have missed something meanwhile. */
  #drop(connecting: Promise<PostgresClient> | null): void {
    if (connecting === null || this.#client !== connecting) return
    this.#client = null
    connecting.then((client) => client.release(true)).catch(() => undefined)
    this.#listenSoon()
  }

  async #listen(): Promise<void> {
    try {
      await this.#use(async (client) => {
        if (await isDirect(client)) await client.query(`LISTEN ${this.#channel}`)
      })
      this.#retryMs = RETRY_MS.first
    } catch {
      this.#listenSoon()
    }
  }

  #listenSoon(): void {
    if (this.#isClosed || this.#wakes.size === 0 || this.#retry) return
    this.#retry = setTimeout(async () => {
      this.#retry = null
      await this.#listen()
      if (this.#client) this.#wake(-1)
    }, this.#retryMs).unref()
    this.#retryMs = Math.min(this.#retryMs * 2, RETRY_MS.most)
  }

  #heard({ channel, payload = '' }: PostgresNotification): void {
    const [sender, buckets = ''] = payload.split(':')
    if (channel !== this.#channel || sender === this.#self) return
    for (const bucket of buckets.split(',').map(Number)) if (Number.isInteger(bucket)) this.#wake(bucket)
  }

  #wake(bucket: number): void {
    for (const wake of this.#wakes) {
      queueMicrotask(() => {
        if (this.#wakes.has(wake)) wake(bucket)
      })
    }
  }
}

/**
 * Whether the connection leads to one server process for as long as it lasts. A pooler tells its clients numbers of its own;
 * behind one, LISTEN would be said to a process that serves somebody else the next moment.
 */
export async function isDirect(client: PostgresClient): Promise<boolean> {
  if (typeof client.processID !== 'number') return true
  const { rows } = (await client.query('SELECT pg_backend_pid() AS pid')) as { rows: [{ pid: number }] }
  return rows[0].pid === client.processID
}
