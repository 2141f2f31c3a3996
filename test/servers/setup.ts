import { once } from 'node:events'
import { mkdirSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { TestProject } from 'vitest/node'
import { BUNDLES, bundleMain } from '../children.js'
import { Servers } from './servers.js'
import type { Order } from './warden.js'

declare module 'vitest' {
  interface ProvidedContext {
    /** Where tests ask for servers: a port of the loopback. */
    servers: number
  }
}

const script = join(BUNDLES, `servers-${process.pid}.mjs`)
let servers: Promise<Servers> | null = null
const broker = createServer()

/** Once per run: listens for tests that need a server. Nothing is started before one asks. */
export async function setup(project: TestProject): Promise<void> {
  broker.on('request', (request, response) => {
    text(request)
      .then(async (body) => {
        servers ??= begin()
        return (await servers).ask(JSON.parse(body) as Order)
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
  await (await servers)?.end()
  rmSync(script, { force: true })
}

async function begin(): Promise<Servers> {
  mkdirSync(BUNDLES, { recursive: true })
  await bundleMain('servers/warden.ts', script)
  return Servers.start(script)
}
