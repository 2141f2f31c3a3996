import { once } from 'node:events'
import { createServer, request as httpRequest, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type Database from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { fencedFetch, fencingHeaders } from '../src/effect/fencing.js'
import type { Effects } from '../src/effect/port.js'
import { type ReceiveOptions, receiveFenced } from '../src/effect/receive.js'
import { sqlite } from '../src/effect/sqlite/index.js'
import { BusinessFolder, noteIn, notesIn } from './effect/business-folder.js'
import { buildWorker, Worker } from './effect/processes.js'

let folder: BusinessFolder
let database: Database.Database
let effects: Effects<Database.Database>
let server: Server
let url: string
let options: ReceiveOptions

/** A receiver in plain Node: one note per accepted request, whose body is the key. */
async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const answer = await receiveFenced(effects, request, options)
  if (!answer.accepted) {
    response.writeHead(answer.status, answer.headers).end(JSON.stringify(answer.body))
    return
  }
  const key = await text(request)
  await answer.fence.once(key, (tx) => noteIn(tx, key))
  response.writeHead(201).end(key)
}

beforeEach(async () => {
  folder = new BusinessFolder()
  database = folder.connect()
  effects = sqlite(database)
  await effects.ensure()
  options = {}
  server = createServer((request, response) => {
    receive(request, response).catch((error) => response.writeHead(500).end(String(error)))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/orders?page=1`
})
afterEach(async () => {
  server.closeAllConnections()
  server.close()
  folder.remove()
})

const run = (token: number, over: object = {}) => ({
  job: 'stock',
  key: '2026-11-29',
  resource: 'billing/billing:stock',
  token,
  signal: new AbortController().signal,
  ...over,
})
const post = (token: number, body: string, over?: object) =>
  fencedFetch(run(token, over), url, { method: 'POST', body })
const send = (headers: Record<string, string>) => fetch(url, { method: 'POST', body: 'x', headers })

describe('a fenced request', () => {
  test('is let in until a newer attempt has come, and then refused with 409 as a stale token', async () => {
    expect((await post(5, 'a')).status).toBe(201)
    expect((await post(5, 'b')).status).toBe(201)
    expect((await post(6, 'c')).status).toBe(201)
    const late = post(5, 'late')
    await expect(late).rejects.toMatchObject({
      code: 'STALE_TOKEN',
      resource: 'billing/billing:stock',
      job: 'stock',
      runKey: '2026-11-29',
      token: 5,
      highest: 6,
    })
    expect(notesIn(database)).toEqual(['a', 'b', 'c'])
    const plain = await send(fencingHeaders(run(5)))
    expect([plain.status, plain.headers.get('fencing-highest')]).toEqual([409, '6'])
    expect(await plain.json()).toEqual({
      code: 'STALE_TOKEN',
      resource: 'billing/billing:stock',
      token: 5,
      highest: 6,
      message: expect.stringMatching(/'billing:stock', run 'POST \/orders'.*token 5.*shows 6/),
    })
  })

  test('is fenced by its own resource only, also where the name is not plain', async () => {
    const names = ['billing/billing:other', 'työ/😀 %2F, ;"', 'r ', 'r']
    expect((await post(9, 'a')).status).toBe(201)
    for (const resource of names) {
      expect((await post(3, `first ${resource}`, { resource })).status).toBe(201)
      await expect(post(2, `late ${resource}`, { resource })).rejects.toMatchObject({ highest: 3 })
    }
    expect(database.prepare('SELECT resource FROM fleetcron_fence ORDER BY token, resource').pluck().all()).toEqual([
      ...names.sort(),
      'billing/billing:stock',
    ])
  })

  test('looks at the fence once more in the transaction of its write', async () => {
    const answer = await receiveFenced(effects, { headers: fencingHeaders(run(5)) as never, method: 'POST', url: '/' })
    const asFetch = await receiveFenced(effects, new Request(url, { headers: fencingHeaders(run(5)) }))
    expect(asFetch.accepted).toBe(true)
    if (!asFetch.accepted) throw new Error('refused')
    const { fence } = asFetch
    expect([fence.resource, fence.token]).toEqual(['billing/billing:stock', 5])
    expect(await fence.once('a', (tx) => noteIn(tx, 'a'))).toBe('a')
    await effects.raise(fence.resource, 6)
    await expect(fence.once('b', (tx) => noteIn(tx, 'b'))).rejects.toMatchObject({ code: 'STALE_TOKEN', key: 'b' })
    const own = database.transaction(() => {
      fence.fence(database)
      noteIn(database, 'own')
    })
    expect(own).toThrow(/'billing:stock'/)
    expect(notesIn(database)).toEqual(['a'])
    expect(answer.accepted).toBe(false)
  })

  test.each([
    [{}, 428, 'Fencing-Token is missing'],
    [{ 'fencing-token': '7' }, 428, 'Fencing-Resource is missing'],
    [{ 'fencing-resource': 'r' }, 428, 'Fencing-Token is missing'],
    ...['', '0', '-1', '7.5', '0x7', '7 8', 'NaN', '9007199254740992', '99999999999999999999'].map(
      (token) => [{ 'fencing-token': token, 'fencing-resource': 'r' }, 400, 'Fencing-Token'] as const,
    ),
    [{ 'fencing-token': '7', 'fencing-resource': '%' }, 400, 'Fencing-Resource'],
    [{ 'fencing-token': '7', 'fencing-resource': '%00' }, 400, 'Fencing-Resource'],
    [{ 'fencing-token': '7', 'fencing-resource': 'x'.repeat(641) }, 400, 'Fencing-Resource'],
  ] as const)('with %o is refused with %i', async (headers, status, words) => {
    const response = await send(headers as Record<string, string>)
    expect(response.status).toBe(status)
    expect(await response.json()).toMatchObject({ message: expect.stringContaining(words) })
    expect(database.prepare('SELECT * FROM fleetcron_fence').all()).toEqual([])
  })

  test('refuses options that it does not know: a misspelt one would let every resource in', async () => {
    const wrong = [{ resource: ['billing/billing:stock'] }, { resources: 'billing/billing:stock' }]
    for (const options of wrong as ReceiveOptions[]) {
      const received = receiveFenced(effects, { headers: {} }, options)
      await expect(received).rejects.toMatchObject({
        code: 'OPTION_INVALID',
        message: expect.stringContaining('resources'),
      })
    }
  })

  test('may name only what the receiver knows', async () => {
    options = { resources: ['billing/billing:stock'] }
    expect((await post(1, 'a')).status).toBe(201)
    expect((await post(1, 'b', { resource: 'billing/billing:invoices' })).status).toBe(403)
    options = { resources: (resource) => resource.startsWith('billing/') }
    expect((await post(1, 'c', { resource: 'billing/billing:invoices' })).status).toBe(201)
    expect((await post(1, 'd', { resource: 'shop/x' })).status).toBe(403)
    expect(notesIn(database)).toEqual(['a', 'c'])
  })

  test('is asked to come again while the database is away', async () => {
    effects = sqlite(database, { retryFor: '1ms' })
    const other = folder.connect({ timeout: 0 })
    other.exec('BEGIN IMMEDIATE')
    const response = await post(1, 'a')
    other.exec('ROLLBACK')
    expect(response.status).toBe(503)
    expect(await response.json()).toMatchObject({ code: 'EFFECT_UNAVAILABLE' })
    expect((await post(1, 'a')).status).toBe(201)
  })
})

describe('fencedFetch', () => {
  test('keeps the headers that it is given, and ends with the run', async () => {
    const seen: IncomingMessage['headers'][] = []
    const gone = new AbortController()
    server.removeAllListeners('request')
    server.on('request', (request) => {
      seen.push(request.headers)
      gone.abort(new Error('the session is lost'))
    })
    const headers = { authorization: 'Bearer x', 'Fencing-Token': '1' }
    const asked = fencedFetch(run(7, { signal: gone.signal }), new Request(url, { headers }))
    await expect(asked).rejects.toThrow('the session is lost')
    expect(seen[0]).toMatchObject({ authorization: 'Bearer x', 'fencing-token': '7' })
    const own = AbortSignal.abort(new Error('the caller had enough'))
    await expect(fencedFetch(run(7), url, { signal: own })).rejects.toThrow('the caller had enough')
  })

  test('hands back a 409 that is not of a fence', async () => {
    server.removeAllListeners('request')
    server.on('request', (_, response) => response.writeHead(409).end('taken'))
    const response = await fencedFetch(run(7), url)
    expect([response.status, await response.text()]).toEqual([409, 'taken'])
  })

  test('refuses a run that has no token', async () => {
    await expect(fencedFetch(run(0), url)).rejects.toMatchObject({
      code: 'EFFECT_INVALID',
      message: expect.stringContaining('run.owned'),
    })
  })
})

describe('a real process whose attempt was overtaken', () => {
  test('while it was stopped (SIGSTOP) is answered 409', async () => {
    const script = await buildWorker(folder.path)
    const workers = ['a', 'b'].map((label) => new Worker(script, folder.file, label))
    const [a, b] = workers as [Worker, Worker]
    try {
      await a.ask({ do: 'begin attempt', token: 1 })
      await b.ask({ do: 'begin attempt', token: 2 })
      expect(await a.ask({ do: 'send', url })).toEqual({ value: 201 })
      await a.stop()
      const late = a.ask({ do: 'send', url })
      expect(await b.ask({ do: 'send', url })).toEqual({ value: 201 })
      a.resume()
      expect(await late).toEqual({ code: 'STALE_TOKEN' })
      expect(notesIn(database)).toEqual(['a', 'b'])
    } finally {
      await Promise.all(workers.map((worker) => worker.end()))
    }
  })

  test('after the door, before its write, is refused at the write', async () => {
    server.removeAllListeners('request')
    let goOn = () => {}
    const overtaken = new Promise<void>((resolve) => {
      goOn = resolve
    })
    server.on('request', async (request, response) => {
      const answer = await receiveFenced(effects, request)
      if (!answer.accepted) return response.writeHead(answer.status, answer.headers).end()
      if (answer.fence.token === 1) await overtaken
      const code = await answer.fence
        .once(`${answer.fence.token}`, (tx) => noteIn(tx, 'x'))
        .catch((error) => error.code)
      if (answer.fence.token === 2) goOn()
      response.end(code)
    })
    const first = httpRequest(url, { method: 'POST', headers: fencingHeaders(run(1)) }).end()
    const answered = once(first, 'response')
    while (database.prepare('SELECT count(*) FROM fleetcron_fence').pluck().get() === 0) {
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(await (await fencedFetch(run(2), url)).text()).toBe('x')
    const [response] = (await answered) as [IncomingMessage]
    expect(await text(response)).toBe('STALE_TOKEN')
    expect(notesIn(database)).toEqual(['x'])
  })
})
