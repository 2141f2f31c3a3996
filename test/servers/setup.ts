import { once } from 'node:events'
import { mkdirSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { TestProject } from 'vitest/node'
import { BUNDLES, bundleMain, type Child, start } from '../children.js'
import type { Order } from './warden.js'

declare module 'vitest' {
  interface ProvidedContext {
    /** Where tests ask for servers: a port of the loopback. */
    servers: number
  }
}

const script = join(BUNDLES, `servers-${process.pid}.mjs`)
let warden: Promise<Warden> | null = null
const broker = createServer()

/** Once per run: listens for tests that need a server. Nothing is started before one asks. */
export async function setup(project: TestProject): Promise<void> {
  broker.on('request', (request, response) => {
    text(request)
      .then(async (body) => {
        warden ??= Warden.start()
        return (await warden).ask(JSON.parse(body) as Order)
      })
      .then(
        (told) => response.end(JSON.stringify(told)),
        (error) => response.writeHead(500).end(error instanceof Error ? error.message : String(error)),
      )
  })
  broker.listen(0, '127.0.0.1')
  await once(broker, 'listening')
  project.provide('servers', (broker.address() as { port: number }).port)
}

export async function teardown(): Promise<void> {
  broker.close()
  broker.closeAllConnections()
  await (await warden)?.end()
  rmSync(script, { force: true })
}

/** The process that has the servers; it ends them when it hears no more of this one. */
class Warden {
  readonly #child: Child
  readonly #waiting = new Map<number, (answer: { told?: unknown; error?: string }) => void>()
  #number = 0

  private constructor(child: Child) {
    this.#child = child
    void this.#listen()
  }

  static async start(): Promise<Warden> {
    mkdirSync(BUNDLES, { recursive: true })
    await bundleMain('servers/warden.ts', script)
    return new Warden(start(script, []))
  }

  async ask(order: Order): Promise<unknown> {
    const number = ++this.#number
    const answered = new Promise<{ told?: unknown; error?: string }>((resolve) => this.#waiting.set(number, resolve))
    this.#child.process.stdin?.write(`${JSON.stringify({ number, order })}\n`)
    const { told, error } = await answered
    if (error !== undefined) throw new Error(error)
    return told
  }

  async end(): Promise<void> {
    this.#child.process.stdin?.end()
    await this.#child.ended()
  }

  async #listen(): Promise<void> {
    for (let next = await this.#child.lines.next(); !next.done; next = await this.#child.lines.next()) {
      const { number, ...answer } = JSON.parse(String(next.value)) as { number: number }
      this.#waiting.get(number)?.(answer)
      this.#waiting.delete(number)
    }
    const { errors } = await this.#child.ended()
    for (const answer of this.#waiting.values()) answer({ error: `The process that has the servers ended: ${errors}` })
  }
}
