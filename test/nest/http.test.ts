import 'reflect-metadata'
import { Body, Controller, type INestApplication, Injectable, Module, Post } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { ExpressAdapter } from '@nestjs/platform-express'
import { FastifyAdapter } from '@nestjs/platform-fastify'
import { Test } from '@nestjs/testing'
import { afterEach, describe, expect, it } from 'vitest'
import { httpDoor, signRequest } from '../../src/http/index.js'
import { Cron, FleetModule, type Run } from '../../src/nest/index.js'
import { useTestFleet } from '../../src/testing/index.js'
import { Lines, NEVER, OPTIONS, startApplication } from './stand.js'

const SECRET = 'secret-of-more-than-32-characters-01'
const TOKEN = 'token-of-more-than-32-characters-012'
const RUNS = '/fleetcron/jobs/invoice/runs'

@Injectable()
class Invoices {
  @Cron(NEVER, { name: 'invoice' })
  run(run: Run) {
    return run.data
  }
}

/** The application's own routes, which read bodies. */
@Controller('own')
class Own {
  @Post()
  echo(@Body() body: unknown) {
    return { body }
  }
}

const door = httpDoor({ secrets: [SECRET], tokens: [TOKEN] })
@Module({
  imports: [FleetModule.forRoot({ ...OPTIONS, startup: 'fail', http: door })],
  providers: [Invoices],
  controllers: [Own],
})
class AppModule {}

const open: { close(): Promise<unknown> }[] = []
afterEach(async () => {
  for (const app of open.splice(0)) await app.close()
})

async function jsonOf(response: Response) {
  return (await response.json()) as { readonly id: string; readonly code: string; readonly detail: string }
}

const ADAPTERS = { Express: () => new ExpressAdapter(), Fastify: () => new FastifyAdapter() } as const

async function started(name: keyof typeof ADAPTERS): Promise<string> {
  const adapter: ExpressAdapter | FastifyAdapter = ADAPTERS[name]()
  const app = await NestFactory.create(AppModule, adapter, { logger: false, abortOnError: false })
  app.setGlobalPrefix('api')
  open.push(app)
  await app.listen(0, '127.0.0.1')
  return app.getUrl()
}

describe.each(['Express', 'Fastify'] as const)('the door of an application on %s', (name) => {
  it('starts a run for whoever signs, and refuses what was altered', async () => {
    const url = await started(name)
    const body = '{"data": {"customer": 42}}'
    const headers = signRequest({ secret: SECRET, url: `${RUNS}?wait=30s`, body, key: 'order-42' })
    // A parser of the application's would read such a body, and the bytes that were signed would be gone.
    const sent = { method: 'POST', body, headers: { ...headers, 'content-type': 'application/json' } }
    const answer = await fetch(`${url}${RUNS}?wait=30s`, sent)
    const run = await jsonOf(answer)
    expect([answer.status, run]).toMatchObject([200, { job: 'fleetcron:invoice', result: { customer: 42 } }])
    expect(await (await fetch(`${url}${RUNS}?wait=30s`, sent)).json()).toMatchObject({ id: run.id })
    const altered = await fetch(`${url}${RUNS}?wait=30s`, { ...sent, body: '{"data":{"customer":43}}' })
    expect(altered.status).toBe(401)
    const shown = await fetch(url + answer.headers.get('location'), { headers: { authorization: `Bearer ${TOKEN}` } })
    expect(await shown.json()).toMatchObject({ id: run.id, state: 'succeeded' })
  })

  it('refuses what is too large or in pieces, and leaves the connection to the next', async () => {
    const url = await started(name)
    const headers = { authorization: `Bearer ${TOKEN}`, 'idempotency-key': 'a', 'content-type': 'application/json' }
    const large = await fetch(url + RUNS, {
      method: 'POST',
      headers,
      body: JSON.stringify({ data: 'x'.repeat(100_000) }),
    })
    expect([large.status, (await jsonOf(large)).code]).toEqual([413, 'BODY_TOO_LARGE'])
    const broken = await fetch(url + RUNS, { method: 'POST', headers, body: '{' })
    expect([broken.status, (await jsonOf(broken)).code]).toEqual([400, 'BODY_INVALID'])
    const nothing = await fetch(url + RUNS, { method: 'POST' })
    expect([nothing.status, nothing.headers.get('content-type')]).toEqual([401, 'application/problem+json'])
  })

  it("leaves the application's own routes alone", async () => {
    const url = await started(name)
    const headers = { 'content-type': 'application/json' }
    const own = await fetch(`${url}/api/own`, { method: 'POST', headers, body: '{"a":1}' })
    expect(await own.json()).toEqual({ body: { a: 1 } })
    expect((await fetch(`${url}/fleetcrony`)).headers.get('content-type')).not.toContain('problem')
  })
})

describe('the option', () => {
  it('is for a fleet, and wants a door', async () => {
    const withOptions = (options: object) =>
      startApplication({ imports: [FleetModule.forRoot(options as never)], providers: [Invoices] })
    await expect(withOptions({ http: door })).rejects.toThrow('a fleet, which needs')
    await expect(withOptions({ ...OPTIONS, http: { secrets: [SECRET] } })).rejects.toThrow('httpDoor({ secrets')
    open.push(await withOptions({ ...OPTIONS, http: undefined }))
  })

  it('says where an application has no web server', async () => {
    const lines = new Lines()
    open.push(await NestFactory.createApplicationContext(AppModule, { logger: lines, abortOnError: false }))
    expect(lines.of('log', 'this application has no web server: nothing listens at /fleetcron')).toHaveLength(1)
  })

  it('holds in a testing module: tokens always, signatures where raw bodies are kept', async () => {
    const builder = useTestFleet(Test.createTestingModule({ imports: [AppModule] }))
    const listening = async (app: INestApplication) => {
      open.push(app)
      await app.listen(0, '127.0.0.1')
      return (await app.getUrl()) + RUNS
    }
    const url = await listening((await builder.compile()).createNestApplication({ rawBody: true }))
    const body = '{"data":1}'
    const json = { 'content-type': 'application/json' }
    const token = { ...json, authorization: `Bearer ${TOKEN}`, 'idempotency-key': 'a' }
    expect([200, 202]).toContain((await fetch(url, { method: 'POST', body, headers: token })).status)
    const signed = { ...json, ...signRequest({ secret: SECRET, url: RUNS, body }) }
    expect([200, 202]).toContain((await fetch(url, { method: 'POST', body, headers: signed })).status)

    const other = useTestFleet(Test.createTestingModule({ imports: [AppModule] }))
    const parsed = await listening((await other.compile()).createNestApplication())
    expect([200, 202]).toContain((await fetch(parsed, { method: 'POST', body, headers: token })).status)
    const refused = await fetch(parsed, { method: 'POST', body, headers: signed })
    expect([refused.status, (await jsonOf(refused)).detail]).toEqual([
      400,
      expect.stringContaining('keep the raw body'),
    ])
  })
})
