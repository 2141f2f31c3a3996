import 'reflect-metadata'
import { Body, Controller, type INestApplication, Module, Post, type Type } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { FastifyAdapter } from '@nestjs/platform-fastify'
import type Database from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { fencedFetch, fencingHeaders } from '../../src/effect/fencing.js'
import type { Effects } from '../../src/effect/port.js'
import { sqlite } from '../../src/effect/sqlite/index.js'
import { Fenced, FleetModule, InjectEffects, ReceivedFence } from '../../src/nest/index.js'
import { BusinessFolder, noteIn, notesIn } from '../effect/business-folder.js'

type Tx = Database.Database

@Controller('orders')
class Orders {
  constructor(@InjectEffects() private readonly effects: Effects<Tx>) {}

  @Post()
  @Fenced()
  order(@Body() { key }: { key: string }, @ReceivedFence() fence: ReceivedFence<Tx>) {
    return fence.once(key, (tx) => ({ key: noteIn(tx, key), token: fence.token }))
  }

  @Post('open')
  open(@Body() { key }: { key: string }) {
    return this.effects.once(key, (tx) => ({ key: noteIn(tx, key) }))
  }

  @Post('unguarded')
  unguarded(@ReceivedFence() fence: ReceivedFence<Tx>) {
    return fence.token
  }
}

@Controller('stock')
@Fenced({ resources: ['shop/shop:stock'] })
class Stock {
  @Post()
  count(@ReceivedFence() fence: ReceivedFence<Tx>) {
    return { token: fence.token }
  }
}

const SERVERS = {
  Express: (module: Type) => NestFactory.create(module, { logger: false, abortOnError: false }),
  Fastify: (module: Type) => NestFactory.create(module, new FastifyAdapter(), { logger: false, abortOnError: false }),
} satisfies Record<string, (module: Type) => Promise<INestApplication>>

const run = (token: number, resource = 'shop/shop:orders') => ({
  job: 'orders',
  key: '2026-11-29',
  resource,
  token,
  signal: new AbortController().signal,
})

describe.each(Object.entries(SERVERS))('@Fenced() on %s, over a socket', (_, create) => {
  let folder: BusinessFolder
  let database: Tx
  let app: INestApplication
  let url: string

  beforeEach(async () => {
    folder = new BusinessFolder()
    database = folder.connect()
    @Module({ imports: [FleetModule.forRoot({ effects: sqlite(database) })], controllers: [Orders, Stock] })
    class AppModule {}
    app = await create(AppModule)
    await app.listen(0, '127.0.0.1')
    url = await app.getUrl()
  })
  afterEach(async () => {
    await app.close()
    folder.remove()
  })

  const post = (path: string, token: number, body: object, resource?: string) =>
    fencedFetch(run(token, resource), `${url}/${path}`, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json' },
    })

  it('lets the newest attempt in, and answers an older one 409', async () => {
    const first = await post('orders', 5, { key: 'a' })
    expect([first.status, await first.json()]).toEqual([201, { key: 'a', token: 5 }])
    expect((await post('orders', 6, { key: 'b' })).status).toBe(201)
    await expect(post('orders', 5, { key: 'c' })).rejects.toMatchObject({ code: 'STALE_TOKEN', token: 5, highest: 6 })
    const plain = await fetch(`${url}/orders`, { method: 'POST', headers: fencingHeaders(run(5)) })
    expect(plain.status).toBe(409)
    expect(await plain.json()).toMatchObject({ code: 'STALE_TOKEN', token: 5, highest: 6 })
    expect(notesIn(database)).toEqual(['a', 'b'])
  })

  it('answers 428 without the headers, and 400 for what is no token', async () => {
    const asked = async (headers: Record<string, string>) =>
      (await fetch(`${url}/orders`, { method: 'POST', headers })).status
    expect(await asked({})).toBe(428)
    expect(await asked({ 'fencing-token': '7' })).toBe(428)
    expect(await asked({ 'fencing-token': 'seven', 'fencing-resource': 'r' })).toBe(400)
    expect((await fetch(`${url}/orders/unguarded`, { method: 'POST' })).status).toBe(500)
  })

  it('refuses options that it does not know, where it is written', () => {
    expect(() => Fenced({ resource: ['shop/shop:stock'] } as never)).toThrow("@Fenced(): unknown option 'resource'")
  })

  it('guards a class, and the resources that it knows', async () => {
    const counted = await post('stock', 3, {}, 'shop/shop:stock')
    expect(await counted.json()).toEqual({ token: 3 })
    expect((await post('stock', 3, {}, 'shop/shop:orders')).status).toBe(403)
    await expect(post('stock', 2, {}, 'shop/shop:stock')).rejects.toMatchObject({ code: 'STALE_TOKEN' })
  })

  it('shares keys with what is not fenced', async () => {
    expect((await post('orders/open', 1, { key: 'a' })).status).toBe(201)
    const again = await post('orders', 7, { key: 'a' })
    expect(await again.json()).toEqual({ key: 'a' })
    expect(notesIn(database)).toEqual(['a'])
  })
})
