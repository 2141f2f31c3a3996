import fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { FleetcronError } from '../src/errors.js'
import { createMemoryStore } from '../src/store/memory/index.js'
import type { Store } from '../src/store/port.js'
import { createRemoteStore, type StoreServer, type StoreServerOptions, serveStore } from '../src/store/remote/index.js'
import { buckets, creation, hello } from '../src/testing/store/builders.js'
import { TOKEN } from './remote/place.js'
import { ask, openSocket, readToEnd } from './remote/raw.js'

const OTHER_TOKEN = 'the-token-that-follows-it'
const SESSION = { id: 's', node: 'n', leaseMs: 10_000 }
const servers: StoreServer[] = []

async function serve(options: Partial<StoreServerOptions> = {}): Promise<StoreServer> {
  const store = options.store ?? createMemoryStore({ fleet: 'billing' })
  const server = await serveStore({ fleet: 'billing', tokens: [TOKEN], port: 0, ...options, store })
  servers.push(server)
  return server
}

afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop()
})

describe('who is let in', () => {
  it.each([
    ['nothing', {}],
    ['another token', { authorization: 'Bearer another-token-altogether' }],
    ['a part of it', { authorization: `Bearer ${TOKEN.slice(0, -1)}` }],
    ['an empty one', { authorization: 'Bearer ' }],
    ['another scheme', { authorization: `Basic ${TOKEN}` }],
  ])('who has %s is refused, on every path alike', async (_, headers) => {
    const { url } = await serve()
    for (const path of ['/v1/fleets/billing/open', '/v1/fleets/other/open', '/v9/x', '/']) {
      const response = await fetch(`${url}${path}`, {
        method: 'POST',
        headers: headers as Record<string, string>,
        body: '{}',
      })
      expect([response.status, response.headers.get('www-authenticate')]).toEqual([401, 'Bearer'])
      expect(await response.json()).toMatchObject({ error: { message: 'The token is missing or wrong.' } })
    }
  })

  it('two tokens are live while one replaces the other, and one that was removed is not', async () => {
    let tokens = [TOKEN]
    const { url } = await serve({ tokens: () => tokens })
    const status = async (token: string) =>
      (await ask(url, 'open', {}, { headers: { authorization: `Bearer ${token}` } })).status
    expect([await status(TOKEN), await status(OTHER_TOKEN)]).toEqual([200, 401])
    tokens = [TOKEN, OTHER_TOKEN]
    expect([await status(TOKEN), await status(OTHER_TOKEN)]).toEqual([200, 200])
    tokens = [OTHER_TOKEN]
    expect([await status(TOKEN), await status(OTHER_TOKEN)]).toEqual([401, 200])
  })

  it.each([[[]], [['short']], [[TOKEN, OTHER_TOKEN, `${TOKEN}3`]], [[`${TOKEN} blank`]]])(
    'tokens such as %j are refused, and not shown',
    async (tokens) => {
      const error: Error = await serve({ tokens }).catch((thrown) => thrown)
      expect(error).toMatchObject({ code: 'OPTION_INVALID', message: expect.stringContaining('openssl rand') })
      expect(error.message).not.toContain(TOKEN)
    },
  )

  it('listens beyond this machine only with TLS, or where that is said', async () => {
    await expect(serve({ host: '0.0.0.0' })).rejects.toMatchObject({
      code: 'OPTION_INVALID',
      message: expect.stringMatching(/--tls-cert.*--allow-plain-http/),
    })
    expect((await serve({ host: '0.0.0.0', allowPlainHttp: true })).url).toMatch(/^http:\/\/0\.0\.0\.0:\d+$/)
  })

  it('whoever asks for its health needs no token, and learns nothing else', async () => {
    const { url } = await serve()
    expect(await (await fetch(`${url}/healthz`)).json()).toEqual({ ok: true })
  })
})

describe('what is asked', () => {
  it.each([
    ['another fleet', 404, 'open', {}, { fleet: 'mail' }, "ledger of fleet 'billing' and of no other"],
    ['a fleet that is not text', 404, 'open', {}, { fleet: '\ufffd' }, "ledger of fleet 'billing'"],
    ['a method that is none', 404, 'drop', {}, {}, 'upgrade fleetcron where it runs'],
    ['a method that is no own one', 404, '__proto__', {}, {}, 'upgrade fleetcron where it runs'],
    ['another verb', 405, 'open', {}, { verb: 'PUT' }, 'is asked by POST'],
    ['no JSON', 400, 'open', '{', {}, 'has to be JSON in UTF-8'],
    ['no UTF-8', 400, 'open', new Uint8Array([0x22, 0xff, 0x22]), {}, 'has to be JSON in UTF-8'],
    ['a list', 400, 'open', [], {}, 'the body has to be an object'],
    ['a compressed body', 415, 'open', {}, { headers: { 'content-encoding': 'gzip' } }, 'not compressed'],
    ['too many rows', 400, 'runs', { query: { limit: 100_001 } }, {}, 'query.limit has to be a whole number from 0 to'],
    [
      'a bucket that is none',
      400,
      'beat',
      { session: SESSION, beat: { services: [], buckets: [256] } },
      {},
      'beat.buckets[0]',
    ],
    ['NUL', 400, 'load', { query: { jobs: ['a\0'] } }, {}, 'query.jobs[0] has to be well-formed'],
    [
      'half a character',
      400,
      'load',
      { query: { requests: ['\ud800'] } },
      {},
      'query.requests[0] has to be well-formed',
    ],
    ['what is deep', 400, 'open', `{"x":${'['.repeat(50_000)}${']'.repeat(50_000)}}`, {}, 'less deep'],
    ['a page mark of somebody’s own', 400, 'attend', attendBody('{'), {}, 'query.after is not from this store'],
  ] as const)('%s: %i', async (_, status, method, body, more, message) => {
    const { url } = await serve()
    const store = { session: SESSION, query: attendBody(undefined).query }
    expect((await ask(url, 'attend', store)).status).toBe(200)
    const answer = await ask(url, method, body, more)
    expect(answer).toMatchObject({ status, body: { error: { code: 'OPTION_INVALID' } } })
    expect(answer.body.error?.message).toContain(message)
    expect((await ask(url, 'open', {})).status).toBe(200)
  })

  it('answers 400 to whatever is not the port’s, and goes on', async () => {
    const lines: string[] = []
    const { url } = await serve({ log: (line) => lines.push(line) })
    const methods = ['attend', 'load', 'commit', 'settle', 'beat', 'jobs', 'runs', 'events', 'prune']
    const spoilt = (value: unknown) => {
      const [made] = [creation('c', 'billing:a')]
      return { session: SESSION, now: 1, changes: [{ ...made, header: value }] }
    }
    const body = fc.oneof(
      fc.json(),
      fc.jsonValue().map((value) => JSON.stringify(spoilt(value))),
    )
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...methods), body, async (method, text) => {
        expect((await ask(url, method, text)).status).toBe(400)
      }),
      { numRuns: 300 },
    )
    expect(lines).toEqual([])
  })

  it('keeps what a newer node says beside what it knows', async () => {
    const { url } = await serve()
    const store = createRemoteStore({ url, fleet: 'billing', token: TOKEN })
    await store.open()
    const query = { services: ['billing'], buckets: buckets(), graceMs: 0, limit: 1 }
    await store.attend(SESSION, { ...query, hello: hello() })
    const change = creation('c', 'billing:a')
    const newer = { ...change, header: { ...change.header, colour: { shade: ['red'] } } }
    expect(await store.commit(SESSION, Date.now(), [newer])).toMatchObject({ results: [{ outcome: 'won' }] })
    const { jobs } = await store.load({ jobs: ['billing:a'] })
    expect(jobs.get('billing:a')?.header).toMatchObject({ colour: { shade: ['red'] } })
    await store.close()
  })
})

describe('limits', () => {
  it('a larger body is refused before it is read, and while it comes', async () => {
    const { url } = await serve({ maxBodyBytes: 1_000 })
    expect((await ask(url, 'open', { x: 'y'.repeat(1_000) })).status).toBe(413)
    const socket = await openSocket(url)
    const answer = readToEnd(socket)
    socket.write(head('transfer-encoding: chunked'))
    for (let i = 0; i < 20; i++) socket.write(`64\r\n${'x'.repeat(100)}\r\n`)
    expect(await answer).toMatch(/^HTTP\/1\.1 413 /)
  })

  it.each([
    ['a head that does not end', 'POST /v1/fleets/billing/open HTTP/1.1\r\nhost: x\r\n'],
    ['a body that does not come', head('content-length: 10')],
    ['a body that comes in drops', `${head('content-length: 10')}{`],
  ])('%s is waited for only so long', async (_, text) => {
    const { url } = await serve({ headMs: 100, requestMs: 100 })
    const socket = await openSocket(url)
    const answer = readToEnd(socket)
    socket.write(text)
    expect(await answer).toMatch(/^HTTP\/1\.1 408 /)
    expect((await ask(url, 'open', {})).status).toBe(200)
  })

  it.each(['\0\x01\x02\r\n\r\n', 'GET / HTTP/9.9\r\n\r\n', `GET / HTTP/1.1\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`])(
    'what is not HTTP ends its connection only',
    async (text) => {
      const { url } = await serve()
      const socket = await openSocket(url)
      const answer = readToEnd(socket)
      socket.write(text)
      expect(await answer).toMatch(/^(HTTP\/1\.1 (400|431|505) |$)/)
      expect((await ask(url, 'open', {})).status).toBe(200)
    },
  )

  it('a store that does not answer is waited for only so long', async () => {
    const hanging = { ...createMemoryStore(), load: () => new Promise<never>(() => {}) }
    const { url } = await serve({ store: hanging, callMs: 50 })
    expect(await ask(url, 'load', { query: {} })).toMatchObject({
      status: 503,
      body: { error: { code: 'STORE_UNAVAILABLE', message: expect.stringContaining('did not answer in 50 ms') } },
    })
  })
})

describe('stopping', () => {
  it('lets a call end, takes no other, and closes the store last', async () => {
    const acts: string[] = []
    let answer = () => {}
    let asked = () => {}
    const isAsked = new Promise<void>((resolve) => {
      asked = resolve
    })
    const inner = createMemoryStore()
    const slow: Store = {
      ...inner,
      load: async (query) => {
        asked()
        await new Promise<void>((resolve) => {
          answer = resolve
        })
        acts.push('answered')
        return inner.load(query)
      },
      close: async () => void acts.push('closed'),
    }
    const server = await serve({ store: slow })
    const call = ask(server.url, 'load', { query: {} })
    await isAsked
    const stopped = server.stop()
    await expect(ask(server.url, 'open', {})).rejects.toThrow()
    answer()
    expect((await call).status).toBe(200)
    await stopped
    expect(acts).toEqual(['answered', 'closed'])
  })

  it('ends the streams, and cuts what does not end in time', async () => {
    const server = await serve({ store: { ...createMemoryStore(), load: () => new Promise<never>(() => {}) } })
    const headers = { authorization: `Bearer ${TOKEN}` }
    const stream = await fetch(`${server.url}/v1/fleets/billing/wakes`, { headers })
    const call = ask(server.url, 'load', { query: {} })
    const cut = expect(call).rejects.toThrow()
    await server.stop(50)
    await cut
    expect(await stream.text()).toBe(':\n\n')
  })
})

describe('what the store says', () => {
  it('keeps its code and sentence', async () => {
    for (const code of ['STORE_UNAVAILABLE', 'STORE_NEWER', 'OPTION_INVALID'] as const) {
      const { url } = await serve({ store: failing(new FleetcronError(code, `It is ${code}.`)) })
      const store = createRemoteStore({ url, fleet: 'billing', token: TOKEN })
      await store.open()
      await expect(store.load({})).rejects.toMatchObject({ code, message: `It is ${code}.` })
      await store.close()
    }
  })

  it('is for the server’s log alone where it is nothing for people', async () => {
    const lines: string[] = []
    const store = failing(new Error('password=hunter2 at /srv/secret'))
    const { url } = await serve({ store, log: (line) => lines.push(line) })
    const answer = await ask(url, 'load', { query: {} })
    expect(answer.status).toBe(500)
    expect(JSON.stringify(answer.body)).not.toMatch(/hunter2|secret/)
    expect(lines.join()).toContain('hunter2')
  })
})

function failing(error: Error): Store {
  return { ...createMemoryStore(), load: () => Promise.reject(error) }
}

function attendBody(after: string | undefined) {
  return {
    session: SESSION,
    query: {
      hello: hello(),
      services: [],
      buckets: [],
      graceMs: 0,
      limit: 1,
      ...(after === undefined ? {} : { after }),
    },
  }
}

function head(line: string): string {
  return `POST /v1/fleets/billing/open HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${TOKEN}\r\n${line}\r\n\r\n`
}
