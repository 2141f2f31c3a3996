import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, rmSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { BUNDLES, bundleMain, type Child, start } from './children.js'
import { type OwnServer, ownServer } from './servers/index.js'

const SCRIPT = join(BUNDLES, `bullmq-away-${randomUUID()}.mjs`)

beforeAll(async () => {
  mkdirSync(BUNDLES, { recursive: true })
  await bundleMain('bullmq/away.js', SCRIPT)
})
afterAll(() => rmSync(SCRIPT))

/** What stands between a node and its Redis, until it says nothing any more. */
class Way {
  private readonly sockets = new Set<Socket>()
  private constructor(private readonly server: Server) {}

  static async to(url: string): Promise<Way> {
    const { port, hostname } = new URL(url)
    const server = createServer((socket) => {
      const there = connect(Number(port), hostname)
      for (const one of [socket, there]) way.sockets.add(one.on('error', () => undefined))
      socket.pipe(there).pipe(socket)
    })
    const way = new Way(server)
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return way
  }

  get url(): string {
    return `redis://127.0.0.1:${(this.server.address() as AddressInfo).port}`
  }

  silence(): void {
    for (const socket of this.sockets) socket.unpipe().pause()
  }

  end(): void {
    for (const socket of this.sockets) socket.destroy()
    this.server.close()
  }
}

describe('a process whose BullMQ', () => {
  let child: Child
  let server: OwnServer | null = null
  let way: Way | null = null
  afterEach(async () => {
    child.process.kill('SIGKILL')
    way?.end()
    await server?.end()
    way = null
    server = null
  })

  /** It has a run in hand, is asked to end, and ends by itself. */
  async function endsByItself(): Promise<void> {
    child.process.kill('SIGTERM')
    let said: unknown
    do said = await child.line()
    while (!Object.hasOwn(said as object, 'closed'))
    expect(await child.ended()).toEqual({ code: 0, signal: null, errors: '' })
  }

  it('was never there ends when it is asked to', async () => {
    child = start(SCRIPT, ['redis://127.0.0.1:1'])
    expect(await child.line()).toEqual({ key: expect.any(String) })
    await endsByItself()
  })

  it('has gone ends when it is asked to', async () => {
    server = await ownServer('redis')
    child = start(SCRIPT, [server.url])
    expect(await child.line()).toEqual({ key: expect.any(String) })
    await server.kill()
    await endsByItself()
  })

  it('is silent ends when it is asked to', async () => {
    server = await ownServer('redis')
    way = await Way.to(server.url)
    child = start(SCRIPT, [way.url])
    expect(await child.line()).toEqual({ key: expect.any(String) })
    way.silence()
    await endsByItself()
  })

  it('is there ends at once', async () => {
    server = await ownServer('redis')
    child = start(SCRIPT, [server.url])
    expect(await child.line()).toEqual({ key: expect.any(String) })
    await endsByItself()
  })
})
