import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createHttpHandler, HTTP_CODES, signRequest, toNodeHandler } from '../../src/http/index.js'
import { advance, createTestFleet } from '../../src/testing/index.js'
import { LIVE, NEXT, RUNS, Stand, TOKEN, untilSignal } from './stand.js'

let stand: Stand
beforeEach(() => {
  stand = new Stand()
})
afterEach(() => stand.end())

const BEARER = { authorization: `Bearer ${TOKEN}` }

function refused(status: number, code: string) {
  return { status, body: { type: 'about:blank', title: expect.any(String), status, code, detail: expect.any(String) } }
}

describe('starting a run', () => {
  it('gives 202 with the run and where it is, and the run when it has ended', async () => {
    let letEnd = (_: unknown) => {}
    await stand.node(
      (run) =>
        new Promise((resolve) => {
          letEnd = () => resolve(run.data)
        }),
    )
    const begun = stand.fleets[0]?.once('run-started')
    const started = await stand.ask(RUNS, { key: 'order-42', body: { data: { customer: 42 } } })
    expect(started).toMatchObject({ status: 202, body: { job: 'app:it', cause: 'manual', data: { customer: 42 } } })
    const location = started.headers.get('location') ?? ''
    expect(location).toBe(`/fleetcron/runs/${started.body.id}`)
    await begun
    expect(await stand.ask(location, { method: 'GET' })).toMatchObject({ status: 200, body: { state: 'running' } })
    const waiting = stand.ask(`${location}?wait=30s`, { method: 'GET' })
    letEnd(null)
    expect(await waiting).toMatchObject({ status: 200, body: { state: 'succeeded', result: { customer: 42 } } })
    expect(await stand.ask(RUNS, { key: 'order-42', body: { data: { customer: 42 } } })).toMatchObject({
      status: 200,
      body: { id: started.body.id, state: 'succeeded' },
    })
  })

  it('waits for the outcome where it is asked to, for no longer than it may', async () => {
    await stand.node(
      (run) => (run.data === 'slow' ? untilSignal(run) : 'quick'),
      { concurrency: 2 },
      {
        tokens: [TOKEN],
        longestWait: 20,
      },
    )
    await stand.node(() => 'quick', { concurrency: 2 })
    const quick = { method: 'POST', headers: { ...BEARER, 'idempotency-key': 'a' } }
    expect(await stand.send(`${RUNS}?wait=30s`, quick, 1)).toMatchObject({ status: 200, body: { result: 'quick' } })
    const slow = { method: 'POST', headers: { ...BEARER, 'idempotency-key': 'b' }, body: '{"data":"slow"}' }
    expect(await stand.send(`${RUNS}?wait=1h`, slow)).toMatchObject({ status: 202 })
    expect(await stand.send(`${RUNS}?wait=soon`, slow)).toMatchObject(refused(400, 'OPTION_INVALID'))
  })

  it('tells of a failure without its stack', async () => {
    await stand.node(() => {
      throw new Error('the bank is closed')
    })
    const answer = await stand.ask(`${RUNS}?wait=30s`, { key: 'a' })
    expect(answer).toMatchObject({ status: 200, body: { state: 'failed' } })
    expect(answer.body.error).toEqual({ name: 'Error', message: 'the bank is closed' })
  })

  it('needs a key from whoever does not sign; a nonce is one', async () => {
    await stand.node()
    expect(await stand.send(RUNS, { method: 'POST', headers: BEARER })).toMatchObject(refused(400, 'KEY_MISSING'))
    const long = { ...BEARER, 'idempotency-key': 'k'.repeat(256) }
    expect(await stand.send(RUNS, { method: 'POST', headers: long })).toMatchObject(refused(400, 'OPTION_INVALID'))
    const [one, two] = [await stand.ask(`${RUNS}?wait=9s`), await stand.ask(`${RUNS}?wait=9s`)]
    expect([one.status, two.status, one.body.id === two.body.id]).toEqual([200, 200, false])
  })

  it('says what the ledger refuses', async () => {
    const fleet = await stand.node(untilSignal, { queue: 0 })
    const begun = fleet.once('run-started')
    await stand.ask(RUNS, { key: 'a', body: { data: 1 } })
    await begun
    expect(await stand.ask(RUNS, { key: 'a', body: { data: 2 } })).toMatchObject(refused(409, 'REQUEST_CONFLICT'))
    const full = await stand.ask(RUNS, { key: 'b' })
    expect(full).toMatchObject(refused(429, 'QUEUE_FULL'))
    expect(full.headers.get('retry-after')).toBe('5')
    await fleet.retire('it')
    expect(await stand.ask(RUNS, { key: 'c' })).toMatchObject(refused(409, 'STATE_CONFLICT'))
    await fleet.stop({ grace: 0 })
    expect(await stand.ask(RUNS, { key: 'd' })).toMatchObject(refused(503, 'NOT_STARTED'))
  })
})

describe('poking an occurrence', () => {
  it('starts what waits for it, once, and gives what became of it', async () => {
    const fleet = createTestFleet({ now: '2026-11-29T23:59:59Z', fleet: 'http', service: 'app' })
    fleet.job('it', { cron: '0 0 * * *', timeZone: 'UTC', attend: 'poke', pokeGrace: '12h' }, (run) => run.date)
    await fleet.start()
    stand.fleets.push(fleet)
    await stand.serve(toNodeHandler(createHttpHandler(fleet, { secrets: [LIVE] })))
    await advance(fleet, '2s')
    expect(await fleet.runs({ job: 'it' })).toMatchObject([{ key: '2026-11-30T00:00', state: 'queued' }])
    const body = { occurrence: '2026-11-30T00:00' }
    const poked = await stand.ask(`${RUNS}?wait=30s`, { body })
    expect(poked).toMatchObject({ status: 200, body: { state: 'succeeded', cause: 'schedule', result: '2026-11-30' } })
    const id = poked.body.id
    expect(await stand.ask(RUNS, { body })).toMatchObject({ status: 200, body: { id, attempt: 1 } })
    expect(await stand.ask(RUNS, { body: { occurrence: 'due' } })).toMatchObject({
      status: 200,
      body: { id, attempt: 1 },
    })
    const next = await stand.ask(RUNS, { body: { occurrence: '2026-12-01T00:00' } })
    expect(next).toMatchObject(refused(404, 'OCCURRENCE_UNKNOWN'))
    expect(await fleet.runs({ job: 'it' })).toHaveLength(1)
  })

  it('gives 204 where nothing has been due yet, and 404 for what is none', async () => {
    await stand.node(() => 'done', { cron: '0 0 29 2 *', timeZone: 'UTC', attend: 'poke' })
    expect(await stand.ask(RUNS, { body: { occurrence: 'due' } })).toMatchObject({ status: 204, body: null })
    const answer = await stand.ask(RUNS, { body: { occurrence: '2026-11-29T00:00' } })
    expect(answer).toMatchObject(refused(404, 'OCCURRENCE_UNKNOWN'))
  })

  it.each(['due', '2026-11-29T00:00'])(
    'of a job without a schedule is refused with what to ask for: %s',
    async (occurrence) => {
      await stand.node()
      const answer = await stand.ask(RUNS, { body: { occurrence } })
      expect(answer).toMatchObject(refused(404, 'OCCURRENCE_UNKNOWN'))
      expect(answer.body.detail).toBe(
        "Job 'it' has no schedule, so nothing of it is ever due: leave occurrence out, for a run of its own.",
      )
    },
  )

  it('needs no key of whoever has a token', async () => {
    await stand.node(() => 'done', { cron: '0 0 29 2 *', timeZone: 'UTC', attend: 'poke' })
    const asked = { method: 'POST', headers: BEARER, body: '{"occurrence":"due"}' }
    expect(await stand.send(RUNS, asked)).toMatchObject({ status: 204 })
  })
})

describe('what the door refuses', () => {
  it.each([
    ['not JSON', '{', 400, 'BODY_INVALID'],
    ['bytes that are no text', Buffer.from('{"data":"\xff"}', 'latin1'), 400, 'BODY_INVALID'],
    ['no object', '[1]', 400, 'BODY_INVALID'],
    ['a word that nobody knows', { payload: 1 }, 400, 'BODY_INVALID'],
    ['an occurrence with data', { occurrence: 'due', data: 1 }, 400, 'BODY_INVALID'],
    ['an occurrence that is no text', { occurrence: 5 }, 400, 'BODY_INVALID'],
    ['more than 64 KiB', { data: 'x'.repeat(65_536) }, 413, 'BODY_TOO_LARGE'],
  ])('a body with %s', async (_, body, status, code) => {
    await stand.node()
    expect(await stand.ask(RUNS, { body, key: 'a' })).toMatchObject(refused(status, code))
    expect(await stand.fleets[0]?.runs({ job: 'it' })).toEqual([])
  })

  it('a body that is a list, in a sentence', async () => {
    await stand.node()
    const { detail } = (await stand.ask(RUNS, { body: '[]' })).body
    expect(detail).toMatch(/^The body cannot be used: it must be an object, such as \{"data": …\} or /)
  })

  it('a body that grows beyond 64 KiB while it is read, and one that is compressed', async () => {
    await stand.node()
    const endless = new ReadableStream({ pull: (to) => to.enqueue(new Uint8Array(16_384)) })
    const init = { method: 'POST', headers: BEARER, body: endless, duplex: 'half' } as RequestInit
    const answer = await fetch(`${stand.urls[0]}${RUNS}`, init)
    expect([answer.status, answer.headers.get('connection')]).toEqual([413, 'close'])
    const headers = { ...BEARER, 'content-encoding': 'gzip' }
    expect(await stand.send(RUNS, { method: 'POST', headers, body: '{}' })).toMatchObject(refused(415, 'BODY_INVALID'))
  })

  it.each([
    ['POST', '/fleetcron/jobs/nothing/runs', 404, 'JOB_UNKNOWN'],
    ['GET', '/fleetcron/runs/nothing', 404, 'RUN_UNKNOWN'],
    [
      'GET',
      `/fleetcron/runs/${Buffer.from('["app:it","2026-11-29T00:00"]').toString('base64url')}`,
      404,
      'RUN_UNKNOWN',
    ],
    ['GET', '/fleetcron', 404, 'PATH_UNKNOWN'],
    ['GET', '/elsewhere', 404, 'PATH_UNKNOWN'],
    ['POST', '/fleetcron/jobs/it/runs/more', 404, 'PATH_UNKNOWN'],
    ['POST', '/fleetcron/jobs/%ff/runs', 404, 'PATH_UNKNOWN'],
    ['GET', RUNS, 405, 'METHOD_UNKNOWN'],
    ['DELETE', '/fleetcron/runs/nothing', 405, 'METHOD_UNKNOWN'],
  ])('%s %s', async (method, target, status, code) => {
    await stand.node()
    const answer = await stand.send(target, { method, headers: { ...BEARER, 'idempotency-key': 'a' } })
    expect(answer).toMatchObject(refused(status, code))
    expect(answer.headers.get('content-type')).toBe('application/problem+json')
    expect(answer.headers.get('cache-control')).toBe('no-store')
  })

  it.each([
    ['OPTIONS * HTTP/1.1', 400],
    ['GET http://elsewhere/fleetcron/runs/x HTTP/1.1', 400],
    ['GET //fleetcron HTTP/1.1', 401],
    ['GET /fleetcron/%zz HTTP/1.1', 401],
    ['TRACE /fleetcron/runs/x HTTP/1.1', 405],
    ['POST /fleetcron/jobs/it/runs HTTP/1.0', 401],
  ])('what no client sends: %s', async (line, status) => {
    await stand.node()
    const { port } = new URL(stand.urls[0] ?? '')
    const socket = connect(Number(port), '127.0.0.1')
    socket.end(`${line}\r\nHost: it\r\nAuthorization: Bearer \xff\r\nConnection: close\r\n\r\n`, 'latin1')
    expect(await text(socket)).toMatch(new RegExp(`^HTTP/1.1 ${status} [\\s\\S]*problem\\+json`))
    expect(await stand.ask('/fleetcron/runs/x', { method: 'GET' })).toMatchObject({ status: 404 })
  })

  it('other jobs than those that are named', async () => {
    await stand.node(() => 'done', {}, { tokens: [TOKEN], jobs: ['other'] })
    const asked = { method: 'POST', headers: { ...BEARER, 'idempotency-key': 'a' } }
    expect(await stand.send(RUNS, asked)).toMatchObject(refused(404, 'JOB_UNKNOWN'))
    expect(await stand.send('/fleetcron/jobs/app:it/runs', asked)).toMatchObject(refused(404, 'JOB_UNKNOWN'))
    await stand.node(() => 'done', {}, { tokens: [TOKEN], jobs: ['it'] })
    const started = await stand.send(RUNS, asked, 1)
    const look = { method: 'GET', headers: BEARER }
    expect(await stand.send(started.headers.get('location') ?? '', look)).toMatchObject(refused(404, 'RUN_UNKNOWN'))
    expect(await stand.send(started.headers.get('location') ?? '', look, 1)).toMatchObject({ status: 200 })
  })

  it('keeps what went wrong inside: no stack, no secret, no word of the store', async () => {
    const fleet = await stand.node()
    const [url] = stand.urls
    fleet.trigger = () => Promise.reject(new Error(`cannot reach postgres://app:${LIVE}@db`))
    const answer = await stand.ask(RUNS, { key: 'a' })
    expect(answer).toMatchObject(refused(500, 'INTERNAL'))
    expect(JSON.stringify(answer.body)).not.toMatch(/postgres|secret|at /)
    expect(stand.lines).toHaveLength(1)
    expect(url).toBeDefined()
  })
})

it('takes what is live at the moment, where a function says so', async () => {
  let live = [LIVE]
  await stand.node(() => 'done', {}, { secrets: () => live })
  expect((await stand.ask(RUNS, { key: 'a' })).body.cause).toBe('manual')
  live = [NEXT]
  expect(await stand.ask(RUNS, { key: 'a' })).toMatchObject(refused(401, 'UNAUTHORIZED'))
  expect((await stand.ask(RUNS, { key: 'a', secret: NEXT })).body.cause).toBe('manual')
  live = []
  expect(await stand.ask(RUNS, { key: 'a', secret: NEXT })).toMatchObject(refused(401, 'UNAUTHORIZED'))
})

describe('a door without a lock', () => {
  const make = (options: object) => () => createHttpHandler({} as never, options)
  it.each([
    [{}, 'neither `secrets` nor `tokens` is given'],
    [{ secrets: [] }, '`secrets` is empty'],
    [{ secrets: [undefined] }, 'undefined. Is the variable set'],
    [{ tokens: [''] }, 'empty. Is the variable set'],
    [{ secrets: ['short'] }, 'fewer than 32 characters'],
    [{ secrets: [LIVE, NEXT, `${NEXT}2`] }, 'at most 2 are live'],
    [{ secrets: () => [] }, '`secrets` is empty'],
    [{ secrets: LIVE }, 'is no list'],
    [{ secret: [LIVE] }, 'Did you mean secrets?'],
    [{ tokens: [TOKEN], path: 'fleet' }, 'is not a path'],
    [{ tokens: [TOKEN], jobs: 'it' }, 'a list of names'],
    [{ tokens: [TOKEN], longestWait: '2h' }, 'out of range'],
  ])('%j is an error at start, with what to do', (options, message) => {
    expect(make(options)).toThrow(message)
    expect(make(options)).toThrow(expect.objectContaining({ code: 'OPTION_INVALID' }))
    expect(make(options)).not.toThrow(LIVE)
  })
})

it('signs what the documentation says', () => {
  const signed = signRequest({
    secret: 'k'.repeat(32),
    url: 'https://app.example/fleetcron/jobs/it/runs?wait=30s',
    body: '{}',
    key: 'order-42',
    timestamp: 1_796_000_000_999,
    nonce: 'n'.repeat(16),
  })
  expect(signed).toEqual({
    'idempotency-key': 'order-42',
    'fleetcron-timestamp': '1796000000',
    'fleetcron-nonce': 'n'.repeat(16),
    'fleetcron-signature': expect.stringMatching(/^v1=[0-9a-f]{64}$/),
  })
  expect(() => signRequest({ secret: '', url: '/' })).toThrow('secret')
  expect(() => signRequest({ secret: LIVE, url: '/', nonce: 'short' })).toThrow('nonce')
  expect(HTTP_CODES).toHaveLength(8)
})
