import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Book, type ChargeRequest } from './book.js'

/** What goes wrong with a request, as it does at real providers. */
export const FAULTS = ['answer-lost', 'slow', 'error-after', 'error-before', 'reset', 'declined'] as const
export type Fault = (typeof FAULTS)[number]

/** A slow answer comes after this long. */
const SLOW_MS = 1_500
const BODY_BYTES = 65_536

export interface ProviderOptions {
  readonly file: string
  readonly port?: number
  /** How long idempotency keys are honoured, in milliseconds. */
  readonly keepMs: number
  /** Told of each charge once it is in the book and before it is answered. */
  readonly charged?: (reference: string) => void
}

/**
 * A small payment service.
 *
 *   POST /charges             Idempotency-Key: …   → 201, 200 on a replay, 409 for the key with another body, 402 declined
 *   GET  /charges?key=…       by idempotency key   → 200 or 404
 *   GET  /charges?reference=… by the application's reference
 *   POST /faults              { "fault": "answer-lost", "times": 3 }: what happens to the next charges
 */
export class Provider {
  readonly #book: Book
  readonly #server: Server
  readonly #options: ProviderOptions
  readonly #faults: Fault[] = []

  private constructor(options: ProviderOptions) {
    this.#options = options
    this.#book = new Book(options.file, options.keepMs)
    this.#server = createServer((request, response) => void this.#answer(request, response))
  }

  static async start(options: ProviderOptions): Promise<Provider> {
    const provider = new Provider(options)
    provider.#server.listen(options.port ?? 0, '127.0.0.1')
    await once(provider.#server, 'listening')
    return provider
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  fault(fault: Fault, times = 1): void {
    for (let i = 0; i < times; i++) this.#faults.push(fault)
  }

  /** Faults that have met no charge yet. */
  get pending(): number {
    return this.#faults.length
  }

  async stop(): Promise<void> {
    this.#server.close()
    this.#server.closeAllConnections()
    await once(this.#server, 'close')
    this.#book.close()
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const url = new URL(request.url ?? '/', 'http://provider')
      const body = request.method === 'POST' ? await bodyOf(request) : null
      const what = `${request.method} ${url.pathname}`
      if (what === 'POST /charges') return await this.#charge(request, response, body as ChargeRequest)
      if (what === 'GET /charges') return this.#find(url, response)
      if (what === 'POST /faults') return this.#order(response, body as { fault: Fault; times?: number })
      send(response, 404, { error: `there is no ${what}` })
    } catch (error) {
      send(response, 400, { error: String(error) })
    }
  }

  async #charge(request: IncomingMessage, response: ServerResponse, body: ChargeRequest): Promise<void> {
    const fault = this.#faults.shift()
    if (fault === 'reset') return void request.socket.destroy()
    if (fault === 'error-before') return send(response, 500, { error: 'nothing was done' })
    if (fault === 'declined') return send(response, 402, { error: 'card declined', code: 51 })
    const key = request.headers['idempotency-key']
    const charged = this.#book.charge(typeof key === 'string' ? key : null, body)
    if ('conflict' in charged) return send(response, 409, { error: 'this key was used with another body' })
    this.#options.charged?.(body.reference)
    if (fault === 'answer-lost') return void request.socket.destroy()
    if (fault === 'error-after') return send(response, 500, { error: 'something went wrong' })
    if (fault === 'slow') await new Promise((resolve) => setTimeout(resolve, SLOW_MS))
    send(response, charged.isReplay ? 200 : 201, charged.charge)
  }

  #find(url: URL, response: ServerResponse): void {
    const key = url.searchParams.get('key')
    const found =
      key === null
        ? this.#book.find('reference', url.searchParams.get('reference') ?? '')
        : this.#book.find('idempotency_key', key)
    send(response, found === null ? 404 : 200, found ?? { error: 'no such charge' })
  }

  #order(response: ServerResponse, { fault, times }: { fault: Fault; times?: number }): void {
    if (FAULTS.includes(fault)) {
      this.fault(fault, times)
      send(response, 200, { faults: this.#faults })
    } else send(response, 400, { error: `known faults are ${FAULTS.join(', ')}` })
  }
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  let text = ''
  request.setEncoding('utf8')
  for await (const chunk of request) {
    text += chunk
    if (text.length > BODY_BYTES) throw new Error('the body is too large')
  }
  return JSON.parse(text)
}

function send(response: ServerResponse, status: number, body: unknown): void {
  if (response.destroyed) return
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body))
}
