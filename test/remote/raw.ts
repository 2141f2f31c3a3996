import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { pathOf } from '../../src/store/remote/wire.js'
import { TOKEN } from './place.js'

export interface RawAnswer {
  readonly status: number
  readonly body: { readonly error?: { readonly code: string; readonly message: string } } & Record<string, unknown>
}

/** Asks as any program could, past the client. */
export async function ask(
  url: string,
  method: string,
  body: unknown,
  more: { readonly fleet?: string; readonly headers?: Record<string, string>; readonly verb?: string } = {},
): Promise<RawAnswer> {
  const { fleet = 'billing', headers = {}, verb = 'POST' } = more
  const response = await fetch(`${url}${pathOf(fleet, method)}`, {
    method: verb,
    headers: { authorization: `Bearer ${TOKEN}`, ...headers },
    ...(verb === 'GET'
      ? {}
      : { body: body instanceof Uint8Array || typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const text = await response.text()
  return { status: response.status, body: text === '' ? {} : JSON.parse(text) }
}

/** A connection of one's own, on which anything may be written. */
export async function openSocket(url: string): Promise<Socket> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  await once(socket, 'connect')
  return socket
}

/** What arrives until the other end closes. */
export async function readToEnd(socket: Socket): Promise<string> {
  let text = ''
  socket.setEncoding('utf8').on('data', (part: string) => {
    text += part
  })
  socket.on('error', () => {})
  await once(socket, 'close')
  return text
}
