import { createServer as createHttpServer, type Server, type ServerOptions } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { FleetcronError } from '../../errors.js'
import type { Store, StoreInfo } from '../port.js'
import { isLoopback } from './address.js'
import { type HandlerOptions, handle } from './handler.js'
import { Streams } from './streams.js'
import { checkTokens } from './tokens.js'

export interface StoreServerOptions {
  /** What keeps the ledger. It is opened here, and closed by `stop`. */
  readonly store: Store
  /** The fleet whose rows that store sees. */
  readonly fleet: string
  /** One or two tokens of 16 or more characters; a function is asked at every request, so that they can be changed. */
  readonly tokens: readonly string[] | (() => readonly string[])
  /** Default: `127.0.0.1`. Any other than this machine's own needs `tls` or `allowPlainHttp`. */
  readonly host?: string
  /** Default: 7420; 0 takes a free one. */
  readonly port?: number
  /** PEM. Default: plain HTTP. */
  readonly tls?: { readonly cert: string | Buffer; readonly key: string | Buffer }
  /** That plain HTTP may leave this machine: a proxy in front ends TLS, or the network is trusted. Default: false. */
  readonly allowPlainHttp?: boolean
  /** A larger body is refused. Default: 16 MiB. */
  readonly maxBodyBytes?: number
  /** How long a request may take to arrive, in ms: its head, and all of it. Default: 10,000 and 30,000. */
  readonly headMs?: number
  readonly requestMs?: number
  /** How long the store may take for one call, in ms. Default: 30,000. */
  readonly callMs?: number
  /** Where the server tells what went wrong inside; one line each, never a token. Default: nowhere. */
  readonly log?: (line: string) => void
}

export interface StoreServer {
  /** Where it listens, such as `http://127.0.0.1:7420`. */
  readonly url: string
  /** What the store said of itself. */
  readonly info: StoreInfo
  /** Takes nothing new, lets calls end for at most `graceMs` (10,000), ends the streams and closes the store. */
  stop(graceMs?: number): Promise<void>
}

export const DEFAULT_PORT = 7_420

/** Connections that are open at once. */
const CONNECTIONS = 2_000

/** Longer than a client waits before it uses a connection again. */
const KEEP_ALIVE_MS = 75_000

/**
 * Hands a ledger round over HTTP, for nodes whose `store` is this server's URL.
 *
 * @example
 * const server = await serveStore({ store, fleet: 'billing', tokens: [process.env.LEDGER_TOKEN] })
 * @throws `OPTION_INVALID`, and what opening the store throws
 */
export async function serveStore(options: StoreServerOptions): Promise<StoreServer> {
  const { store, fleet, tokens, host = '127.0.0.1', port = DEFAULT_PORT, tls } = options
  if (typeof tokens !== 'function') checkTokens(tokens)
  if (!isLoopback(host) && tls === undefined && options.allowPlainHttp !== true) throw bare(host)
  const info = await store.open()
  const streams = new Streams(store)
  let isStopping = false
  const how: HandlerOptions = {
    store,
    fleet,
    tokens: typeof tokens === 'function' ? tokens : () => tokens,
    streams,
    maxBodyBytes: options.maxBodyBytes ?? 16 * 1024 * 1024,
    callMs: options.callMs ?? 30_000,
    log: options.log ?? (() => {}),
    isStopping: () => isStopping,
  }
  const server = make(options)
  server.on('request', (request, response) => void handle(how, request, response))
  // Too many open files, for one: the connections that are there go on.
  server.on('error', (error) => how.log(`the server: ${error.message}`))
  try {
    await listening(server, host, port)
  } catch (error) {
    await store.close()
    throw error
  }
  const stop = async (graceMs: number) => {
    isStopping = true
    const closed = new Promise<void>((resolve) => server.close(() => resolve()))
    await streams.end()
    server.closeIdleConnections()
    const patience = setTimeout(() => server.closeAllConnections(), graceMs)
    await closed
    clearTimeout(patience)
    await store.close()
  }
  let stopped: Promise<void> | null = null
  return {
    url: urlOf(server, host, tls !== undefined),
    info,
    stop: (graceMs = 10_000) => {
      stopped ??= stop(graceMs)
      return stopped
    },
  }
}

function make({ tls, headMs = 10_000, requestMs = 30_000 }: StoreServerOptions): Server {
  const limits: ServerOptions = {
    headersTimeout: headMs,
    requestTimeout: Math.max(headMs, requestMs),
    connectionsCheckingInterval: Math.min(1_000, headMs),
    keepAliveTimeout: KEEP_ALIVE_MS,
    noDelay: true,
  }
  const server = tls === undefined ? createHttpServer(limits) : createHttpsServer({ ...limits, ...tls })
  server.maxConnections = CONNECTIONS
  return server
}

function listening(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(unheard(error, host, port)))
    server.listen({ host, port }, resolve)
  })
}

function urlOf(server: Server, host: string, isSecure: boolean): string {
  const { port } = server.address() as AddressInfo
  return `${isSecure ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`
}

function bare(host: string): FleetcronError {
  return new FleetcronError(
    'OPTION_INVALID',
    `The server of the ledger would listen at ${host} in plain HTTP, where tokens can be read on the way: give it a ` +
      'certificate (--tls-cert and --tls-key), or say that a proxy or the network protects it (--allow-plain-http).',
  )
}

function unheard(error: NodeJS.ErrnoException, host: string, port: number): FleetcronError {
  const why =
    error.code === 'EADDRINUSE'
      ? 'another process listens there'
      : error.code === 'EACCES'
        ? 'this process may not listen there'
        : error.code === 'EADDRNOTAVAIL' || error.code === 'ENOTFOUND'
          ? 'this machine has no such address'
          : error.message
  const message = `The server of the ledger cannot listen at ${host}:${port}: ${why}. Choose another --host or --port.`
  return new FleetcronError('OPTION_INVALID', message, { cause: error })
}
