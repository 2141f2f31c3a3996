import type { IncomingMessage, ServerResponse } from 'node:http'
import { isAdmitted } from '../../bearer.js'
import { type ErrorCode, FleetcronError } from '../../errors.js'
import type { Store } from '../port.js'
import { CALLS } from './calls.js'
import { Malformed } from './checks.js'
import type { Streams } from './streams.js'
import { VERSION, type WireError } from './wire.js'

export interface HandlerOptions {
  readonly store: Store
  readonly fleet: string
  readonly tokens: () => readonly string[]
  readonly streams: Streams
  readonly maxBodyBytes: number
  /** How long the store may take for one call, in ms. */
  readonly callMs: number
  readonly log: (line: string) => void
  readonly isStopping: () => boolean
}

/** A refusal with its status. */
class Refusal extends Error {
  constructor(
    readonly status: number,
    readonly code: ErrorCode,
    message: string,
  ) {
    super(message)
  }
}

/** Answers one request. Nothing that arrives, and nothing that the store throws, gets past this. */
export async function handle(options: HandlerOptions, request: IncomingMessage, response: ServerResponse) {
  if (options.isStopping()) response.setHeader('connection', 'close')
  try {
    if (request.url === '/healthz') {
      send(response, options.isStopping() ? 503 : 200, { ok: !options.isStopping() })
      return
    }
    const method = methodOf(options, request)
    if (method === 'wakes') await options.streams.add(response)
    else send(response, 200, await carryOut(options, method, request))
  } catch (error) {
    refuse(options, request, response, error)
  }
}

/** The method that is asked for; whoever has no token learns nothing, not even whether there is such a path. */
function methodOf({ fleet, tokens }: HandlerOptions, request: IncomingMessage): string {
  if (!isAdmitted(request.headers.authorization, tokens())) {
    throw new Refusal(401, 'STORE_UNAVAILABLE', 'The token is missing or wrong.')
  }
  const [, version, word, name = '', method = '', ...rest] = (request.url ?? '').split('/')
  if (version !== VERSION || word !== 'fleets' || rest.length > 0) {
    throw new Refusal(404, 'OPTION_INVALID', `This server of a ledger speaks /${VERSION}/fleets/<fleet>/<method> only.`)
  }
  if (decoded(name) !== fleet) {
    const message = `The server keeps the ledger of fleet '${fleet}' and of no other: name that fleet, or start a server for yours.`
    throw new Refusal(404, 'OPTION_INVALID', message)
  }
  if (method !== 'wakes' && !CALLS.has(method)) {
    const message = 'The server of the ledger does not know this method: upgrade fleetcron where it runs.'
    throw new Refusal(404, 'OPTION_INVALID', message)
  }
  const verb = method === 'wakes' ? 'GET' : 'POST'
  if (request.method !== verb) throw new Refusal(405, 'OPTION_INVALID', `The method ${method} is asked by ${verb}.`)
  return method
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}

async function carryOut(options: HandlerOptions, method: string, request: IncomingMessage): Promise<unknown> {
  const call = CALLS.get(method)
  if (call === undefined) throw new Error(method)
  const body = parsed(await bodyOf(request, options.maxBodyBytes))
  call.check(body, '')
  return within(options.callMs, call.act(options.store, body as never))
}

async function bodyOf(request: IncomingMessage, most: number): Promise<Buffer> {
  const encoding = request.headers['content-encoding'] ?? 'identity'
  if (encoding !== 'identity') throw new Refusal(415, 'OPTION_INVALID', 'A body has to come as it is, not compressed.')
  if (Number(request.headers['content-length'] ?? 0) > most) throw tooLarge(most)
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of request as AsyncIterable<Buffer>) {
    bytes += part.length
    if (bytes > most) throw tooLarge(most)
    parts.push(part)
  }
  return Buffer.concat(parts)
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body))
  } catch {
    throw new Malformed('the body has to be JSON in UTF-8')
  }
}

function tooLarge(most: number): Refusal {
  return new Refusal(413, 'OPTION_INVALID', `A body has at most ${most} bytes.`)
}

/** The store's own deadlines are shorter; this one is for a store of somebody's own that has none. */
async function within<T>(ms: number, result: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    const why = `The store behind the server did not answer in ${ms} ms; whether the call took effect is not known.`
    timer = setTimeout(() => reject(new FleetcronError('STORE_UNAVAILABLE', why)), ms)
  })
  try {
    return await Promise.race([result, late])
  } finally {
    clearTimeout(timer)
  }
}

const STATUS: Partial<Record<ErrorCode, number>> = { STORE_UNAVAILABLE: 503, STORE_NEWER: 503 }

function refuse(options: HandlerOptions, request: IncomingMessage, response: ServerResponse, error: unknown): void {
  // Whoever has gone needs no answer; a body that is not read to its end ends the connection.
  if (response.destroyed || response.headersSent) {
    response.destroy()
    return
  }
  if (!request.complete) response.setHeader('connection', 'close')
  if (error instanceof Refusal) {
    if (error.status === 401) response.setHeader('www-authenticate', 'Bearer')
    send(response, error.status, { error: { code: error.code, message: error.message } })
  } else if (error instanceof Malformed) {
    const message = `The server refused a call: ${error.message}. Both ends need versions of fleetcron that go together.`
    send(response, 400, { error: { code: 'OPTION_INVALID', message } })
  } else if (error instanceof FleetcronError) {
    send(response, STATUS[error.code] ?? 422, { error: { code: error.code, message: error.message } })
  } else {
    // What it was is for whoever runs the server: it may name what the caller has no business to know.
    options.log(`a call failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`)
    const message = 'The store behind the server failed: the log of `fleetcron serve` says how.'
    send(response, 500, { error: { code: 'STORE_UNAVAILABLE', message } })
  }
}

function send(response: ServerResponse, status: number, body: unknown | WireError): void {
  const text = Buffer.from(JSON.stringify(body))
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': text.length,
    'cache-control': 'no-store',
  })
  response.end(text)
}
