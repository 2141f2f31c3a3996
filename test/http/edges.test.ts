import { createHash, createHmac } from 'node:crypto'
import { ExpressAdapter } from '@nestjs/platform-express'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createFleet } from '../../src/fleet/fleet.js'
import { createHttpHandler, signRequest, toNodeHandler } from '../../src/http/index.js'
import { LIVE, RUNS, Stand, TOKEN } from './stand.js'

let stand: Stand
beforeEach(() => {
  stand = new Stand()
})
afterEach(async () => {
  vi.useRealTimers()
  await stand.end()
})

const BEARER = { authorization: `Bearer ${TOKEN}` }

describe('a signature', () => {
  it.each([
    [-301_000, 401],
    [-300_000, 404],
    [300_000, 404],
    [301_000, 401],
  ])('of a sender whose clock is %i ms off: %i', async (off, status) => {
    const handler = createHttpHandler(await stand.node(), { secrets: [LIVE] })
    const now = 1_796_000_000_700
    vi.useFakeTimers({ now, toFake: ['Date'] })
    const url = 'http://localhost/fleetcron/runs/nothing'
    const headers = signRequest({ secret: LIVE, url, method: 'GET', timestamp: now + off })
    expect((await handler(new Request(url, { headers }))).status).toBe(status)
  })

  it.each<[object, string]>([
    [
      { body: { a: 1 } },
      'signRequest: body: pass exactly the text or the bytes that are sent, such as JSON.stringify(',
    ],
    [{ body: null }, 'signRequest: body: '],
    [{ key: 'tilaus-ä' }, "signRequest: key: 'tilaus-ä' is not 1 to 255 visible ASCII characters"],
    [{ key: 'order 42' }, 'signRequest: key: '],
    [{ key: '' }, 'signRequest: key: '],
    [{ key: 'k'.repeat(256) }, 'signRequest: key: '],
    [{ key: 42 }, 'signRequest: key: '],
    [{ timestamp: Number.NaN }, 'signRequest: timestamp: NaN is no instant'],
    [{ url: 'http://[' }, "signRequest: url: 'http://[' is neither a URL nor a path."],
    [{ bdoy: '{}' }, "signRequest: there is no option 'bdoy'. Did you mean body?"],
  ])('is not made of what the door would refuse: %j', (input, words) => {
    const act = () => signRequest({ secret: LIVE, url: RUNS, ...input } as never)
    expect(act).toThrow(expect.objectContaining({ code: 'OPTION_INVALID' }))
    expect(act).toThrow(words)
  })

  it('is made of bytes as of text', () => {
    const asked = { secret: LIVE, url: RUNS, timestamp: 0, nonce: 'n'.repeat(16), key: '~'.repeat(255) }
    const body = '{"data":"ä"}'
    expect(signRequest({ ...asked, body: Buffer.from(body) })).toEqual(signRequest({ ...asked, body }))
  })

  it('under a secret that a function has lost is worth nothing', async () => {
    let live = [LIVE]
    await stand.node(() => 'done', {}, { secrets: () => live })
    live = ['']
    const [time, nonce] = [`${Math.floor(Date.now() / 1_000)}`, 'n'.repeat(20)]
    const hash = createHash('sha256').update('').digest('hex')
    const text = ['fleetcron-v1', 'POST', RUNS, '', time, nonce, hash].join('\n')
    const signature = `v1=${createHmac('sha256', '').update(text).digest('hex')}`
    const headers = { 'fleetcron-timestamp': time, 'fleetcron-nonce': nonce, 'fleetcron-signature': signature }
    expect(await stand.send(RUNS, { method: 'POST', headers })).toMatchObject({ status: 401 })
    expect(await stand.fleets[0]?.runs({ job: 'it' })).toEqual([])
  })
})

describe('a query of', () => {
  it.each([
    ['wait=5', "The query cannot be used: wait '5' is no duration: write it with a unit, such as 5s."],
    ['wait=', "wait '' is no duration"],
    ['wiat=3s', "there is no query parameter 'wiat'. Did you mean wait? Known is wait."],
    ['wait=3s&verbose=1', "there is no query parameter 'verbose'. Known is wait."],
    ['wait=3s&wait=5s', 'wait is there twice'],
  ])('%s is refused where a run is started and where it is seen', async (query, words) => {
    const fleet = await stand.node()
    const { key } = await fleet.trigger('it', { key: 'seen' })
    const id = Buffer.from(JSON.stringify(['app:it', key])).toString('base64url')
    const answers = [
      await stand.ask(`${RUNS}?${query}`, { key: 'a' }),
      await stand.ask(`/fleetcron/runs/${id}?${query}`, { method: 'GET' }),
    ]
    for (const answer of answers) {
      expect(answer).toMatchObject({
        status: 400,
        body: { code: 'OPTION_INVALID', detail: expect.stringContaining(words) },
      })
    }
    expect(await fleet.runs({ job: 'it' })).toHaveLength(1)
  })
})

describe('where jobs are named', () => {
  it('one that is named by its full id may be started and seen', async () => {
    await stand.node(() => 'done', {}, { tokens: [TOKEN], jobs: ['app:it'] })
    const asked = { method: 'POST', headers: { ...BEARER, 'idempotency-key': 'a' } }
    const { headers } = await stand.send('/fleetcron/jobs/app:it/runs', asked)
    const look = { method: 'GET', headers: BEARER }
    expect(await stand.send(headers.get('location') ?? '', look)).toMatchObject({ status: 200 })
  })

  it('a name that no node has defined is told when the node has started, with the one that is near', async () => {
    const lines: string[] = []
    let told = () => {}
    const all = new Promise<void>((resolve) => {
      told = resolve
    })
    const log = (line: string) => {
      if (lines.push(line) === 2) told()
    }
    const fleet = createFleet({ fleet: 'http', service: 'app', store: stand.store, logger: false })
    stand.fleets.push(fleet)
    fleet.job('daily-invoices', {}, () => {})
    createHttpHandler(fleet, {
      tokens: [TOKEN],
      jobs: ['daily-invoice', 'nope', 'daily-invoices', 'app:daily-invoices'],
      log,
    })
    await fleet.start()
    await all
    const until = 'Until one does, requests for it are answered 404.'
    expect(lines).toEqual([
      `the HTTP door: jobs names 'daily-invoice', which no node has defined. Did you mean 'daily-invoices'? ${until}`,
      `the HTTP door: jobs names 'nope', which no node has defined. ${until}`,
    ])
    const later = new Promise<string>((resolve) => {
      createHttpHandler(fleet, { tokens: [TOKEN], jobs: ['nope'], log: resolve })
    })
    expect(await later).toContain("jobs names 'nope'")
  })

  it('runs of a job of the same name in another service are not seen', async () => {
    const other = createFleet({ fleet: 'http', service: 'other', store: stand.store, logger: false })
    stand.fleets.push(other)
    other.job('it', {}, () => 'not for everybody')
    await other.start()
    const { job, key } = await other.trigger('it', { key: 'x' })
    await stand.node(() => 'done', {}, { tokens: [TOKEN], jobs: ['it'] })
    const id = Buffer.from(JSON.stringify([job, key])).toString('base64url')
    const look = { method: 'GET', headers: BEARER }
    expect(await stand.send(`/fleetcron/runs/${id}`, look)).toMatchObject({
      status: 404,
      body: { code: 'RUN_UNKNOWN' },
    })
  })
})

it('takes a name with whatever is in it, and 64 KiB to the byte', async () => {
  const name = 'Täglich/50 % a+b'
  const fleet = createFleet({ fleet: 'http', service: 'app', store: stand.store, logger: false })
  fleet.job(name, {}, (run) => String(run.data).length)
  await fleet.start()
  stand.fleets.push(fleet)
  await stand.serve(toNodeHandler(createHttpHandler(fleet, { secrets: [LIVE] })))
  const path = `/fleetcron/jobs/${encodeURIComponent(name)}/runs?wait=30s`
  const body = JSON.stringify({ data: 'x'.repeat(65_536 - '{"data":""}'.length) })
  expect(await stand.ask(path, { key: 'whole', body })).toMatchObject({ status: 200, body: { result: 65_525 } })
  expect(await stand.ask(path, { key: 'more', body: `${body} ` })).toMatchObject({ status: 413 })
  expect((await fleet.runs({ job: name })).map(({ key }) => key)).toHaveLength(1)
})

describe('in Express', () => {
  it.each([
    ['that keeps the raw body', true, 200],
    ['that keeps nothing', false, 400],
  ])('behind a parser %s, signatures and tokens', async (_, keepsRaw, status) => {
    const fleet = await stand.node()
    const express = new ExpressAdapter()
    express.useBodyParser('json', keepsRaw)
    express.use(toNodeHandler(createHttpHandler(fleet, { secrets: [LIVE], tokens: [TOKEN] })))
    await stand.serve(express.getInstance())
    const headers = { 'content-type': 'application/json' }
    const signed = await stand.ask(`${RUNS}?wait=30s`, { key: 'a', body: { data: 1 }, headers }, 1)
    expect(signed.status).toBe(status)
    const withToken = { method: 'POST', body: '{"data":2}', headers: { ...BEARER, ...headers, 'idempotency-key': 'b' } }
    expect(await stand.send(`${RUNS}?wait=30s`, withToken, 1)).toMatchObject({ status: 200, body: { data: 2 } })
  })
})
