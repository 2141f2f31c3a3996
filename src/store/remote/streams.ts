import type { ServerResponse } from 'node:http'
import type { Store } from '../port.js'

/** Something is said so often, that the other end and every proxy between know that the line is alive. */
const PING_MS = 15_000

/** Streams that are open at once. */
const MOST = 1_000

/** The wake-ups of one store, told to everybody who listens. */
export class Streams {
  readonly #store: Store
  readonly #open = new Set<ServerResponse>()
  /** Those who did not take what was sent last; they are told once that they missed something. */
  readonly #behind = new Set<ServerResponse>()
  #source: Promise<() => Promise<void>> | null = null
  #ping: NodeJS.Timeout | null = null

  constructor(store: Store) {
    this.#store = store
  }

  /** Begins a stream once the store tells its wake-ups to this server. */
  async add(response: ServerResponse): Promise<void> {
    if (this.#store.subscribe === undefined) {
      response.writeHead(204).end()
      return
    }
    if (this.#open.size >= MOST) {
      response.writeHead(503, { 'retry-after': '30' }).end()
      return
    }
    await this.#listen()
    if (response.destroyed) return
    this.#open.add(response)
    response.once('close', () => {
      this.#open.delete(response)
      this.#behind.delete(response)
    })
    response.on('drain', () => {
      if (this.#behind.delete(response)) this.#say(response, 'data: -1\n\n')
    })
    response.writeHead(200, {
      'content-type': 'text/event-stream',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    })
    response.write(':\n\n')
  }

  async end(): Promise<void> {
    if (this.#ping !== null) clearInterval(this.#ping)
    for (const response of this.#open) response.end()
    const source = this.#source
    this.#source = null
    const stop = await source?.catch(() => null)
    await stop?.()
  }

  #listen(): Promise<unknown> {
    this.#ping ??= setInterval(() => this.#tell(':\n\n'), PING_MS).unref()
    this.#source ??= (this.#store.subscribe as NonNullable<Store['subscribe']>)((bucket) =>
      this.#tell(`data: ${bucket}\n\n`),
    )
    // Who cannot listen now asks again later, and then the store is asked again too.
    this.#source.catch(() => {
      this.#source = null
    })
    return this.#source
  }

  #tell(text: string): void {
    for (const response of this.#open) this.#say(response, text)
  }

  #say(response: ServerResponse, text: string): void {
    if (response.writableNeedDrain) this.#behind.add(response)
    else response.write(text)
  }
}
