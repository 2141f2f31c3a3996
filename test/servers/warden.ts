import { createInterface } from 'node:readline'
import type { Server } from './engine.js'
import { ENGINES } from './engines.js'
import { givenServer, startServer } from './obtain.js'

/** What the test process asks for, a line of JSON each; the answer bears the same number. */
export type Order =
  /** The server of an engine that all tests share; started when it is asked for first. */
  | { readonly do: 'share'; readonly engine: string }
  /** A server for one test. */
  | { readonly do: 'start'; readonly engine: string }
  /** To a server that was started for one test. */
  | { readonly do: 'end' | 'kill' | 'again'; readonly server: number }

export interface Told {
  readonly server: number
  readonly url: string
  readonly log: string | null
}

/**
 * A process of its own starts the servers and ends them: when it is told to, and when the test process is gone for
 * whatever reason, which it learns by the end of its standard input.
 */
export async function main(): Promise<void> {
  // An interrupt from the keyboard reaches this process too; the end of its input is what counts.
  for (const signal of ['SIGINT', 'SIGHUP'] as const) process.on(signal, () => {})
  const shared = new Map<string, Promise<number>>()
  const servers: Server[] = []
  const isEnded = new Set<number>()

  async function start(name: string, isDurable = true): Promise<number> {
    const engine = ENGINES.get(name)
    if (!engine) throw new Error(`There is no engine ${name}.`)
    return servers.push(await startServer(engine, shareServer, isDurable)) - 1
  }
  function share(name: string): Promise<number> {
    const engine = ENGINES.get(name)
    const given = engine ? givenServer(engine) : null
    const known = shared.get(name) ?? (given ? Promise.resolve(servers.push(given) - 1) : start(name, false))
    shared.set(name, known)
    return known
  }
  async function shareServer(name: string): Promise<Server> {
    return at(await share(name))
  }
  function at(server: number): Server {
    const found = servers[server]
    if (!found) throw new Error(`There is no server ${server}.`)
    return found
  }
  async function carryOut(order: Order): Promise<Told> {
    const server =
      'server' in order ? order.server : await (order.do === 'share' ? share(order.engine) : start(order.engine))
    if (order.do === 'kill' || order.do === 'again' || order.do === 'end') await at(server)[order.do]()
    if (order.do === 'end') isEnded.add(server)
    return { server, url: at(server).url, log: at(server).log }
  }

  const say = (answer: unknown) => process.stdout.write(`${JSON.stringify(answer)}\n`)
  for await (const line of createInterface({ input: process.stdin })) {
    const { number, order } = JSON.parse(line) as { number: number; order: Order }
    carryOut(order).then(
      (told) => say({ number, told }),
      (error) => say({ number, error: error instanceof Error ? error.message : String(error) }),
    )
  }
  await Promise.allSettled(shared.values())
  // The last ones first: a pooler before the server behind it.
  for (const [server, each] of [...servers.entries()].reverse()) {
    if (!isEnded.has(server)) await each.end().catch(() => undefined)
  }
  process.exit(0)
}
