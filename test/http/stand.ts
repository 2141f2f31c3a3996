import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createFleet, type Fleet } from '../../src/fleet/fleet.js'
import type { JobOptions } from '../../src/fleet/job-options.js'
import type { Run } from '../../src/fleet/run.js'
import {
  createHttpHandler,
  type HttpOptions,
  type SignRequestInput,
  signRequest,
  toNodeHandler,
} from '../../src/http/index.js'
import { createMemoryStore } from '../../src/store/memory/index.js'
import type { Store } from '../../src/store/port.js'

export const LIVE = 'secret-that-is-live-0123456789abcdef'
export const NEXT = 'secret-that-follows-0123456789abcdef'
export const TOKEN = 'token-of-more-than-32-characters-0123'

export interface Answer {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: a test says what it expects.
  readonly body: any
}

export interface Asking extends Partial<Omit<SignRequestInput, 'url' | 'body'>> {
  readonly body?: unknown
  readonly headers?: Record<string, string>
}

/** A handler that ends when its signal fires. */
export function untilSignal({ signal }: Run): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
}

/** Nodes of one fleet, each with a web server of its own. */
export class Stand {
  readonly fleets: Fleet[] = []
  readonly urls: string[] = []
  readonly lines: string[] = []
  private readonly servers: Server[] = []

  constructor(readonly store: Store = createMemoryStore()) {}

  async node(
    handler: (run: Run) => unknown = () => 'done',
    job: JobOptions = {},
    options: HttpOptions = { secrets: [LIVE, NEXT], tokens: [TOKEN] },
  ): Promise<Fleet> {
    const fleet = createFleet({ fleet: 'http', service: 'app', store: this.store, logger: false })
    fleet.job('it', job, handler)
    await fleet.start()
    this.fleets.push(fleet)
    const log = (line: string) => void this.lines.push(line)
    await this.serve(toNodeHandler(createHttpHandler(fleet, { log, ...options })))
    return fleet
  }

  async serve(listener: RequestListener): Promise<string> {
    const server = createServer(listener)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    this.servers.push(server)
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    this.urls.push(url)
    return url
  }

  /** Signs a request and sends it over a socket. */
  ask(target: string, { body, headers = {}, ...asking }: Asking = {}, node = 0): Promise<Answer> {
    const text = bodyText(body)
    const signed = signRequest({ secret: LIVE, url: target, body: text, ...asking })
    return this.send(target, { method: asking.method ?? 'POST', body: text, headers: { ...signed, ...headers } }, node)
  }

  /** Sends a request as it is. */
  async send(target: string, { body, ...init }: RequestInit & { body?: Bytes }, node = 0): Promise<Answer> {
    const response = await fetch(`${this.urls[node]}${target}`, { ...init, ...(body ? { body } : {}) })
    return answerOf(response)
  }

  async end(): Promise<void> {
    for (const server of this.servers) server.closeAllConnections()
    await Promise.all(this.servers.map((server) => new Promise((resolve) => server.close(resolve))))
    for (const fleet of this.fleets) await fleet.stop({ grace: 0 })
  }
}

export async function answerOf(response: Response): Promise<Answer> {
  const text = await response.text()
  return { status: response.status, headers: response.headers, body: text === '' ? null : JSON.parse(text) }
}

type Bytes = string | Uint8Array<ArrayBuffer>

function bodyText(body: unknown): Bytes {
  if (body === undefined) return ''
  if (body instanceof Uint8Array) return body as Uint8Array<ArrayBuffer>
  return typeof body === 'string' ? body : JSON.stringify(body)
}

export const RUNS = '/fleetcron/jobs/it/runs'
