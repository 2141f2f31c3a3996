import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Way } from './place.js'

/** What becomes of a request on its way. */
export type Fate =
  /** It arrives once, and so does the answer. */
  | 'once'
  /** It arrives, and after it was answered once more; the first answer is given. */
  | 'twice'
  /** It arrives two times at the same moment; the answer that comes first is given. */
  | 'at once'
  /** It never arrives: the connection is cut. */
  | 'lost'
  /** It arrives and is carried out; the answer is lost. */
  | 'unanswered'

export interface FatefulProxy extends Way {
  /** How many requests met which fate. */
  readonly met: ReadonlyMap<Fate, number>
  /** Resolves when nothing is on its way. */
  idle(): Promise<void>
}

/** A proxy that deals out fates by the method of the port; until a fate is known, the request waits on its way. */
export async function startProxy(
  target: string,
  fate: (method: string) => Fate | Promise<Fate>,
): Promise<FatefulProxy> {
  const met = new Map<Fate, number>()
  const passing = new Set<Promise<unknown>>()
  const server = createServer((asked, answer) => {
    const passed = pass(asked, answer).finally(() => passing.delete(passed))
    passing.add(passed)
  })
  const pass = async (asked: IncomingMessage, answer: ServerResponse) => {
    const method = asked.url?.split('/').at(-1) ?? ''
    const parts: Buffer[] = []
    for await (const part of asked as AsyncIterable<Buffer>) parts.push(part)
    const forward = () => send(target, asked, Buffer.concat(parts))
    const what = method === 'wakes' ? 'once' : await fate(method)
    met.set(what, (met.get(what) ?? 0) + 1)
    if (what === 'lost') return answer.destroy()
    const first = forward()
    const second = what === 'at once' ? forward() : first
    const reply = await Promise.race([first, second])
    if (what === 'twice') {
      await whole(reply)
      await whole(await forward())
    }
    if (what === 'at once') await Promise.all([whole(await first), whole(await second)])
    if (what === 'unanswered') {
      await whole(reply)
      return answer.destroy()
    }
    answer.writeHead(reply.response.statusCode ?? 502, reply.response.headers)
    if (what === 'once') reply.response.pipe(answer)
    else answer.end(await whole(reply))
    // A stream ends when either side does.
    answer.on('close', () => reply.response.destroy())
    reply.response.on('error', () => answer.destroy())
  }
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    met,
    idle: async () => void (await Promise.all(passing)),
    end: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

interface Reply {
  readonly response: IncomingMessage
  body?: Promise<Buffer>
}

async function send(target: string, asked: IncomingMessage, body: Buffer): Promise<Reply> {
  const { host: _, connection: __, ...headers } = asked.headers
  const forwarded = request(`${target}${asked.url}`, { method: asked.method, headers })
  forwarded.end(body)
  const [response] = (await once(forwarded, 'response')) as [IncomingMessage]
  return { response }
}

function whole(reply: Reply): Promise<Buffer> {
  reply.body ??= collect(reply.response)
  return reply.body
}

async function collect(response: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = []
  for await (const part of response as AsyncIterable<Buffer>) parts.push(part)
  return Buffer.concat(parts)
}
