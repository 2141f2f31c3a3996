import { once } from 'node:events'
import { createServer, connect as dial, type Socket } from 'node:net'

/** A way to a server that can be made silent: what is sent arrives nowhere, and nobody is told. */
export class Detour {
  readonly #server = createServer((near) => this.#join(near))
  readonly #target: URL
  readonly #sockets = new Set<Socket>()

  private constructor(target: string) {
    this.#target = new URL(target)
  }

  static async before(target: string): Promise<Detour> {
    const detour = new Detour(target)
    detour.#server.listen(0, '127.0.0.1')
    await once(detour.#server, 'listening')
    return detour
  }

  get url(): string {
    const url = new URL(this.#target)
    url.hostname = '127.0.0.1'
    url.port = String((this.#server.address() as { port: number }).port)
    return url.href
  }

  /** From now on connections that there are carry nothing; new ones are as good as ever. */
  silence(): void {
    for (const socket of this.#sockets) {
      socket.removeAllListeners('data')
      socket.resume()
    }
    this.#sockets.clear()
  }

  async close(): Promise<void> {
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
    this.#server.unref()
  }

  #join(near: Socket): void {
    const far = dial(Number(this.#target.port), this.#target.hostname)
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      this.#sockets.add(from)
      from.on('data', (data) => to.write(data))
      from.on('error', () => to.destroy())
      from.on('close', () => {
        this.#sockets.delete(from)
        to.destroy()
      })
    }
  }
}
