import { type ClientRequest, Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { ERROR_CODES, type ErrorCode, FleetcronError } from '../../errors.js'
import { unanswered, unusable } from '../unavailable.js'
import type { Address } from './address.js'
import { pathOf } from './wire.js'

/** A larger answer is not the ledger's. */
const MOST_BYTES = 256 * 1024 * 1024

/** Connections that are kept for calls. Beats have one of their own, so that no page of rows delays them. */
const SOCKETS = 16

/** That a body is larger than the server takes: sent in parts it may pass. */
export class TooLarge extends Error {}

/** HTTP to one server: connections are kept, every call has a deadline, and no redirect is followed. */
export class Transport {
  readonly #address: Address
  readonly #fleet: string
  readonly #ca: string | undefined
  #agents = new Map<string, HttpAgent>()

  constructor(address: Address, fleet: string, ca: string | undefined) {
    this.#address = address
    this.#fleet = fleet
    this.#ca = ca
  }

  get place(): string {
    return this.#address.place
  }

  /**
   * Calls a method of the port and gives its JSON.
   * @throws `TooLarge`, `STORE_UNAVAILABLE`, or what the store behind the server said
   */
  async call(method: string, body: unknown, deadlineMs: number): Promise<unknown> {
    const sent = Buffer.from(JSON.stringify(body))
    const deadline = AbortSignal.timeout(deadlineMs)
    try {
      // A kept connection may have been closed from the other end while it was idle: that says nothing about the server.
      const { status, text } = await this.#exchange(method, sent, deadline).catch((error) => {
        if (error instanceof ClosedWhileIdle) return this.#exchange(method, sent, deadline)
        throw error
      })
      return this.#understood(method, status, text)
    } catch (error) {
      if (error instanceof FleetcronError || error instanceof TooLarge) throw error
      throw this.#away(error, deadline.aborted ? deadlineMs : null)
    }
  }

  /** Opens the stream of wake-ups; null where the store has none to tell. */
  async stream(silenceMs: number, signal: AbortSignal): Promise<IncomingMessage | null> {
    const request = this.#request('GET', 'wakes', 'wakes', signal)
    request.setTimeout(silenceMs, () => request.destroy(new Error('silent')))
    request.end()
    const response = await responseOf(request)
    response.socket.unref()
    if (response.statusCode === 200) return response
    response.destroy()
    if (response.statusCode === 204) return null
    throw new Error(`no stream: ${response.statusCode}`)
  }

  /** Lets go of idle connections; the next call makes new ones. */
  close(): void {
    for (const agent of this.#agents.values()) agent.destroy()
    this.#agents = new Map()
  }

  async #exchange(method: string, body: Buffer, signal: AbortSignal): Promise<{ status: number; text: string }> {
    const request = this.#request('POST', method, method === 'beat' ? 'beat' : 'calls', signal)
    request.setHeader('content-type', 'application/json')
    request.setHeader('content-length', body.length)
    request.end(body)
    const response = await responseOf(request)
    return { status: response.statusCode ?? 0, text: await textOf(response) }
  }

  #request(verb: string, method: string, line: string, signal: AbortSignal): ClientRequest {
    const { protocol, hostname, port, base, token } = this.#address
    const send = protocol === 'https:' ? httpsRequest : httpRequest
    return send({
      host: hostname,
      port,
      method: verb,
      path: `${base}${pathOf(this.#fleet, method)}`,
      agent: this.#agent(line),
      signal,
      headers: {
        authorization: `Bearer ${token}`,
        accept: method === 'wakes' ? 'text/event-stream' : 'application/json',
      },
    })
  }

  #agent(line: string): HttpAgent {
    const known = this.#agents.get(line)
    if (known) return known
    const options = { keepAlive: true, maxSockets: line === 'calls' ? SOCKETS : 4 }
    const isSecure = this.#address.protocol === 'https:'
    const agent = isSecure ? new HttpsAgent({ ...options, ...(this.#ca && { ca: this.#ca }) }) : new HttpAgent(options)
    this.#agents.set(line, agent)
    return agent
  }

  #understood(method: string, status: number, text: string): unknown {
    const body = jsonOf(text)
    if (status === 200 && body !== undefined) return body
    if (status === 413) throw new TooLarge()
    const { error } = (body ?? {}) as { error?: { code?: unknown; message?: unknown } }
    if (typeof error?.message === 'string') {
      const known = ERROR_CODES.find((code) => code === error.code)
      throw this.#refused(status, known ?? 'STORE_UNAVAILABLE', error.message)
    }
    if (status >= 300 && status < 400) throw unusable(this.place, 'it answers with a redirect, which is not followed')
    const what = status === 200 ? 'with something that is not JSON' : `${status} to ${method}`
    throw unusable(this.place, `it answers ${what}: is it \`fleetcron serve\` that listens there?`)
  }

  #refused(status: number, code: ErrorCode, message: string): FleetcronError {
    if (status === 401) {
      return unusable(
        this.place,
        'it refused the token: FLEETCRON_STORE_TOKEN has to be a line of the file that it was started with',
      )
    }
    // The other end's sentence, on one line and of bounded length, whoever wrote it.
    return new FleetcronError(code, message.replace(/\s+/g, ' ').slice(0, 2_000))
  }

  #away(error: unknown, deadlineMs: number | null): FleetcronError {
    if (deadlineMs !== null) return unanswered(this.place, deadlineMs)
    return unusable(this.place, whyAway(error), error)
  }
}

class ClosedWhileIdle extends Error {}

function responseOf(request: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request.once('response', resolve)
    request.on('error', (error: NodeJS.ErrnoException) => {
      const isClosed = request.reusedSocket && (error.code === 'ECONNRESET' || error.code === 'EPIPE')
      reject(isClosed ? new ClosedWhileIdle() : error)
    })
  })
}

async function textOf(response: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of response as AsyncIterable<Buffer>) {
    bytes += part.length
    if (bytes > MOST_BYTES) throw new Error('the answer is too large')
    parts.push(part)
  }
  return Buffer.concat(parts).toString('utf8')
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const SENTENCES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nobody listens there: is `fleetcron serve` running, and is the port right?',
  ENOTFOUND: 'its host is not known: look at the name',
  EAI_AGAIN: 'its host could not be looked up just now',
  ETIMEDOUT: 'its host does not answer',
  EHOSTUNREACH: 'its host cannot be reached',
  ENETUNREACH: 'its network cannot be reached',
  ECONNRESET: 'the connection was cut',
  EPIPE: 'the connection was cut',
  EPROTO: 'it does not speak TLS: is the URL to begin with http://?',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is signed by itself: name it in NODE_EXTRA_CA_CERTS',
  SELF_SIGNED_CERT_IN_CHAIN: "its certificate's authority is not known: name it in NODE_EXTRA_CA_CERTS",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "its certificate's authority is not known: name it in NODE_EXTRA_CA_CERTS",
  CERT_HAS_EXPIRED: 'its certificate has expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
}

function whyAway(error: unknown): string {
  const code = String((error as { code?: unknown } | null)?.code)
  const inner = error instanceof AggregateError ? error.errors.map((each) => String(each?.code)) : []
  const known = [code, ...inner].find((each) => each in SENTENCES)
  if (known !== undefined) return SENTENCES[known] ?? ''
  return error instanceof Error && error.message === 'the answer is too large'
    ? error.message
    : `the call failed (${code})`
}
