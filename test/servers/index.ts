import { inject } from 'vitest'
import type { Order, Told } from './warden.js'

/** A server as a test has it. */
export interface TestServer {
  readonly url: string
  /** The file in which it writes about itself; null where it is somebody else's. */
  readonly log: string | null
}

/** A server that one test has to itself and may break. */
export interface OwnServer extends TestServer {
  kill(): Promise<void>
  again(): Promise<void>
  end(): Promise<void>
}

/** The server of an engine that all tests of a run share: each makes a place of its own in it. */
export function sharedServer(engine: string): Promise<TestServer> {
  return ask({ do: 'share', engine })
}

export async function ownServer(engine: string): Promise<OwnServer> {
  const { server, url, log } = await ask({ do: 'start', engine })
  const tell = (what: 'kill' | 'again' | 'end') => async () => void (await ask({ do: what, server }))
  return { url, log, kill: tell('kill'), again: tell('again'), end: tell('end') }
}

async function ask(order: Order): Promise<Told> {
  const response = await fetch(`http://127.0.0.1:${inject('servers')}/`, {
    method: 'POST',
    body: JSON.stringify(order),
  })
  const body = await response.text()
  if (!response.ok) throw new Error(body)
  return JSON.parse(body) as Told
}
