import type { IncomingMessage } from 'node:http'
import type { Transport } from './transport.js'

/** The server says something at least every 15 s: so long a silence means that the connection is dead. */
const SILENCE_MS = 45_000

/** Between two tries to listen again, doubled each time and drawn from the upper half. */
const FIRST_WAIT_MS = 250
const LONGEST_WAIT_MS = 30_000

/** More than a line of the stream ever has. */
const LONGEST_LINE = 1_000

/**
 * Hears the server's wake-ups on one stream for all subscribers. A stream that breaks is opened again, each time after a
 * longer while; what was told meanwhile is lost, so then everybody is told to look at once.
 */
export class Listener {
  readonly #transport: Transport
  readonly #wakers = new Set<(bucket: number) => void>()
  #stop: AbortController | null = null
  #first: Promise<void> = Promise.resolve()

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /** Resolves once the stream is open, or the first try has failed: it is only a hint. */
  async add(wake: (bucket: number) => void): Promise<() => void> {
    const own = (bucket: number) => wake(bucket)
    this.#wakers.add(own)
    if (this.#stop === null) this.#begin()
    await this.#first
    return () => {
      this.#wakers.delete(own)
      if (this.#wakers.size === 0) this.end()
    }
  }

  end(): void {
    this.#wakers.clear()
    this.#stop?.abort()
    this.#stop = null
  }

  #begin(): void {
    const stop = new AbortController()
    this.#stop = stop
    this.#first = new Promise((resolve) => {
      void this.#listen(stop.signal, resolve)
    })
  }

  async #listen(signal: AbortSignal, tried: () => void): Promise<void> {
    let waitMs = FIRST_WAIT_MS
    for (let isAgain = false; !signal.aborted; isAgain = true) {
      try {
        const stream = await this.#transport.stream(SILENCE_MS, signal)
        tried()
        if (stream === null) return
        if (isAgain) this.#tell(-1)
        waitMs = FIRST_WAIT_MS
        await this.#hear(stream)
      } catch {
        // What failed is told by the calls; here only the next try matters.
      }
      tried()
      await pause(waitMs * (0.5 + Math.random() / 2), signal)
      waitMs = Math.min(LONGEST_WAIT_MS, waitMs * 2)
    }
  }

  async #hear(stream: IncomingMessage): Promise<void> {
    let rest = ''
    stream.setEncoding('utf8')
    for await (const part of stream as AsyncIterable<string>) {
      const lines = (rest + part).split('\n')
      rest = lines.pop() ?? ''
      if (rest.length > LONGEST_LINE) throw new Error('not a stream of wake-ups')
      for (const line of lines) {
        const [, bucket] = /^data: (-1|\d{1,3})$/.exec(line) ?? []
        if (bucket !== undefined) this.#tell(Number(bucket))
      }
    }
  }

  #tell(bucket: number): void {
    for (const wake of [...this.#wakers]) wake(bucket)
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, ms)
    // Nothing but a hint waits here: the process may end.
    timer.unref()
    signal.addEventListener('abort', done, { once: true })
    function done() {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
  })
}
