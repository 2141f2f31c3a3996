import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type RequestListener, type Server } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { createMemoryStore } from '../src/store/memory/index.js'
import type { Store } from '../src/store/port.js'
import { createRemoteStore, type RemoteStoreOptions, serveStore } from '../src/store/remote/index.js'
import { resolveStore } from '../src/store/resolve.js'
import { creation, fresh, hello, queued, START, settlement } from '../src/testing/store/builders.js'
import { outcomes } from '../src/testing/store/world.js'
import { TOKEN } from './remote/place.js'

const ends: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

function client(url: string, options: Partial<RemoteStoreOptions> = {}): Store {
  return createRemoteStore({ url, fleet: 'billing', token: TOKEN, ...options })
}

async function serve(options: Partial<Parameters<typeof serveStore>[0]> = {}) {
  const made = await serveStore({ store: createMemoryStore(), fleet: 'billing', tokens: [TOKEN], port: 0, ...options })
  ends.push(() => made.stop(0))
  return made
}

/** Something that is no ledger. */
async function somethingElse(answer: RequestListener): Promise<string> {
  const server: Server = createServer(answer)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  ends.push(async () => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const INFO = { kind: 'sqlite', grade: 'correct', remark: null, incarnation: 'x' }

describe('the address of a server', () => {
  it.each([
    ['https://', 'follow the host and the port'],
    ['https://host?token=x', 'has a ? or # part'],
    ['https://%E0@host', 'holds a % that no two digits follow'],
    ['https://short@host', 'a token has 16 or more visible ASCII characters'],
  ])('%s is refused in a sentence', async (url, message) => {
    await expect(resolveStore(url, 'f')).rejects.toMatchObject({
      code: 'OPTION_INVALID',
      message: expect.stringContaining(message),
    })
  })

  it('needs a token, in the URL or in a variable', async () => {
    const before = process.env.FLEETCRON_STORE_TOKEN
    const { url } = await serve()
    process.env.FLEETCRON_STORE_TOKEN = ''
    await expect(resolveStore(url, 'f')).rejects.toThrow(/it needs a token: set FLEETCRON_STORE_TOKEN/)
    process.env.FLEETCRON_STORE_TOKEN = TOKEN
    for (const found of [url, url.replace('//', `//${TOKEN}@`), url.replace('//', `//any:${TOKEN}@`)]) {
      const store = await resolveStore(found, 'billing')
      expect(await store.open()).toMatchObject({ kind: 'remote', grade: 'efficient' })
      await store.close()
    }
    process.env.FLEETCRON_STORE_TOKEN = before ?? ''
  })

  it('may have a path, as behind a proxy', async () => {
    const asked: (string | undefined)[] = []
    const url = await somethingElse((request, response) => {
      asked.push(request.url)
      response.end(JSON.stringify(INFO))
    })
    const store = client(`${url}/ledgers/one/`)
    await store.open()
    await store.close()
    expect(asked).toEqual(['/ledgers/one/v1/fleets/billing/open'])
  })
})

describe('a server that cannot be used', () => {
  it('says who does not listen', async () => {
    const closed = createTcpServer().listen(0, '127.0.0.1')
    await once(closed, 'listening')
    const { port } = closed.address() as AddressInfo
    closed.close()
    await expect(client(`http://127.0.0.1:${port}`).open()).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: `The ledger at http://127.0.0.1:${port} cannot be used: nobody listens there: is \`fleetcron serve\` running, and is the port right?`,
    })
  })

  it('says that it refused the token, and not which', async () => {
    const { url } = await serve()
    const error: Error = await client(url, { token: 'the-wrong-token-of-mine' })
      .open()
      .catch((thrown) => thrown)
    expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE', message: expect.stringContaining('refused the token') })
    expect(error.message).not.toContain('wrong-token')
  })

  it.each([
    ['a page', 200, '<html>', 'answers with something that is not JSON: is it `fleetcron serve`'],
    ['other JSON', 200, '{"hello":"world"}', 'answered open with something else'],
    ['a proxy’s error', 502, '<html>', 'answers 502 to open: is it `fleetcron serve`'],
    ['nothing', 404, '', 'answers 404 to open'],
    ['JSON of another kind', 500, '{"error":"no"}', 'answers 500 to open'],
  ])('is told by what it answers: %s', async (_, status, body, message) => {
    const url = await somethingElse((_request, response) => void response.writeHead(status).end(body))
    await expect(client(url).open()).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringContaining(message),
    })
  })

  it('leads nobody elsewhere: a redirect is not followed, and no token goes there', async () => {
    let visits = 0
    const elsewhere = await somethingElse((_request, response) => {
      visits++
      response.end(JSON.stringify(INFO))
    })
    const url = await somethingElse((_, response) => void response.writeHead(307, { location: elsewhere }).end())
    await expect(client(url).open()).rejects.toThrow(/answers with a redirect, which is not followed/)
    expect(visits).toBe(0)
  })

  it('is waited for until the deadline', async () => {
    const url = await somethingElse((request, response) => {
      if (request.url?.endsWith('/open')) response.end(JSON.stringify(INFO))
    })
    const store = client(url, { deadlineMs: 50 })
    await store.open()
    const away = {
      code: 'STORE_UNAVAILABLE',
      message: expect.stringMatching(/did not answer in 50 ms; whether the call took effect is not known/),
    }
    await expect(store.load({})).rejects.toMatchObject(away)
    await expect(store.beat(SESSION, BEAT)).rejects.toMatchObject(away)
    await store.close()
  })

  it('closes a kept connection without harm: the call goes over another', async () => {
    const server = await serve()
    const store = client(server.url)
    await store.open()
    await server.stop()
    await expect(store.load({})).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    await serve({ port: Number(new URL(server.url).port) })
    expect((await store.load({})).jobs.size).toBe(0)
    await store.close()
    await expect(store.load({})).rejects.toThrow(/is not open/)
  })
})

describe('a call larger than the server takes', () => {
  it('goes in parts where its parts stand for themselves, and is refused by name where one is too large alone', async () => {
    const inner = createMemoryStore({ now: () => START })
    const { url } = await serve({ store: inner, maxBodyBytes: 12_000 })
    const store = client(url)
    await store.open()
    await store.attend(SESSION, { ...ATTEND, hello: hello() })
    const jobs = Array.from({ length: 40 }, (_, i) => `billing:${String(i).padStart(2, '0')}`)
    const changes = jobs.map((job, i) => creation(`c${i}`, job, { runs: [fresh(queued(job, 'k'))] }))
    const large = creation('large', 'billing:large', {
      runs: [fresh(queued('billing:large', 'k', { data: `"${'x'.repeat(20_000)}"` }))],
    })
    const committed = await store.commit(SESSION, START, [...changes, large])
    expect(outcomes(committed)).toEqual([...changes.map(() => 'won'), 'refused'])
    expect((await inner.load({ jobs })).jobs.size).toBe(40)
    const settlements = jobs.map((job) => settlement(queued(job, 'k', { attemptId: 'never' }), START))
    expect(await store.settle(settlements)).toEqual(jobs.map(() => 'lost'))
    await expect(store.load({ jobs: ['x'.repeat(20_000)] })).rejects.toMatchObject({
      code: 'OPTION_INVALID',
      message: expect.stringContaining('raise its --max-body'),
    })
    await store.close()
  })
})

describe('wake-ups', () => {
  it('come again after the stream was cut, and whoever missed some is told to look', async () => {
    const inner = createMemoryStore()
    const server = await serve({ store: inner })
    const store = client(server.url)
    await store.open()
    await store.attend(SESSION, { ...ATTEND, hello: hello() })
    const heard = new Heard()
    const end = await store.subscribe?.(heard.wake)
    await server.stop(0)
    await serve({ store: inner, port: Number(new URL(server.url).port) })
    expect(await heard.next()).toBe(-1)
    const job = creation('c', 'billing:a')
    await store.commit(SESSION, Date.now(), [{ ...job, header: { ...job.header, bucket: 9, wakeAt: 1 } }])
    expect(await heard.next()).toBe(9)
    await end?.()
    await store.close()
  })

  it('are done without where the store has none', async () => {
    const { subscribe: _, ...mute } = createMemoryStore()
    const { url } = await serve({ store: mute })
    const store = client(url)
    await store.open()
    const end = await store.subscribe?.(() => {})
    await end?.()
    await store.close()
  })
})

describe('TLS', () => {
  const [cert, key] = ['cert', 'key'].map((name) =>
    readFileSync(join(import.meta.dirname, `fixtures/tls/${name}.pem`), 'utf8'),
  )

  it('is spoken where the server has a certificate that is trusted', async () => {
    const { url } = await serve({ tls: { cert: cert ?? '', key: key ?? '' } })
    const store = client(url, { ca: cert ?? '' })
    expect((await store.open()).remark).not.toContain('plain HTTP')
    await store.close()
    await expect(client(url).open()).rejects.toThrow(/certificate.*NODE_EXTRA_CA_CERTS/)
    await expect(client(url.replace('https', 'http')).open()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  })
})

const SESSION = { id: 's', node: 'n', leaseMs: 10_000 }
const ATTEND = { services: ['billing'], buckets: new Set<number>(), graceMs: 0, limit: 9 }
const BEAT = { services: [], buckets: new Set<number>(), attempts: [], room: true }

class Heard {
  readonly #told: number[] = []
  #wake = () => {}

  readonly wake = (bucket: number): void => {
    this.#told.push(bucket)
    this.#wake()
  }

  async next(): Promise<number | undefined> {
    // The stream and its pauses keep no process alive; this does, as long as the test waits.
    while (this.#told.length === 0) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
    return this.#told.shift()
  }
}
