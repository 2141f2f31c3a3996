import type { IncomingMessage, ServerResponse } from 'node:http'
import { BODY_LIMIT } from './body.js'
import type { HttpHandler } from './handler.js'
import { Problem, problemResponse } from './problem.js'

/** For `http.createServer`, and as middleware of Express and its likes: what is not under the handler's path goes to `next`. */
export type NodeHandler = (request: IncomingMessage, response: ServerResponse, next?: (error?: unknown) => void) => void

/** What frameworks leave on a request: the URL before they cut it, and a body that they have read already. */
type Parsed = IncomingMessage & { originalUrl?: string; rawBody?: Uint8Array; body?: unknown }

/** Lets Node's own server, Express or Connect speak to a fetch-style handler. */
export function toNodeHandler(handler: HttpHandler): NodeHandler {
  return (request, response, next) => {
    const target = (request as Parsed).originalUrl ?? request.url ?? '/'
    if (next !== undefined && !isUnder(handler.path, target)) next()
    else void serve(handler, request, response, target)
  }
}

function isUnder(path: string, target: string): boolean {
  return target === path || target.startsWith(`${path}/`) || target.startsWith(`${path}?`)
}

async function serve(handler: HttpHandler, request: IncomingMessage, response: ServerResponse, target: string) {
  try {
    await send(await handler(await requestOf(request, target)), request, response)
  } catch (error) {
    if (error instanceof Problem) await send(problemResponse(error), request, response)
    // Whoever has gone needs no answer.
    else response.destroy()
  }
}

async function requestOf(request: IncomingMessage, target: string): Promise<Request> {
  const { method = 'GET' } = request
  const headers = new Headers()
  for (const [name, value] of Object.entries(request.headers)) {
    // HTTP/2 has its path and method among the headers.
    if (name.startsWith(':')) continue
    for (const one of Array.isArray(value) ? value : [value ?? '']) headers.append(name, one)
  }
  const url = URL.canParse(`http://localhost${target}`) && target.startsWith('/') ? `http://localhost${target}` : null
  if (url === null) throw new Problem(400, 'PATH_UNKNOWN', 'The target of the request is no path.')
  if (method === 'GET' || method === 'HEAD') return new Request(url, { method, headers })
  if (['CONNECT', 'TRACE', 'TRACK'].includes(method))
    throw new Problem(405, 'METHOD_UNKNOWN', 'This method has no meaning here.')
  return new Request(url, { method, headers, body: await bodyOf(request as Parsed) })
}

/** The body, up to one byte more than the handler takes: it says that this is too much. */
async function bodyOf(request: Parsed): Promise<Uint8Array> {
  if (request.rawBody !== undefined) return request.rawBody
  if (request.readableEnded && request.body !== undefined) return parsedAlready(request)
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    parts.push(part)
    bytes += part.length
    if (bytes > BODY_LIMIT) break
  }
  return Buffer.concat(parts).subarray(0, BODY_LIMIT + 1)
}

/** A parser stood in front of the door. What it made of the body says the same; what was signed cannot be seen any more. */
function parsedAlready({ body, headers }: Parsed): Uint8Array {
  if ('fleetcron-signature' in headers) {
    const message =
      'A parser has read the body before the door could: mount the door in front of it, or keep the raw body.'
    throw new Problem(400, 'BODY_INVALID', message)
  }
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
}

async function send(answer: Response, request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (response.destroyed || response.headersSent) {
    response.destroy()
    return
  }
  const body = Buffer.from(await answer.arrayBuffer())
  // A body that is not read to its end ends the connection.
  if (!request.complete && request.httpVersionMajor === 1) response.setHeader('connection', 'close')
  for (const [name, value] of answer.headers) response.setHeader(name, value)
  response.setHeader('content-length', body.length)
  response.statusCode = answer.status
  response.end(body)
}
