import { randomUUID } from 'node:crypto'
import { connectionLike, type RedisClient, type RedisConnection, readied } from './driver.js'
import { attended, type Server } from './server.js'

type Wake = (bucket: number) => void

/** Between two tries to hear wakes again, at first and at most. */
const RETRY_MS = { first: 100, most: 5_000 }

/**
 * The connection that beats have to themselves, and the one on which wakes are heard. What is due earlier is published by the
 * script that made it so; this process hears of its own at once. A hint may be lost; beats are the floor.
 */
export class Line {
  readonly connection: RedisConnection
  readonly channel: string
  /** Tells what this process published from what others did. */
  readonly self = randomUUID().slice(0, 8)
  readonly #server: Server
  readonly #client: RedisClient
  readonly #wakes = new Set<Wake>()
  #ear: RedisConnection | null = null
  #retry: NodeJS.Timeout | null = null
  #retryMs = RETRY_MS.first
  #isClosed = false

  constructor(server: Server, client: RedisClient) {
    this.#server = server
    this.#client = client
    this.channel = `${server.base}wake`
    this.connection = attended(connectionLike(client, 'fleetcron-beats'))
  }

  /** Resolves when wakes are heard, or cannot be for now: then it goes on trying. */
  async subscribe(wake: Wake): Promise<() => Promise<void>> {
    const own: Wake = (bucket) => wake(bucket)
    this.#wakes.add(own)
    if (this.#wakes.size === 1) await this.#listen()
    return async () => void this.#wakes.delete(own)
  }

  /** After the call that caused it, so that a subscriber never finds the store half-way. */
  wake(buckets: readonly number[]): void {
    for (const bucket of buckets) {
      for (const wake of this.#wakes) {
        queueMicrotask(() => {
          if (this.#wakes.has(wake)) wake(bucket)
        })
      }
    }
  }

  close(): void {
    this.#isClosed = true
    this.#wakes.clear()
    if (this.#retry) clearTimeout(this.#retry)
    this.#ear?.disconnect()
    this.connection.disconnect()
  }

  async #listen(): Promise<void> {
    const ear = this.#ear ?? this.#makeEar()
    try {
      await this.#server.within(ear, this.#server.callMs, async () => {
        if (this.#client.isCluster === true && ear.status === 'wait') await readied(ear)
        await ear.subscribe(this.channel)
      })
      this.#retryMs = RETRY_MS.first
    } catch {
      this.#listenSoon()
    }
  }

  #makeEar(): RedisConnection {
    const ear = attended(connectionLike(this.#client, 'fleetcron-wakes'))
    this.#ear = ear
    ear.on('message', (channel: string, message: string) => this.#heard(channel, message))
    ear.on('close', () => this.#listenSoon())
    return ear
  }

  #listenSoon(): void {
    if (this.#isClosed || this.#wakes.size === 0 || this.#retry) return
    this.#retry = setTimeout(async () => {
      this.#retry = null
      await this.#listen()
      // Something may have been missed meanwhile.
      if (!this.#retry) this.wake([-1])
    }, this.#retryMs).unref()
    this.#retryMs = Math.min(this.#retryMs * 2, RETRY_MS.most)
  }

  #heard(channel: string, message: string): void {
    const [sender, buckets = ''] = message.split(':')
    if (channel !== this.channel || sender === this.self) return
    this.wake(buckets.split(',').map(Number).filter(Number.isInteger))
  }
}
