import { performance } from 'node:perf_hooks'
import { MessageChannel } from 'node:worker_threads'

/** How long, in real milliseconds, a handler may wait for something outside before it is taken to wait for the clock. */
const PATIENCE_MS = 2_000

/**
 * Turns of the event loop. Between two of them every promise that can go on has gone on. They come by a message port and
 * are measured by node:perf_hooks, since a test framework may have put fakes in place of every timer.
 */
export class Turns {
  readonly #channel = new MessageChannel()
  readonly #waiting: (() => void)[] = []

  constructor() {
    this.#channel.port1.on('message', () => this.#waiting.shift()?.())
  }

  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve)
      this.#channel.port2.postMessage(null)
    })
  }

  /** At least one turn, and more while `isBusy`, for as long as patience lasts. False: it is still busy. */
  async untilIdle(isBusy: () => boolean): Promise<boolean> {
    await this.next()
    const until = performance.now() + PATIENCE_MS
    while (isBusy()) {
      if (performance.now() > until) return false
      await this.next()
    }
    return true
  }

  close(): void {
    this.#channel.port1.close()
  }
}
