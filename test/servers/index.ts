import { inject } from 'vitest'
import type { Order, Told } from './warden.js'

/** A server as a test has it. */
export interface TestServer {
  readonly url: string
  /** The file in which it writes about itself; null where it is somebody else's. */
  readonly log: string | null
}

/** The server of an engine that all tests of a run share: each makes a place of its own in it. */
export function sharedServer(engine: string): Promise<TestServer> {
  return ask({ do: 'share', engine })
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
