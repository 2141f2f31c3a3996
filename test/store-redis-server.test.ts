import { once } from 'node:events'
import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Store } from '../src/store/port.js'
import { change, creation, fresh, header, queued, settlement } from '../src/testing/store/builders.js'
import { Detour } from './postgres/detour.js'
import { TestSession } from './postgres/session.js'
import { again } from './redis/again.js'
import { Ear } from './redis/ear.js'
import { RedisPlace } from './redis/place.js'
import { type OwnServer, ownServer } from './servers/index.js'

let server: OwnServer
let admin: Redis
let place: RedisPlace
const opened: Store[] = []

beforeAll(async () => {
  server = await ownServer('redis')
  admin = new Redis(server.url)
  admin.on('error', () => {})
})
afterAll(async () => {
  admin.disconnect()
  await server.end()
})
beforeEach(() => {
  place = new RedisPlace(admin)
})
afterEach(async () => {
  for (const store of opened.splice(0)) await store.close()
  await admin.flushall()
})

async function open(...how: Parameters<RedisPlace['store']>): Promise<Store> {
  const store = place.store(...how)
  await store.open()
  opened.push(store)
  return store
}

describe('a Redis ledger whose server stops', () => {
  it('says so meanwhile, works again by itself, and has lost nothing where each write is on disk', async () => {
    const store = await open('f')
    const session = await TestSession.begin(store)
    const heard = new Ear()
    await store.subscribe?.(heard.hear)
    const [run] = await session.running(['billing:a'])
    const { incarnation } = await session.beat()
    await server.kill()
    for (const call of [
      () => session.beat(),
      () => session.attend(),
      () => store.load({}),
      () => store.jobs({ limit: 1 }),
    ]) {
      await expect(call()).rejects.toMatchObject({
        code: 'STORE_UNAVAILABLE',
        message: expect.stringMatching(/^The ledger redis at 127\.0\.0\.1:\d+ cannot be used: /),
      })
    }
    await server.again()
    heard.forget()
    expect(await heard.next()).toBe(-1)
    expect(run && (await again(() => store.settle([settlement(run, 1)])))).toEqual(['settled'])
    expect(await again(() => session.beat())).toMatchObject({ alive: true, known: true, incarnation })
    await session.commit(creation('c', 'billing:b', { header: header('billing:b', { wakeAt: 5, bucket: 77 }) }))
    expect(await heard.next()).toBe(77)
  })

  it('is left by a connection that has fallen silent, and found by the next', async () => {
    const detour = await Detour.before(server.url)
    const far = new Redis(detour.url, { lazyConnect: true })
    const store = await open('f', { client: far, callMs: 200 })
    const session = await TestSession.begin(store)
    await session.beat()
    detour.silence()
    const silent = { code: 'STORE_UNAVAILABLE', message: expect.stringMatching(/did not answer in 200 ms; whether/) }
    await expect(store.load({})).rejects.toMatchObject(silent)
    await expect(session.beat()).rejects.toMatchObject(silent)
    expect((await again(() => session.beat())).alive).toBe(true)
    expect((await again(() => store.load({}))).now).toBeGreaterThan(0)
    await store.close()
    opened.length = 0
    await detour.close()
  })
})

describe('a Redis ledger that was lost or set back', () => {
  it('is another one after FLUSHALL, for those that run too', async () => {
    const store = await open('f')
    const other = await open('f')
    const session = await TestSession.begin(store)
    const [run] = await session.running(['billing:a'])
    const before = await session.beat()
    await admin.flushall()
    const after = await session.beat([run?.attemptId ?? ''])
    expect([after.known, after.alive, after.gone.length]).toEqual([false, false, 1])
    expect(after.incarnation).not.toBe(before.incarnation)
    expect((await other.open()).incarnation).toBe(after.incarnation)
    expect(run && (await store.settle([settlement(run, 1)]))).toEqual(['lost'])
    const again = await TestSession.begin(store, 'again')
    expect(await again.outcomes(creation('c', 'billing:a'))).toEqual(['won'])
    expect((await again.beat()).incarnation).toBe(after.incarnation)
    await other.close()
  })

  it('is another one where it counts fewer writes than somebody has seen', async () => {
    const store = await open('f')
    const session = await TestSession.begin(store)
    await session.commit(creation('c', 'billing:a'))
    const keys = await admin.keys(`*${place.prefix}*`)
    const backup = await Promise.all(keys.map(async (key) => [key, await admin.dumpBuffer(key)] as const))
    await session.commit(change('c2', await session.read('billing:a')))
    const before = await session.beat()
    for (const [key, dump] of backup) if (dump) await admin.call('RESTORE', key, 0, dump, 'REPLACE')
    const newcomer = await open('f')
    expect((await newcomer.open()).incarnation, 'who has seen no more cannot tell').toBe(before.incarnation)
    const after = await session.beat()
    expect([after.known, after.alive]).toEqual([true, true])
    expect(after.incarnation).not.toBe(before.incarnation)
    expect((await session.attend()).incarnation).toBe(after.incarnation)
    expect((await newcomer.open()).incarnation).toBe(after.incarnation)
    expect((await session.read('billing:a')).version).toBe('c')
    await newcomer.close()
    await newcomer.close()
  })

  it('goes on where the scripts were flushed', async () => {
    const store = await open('f')
    const session = await TestSession.begin(store)
    await session.commit(creation('c', 'billing:a', { runs: [fresh(queued('billing:a', 'k'))] }))
    await admin.script('FLUSH')
    const read = await session.read('billing:a')
    await admin.script('FLUSH')
    const [results] = await Promise.all([session.outcomes(change('c2', read)), session.beat(), session.attend()])
    expect(results).toEqual(['won'])
  })
})

describe('how far a Redis ledger can be trusted', () => {
  it.each([
    ['appendfsync', 'always', 'correct', null],
    [
      'appendfsync',
      'everysec',
      'efficient',
      'may lose the last second of writes (appendfsync everysec): set it to always.',
    ],
    ['appendonly', 'no', 'efficient', 'keeps no log of writes (appendonly no), so a restart loses the last ones'],
    [
      'maxmemory-policy',
      'allkeys-lru',
      'efficient',
      'THE SERVER MAY THROW ROWS OF THE LEDGER AWAY when its memory is full',
    ],
  ])('is told by the setting %s %s', async (name, value, grade, remark) => {
    const [, before = ''] = (await admin.config('GET', name)) as string[]
    await admin.config('SET', name, value)
    const told = await (await open('f')).open()
    await admin.config('SET', name, before)
    expect([told.kind, told.grade]).toEqual(['redis', grade])
    expect(told.remark).toEqual(remark && expect.stringContaining(remark))
    await opened[0]?.close()
  })

  it('ends with a replica that may take over, and a replica is no place for it', async () => {
    const second = await ownServer('redis')
    const replica = new Redis(second.url)
    const { hostname, port } = new URL(server.url)
    await replica.replicaof(hostname, port)
    while (!(await replica.info('replication')).includes('master_link_status:up')) await replica.ping()
    const told = await (await open('f')).open()
    expect([told.grade, told.remark]).toEqual([
      'efficient',
      'A failover may lose the last writes, since replicas lag behind.',
    ])
    await expect(place.store('f', { client: replica }).open()).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringMatching(/cannot be used: it is (a replica|read-only)/),
    })
    await opened[0]?.close()
    replica.disconnect()
    await second.end()
    // The server notices the end of the replica by its connection.
    while (!(await admin.info('replication')).includes('connected_slaves:0')) await admin.ping()
  })
})

describe('a server without memory', () => {
  it('takes nothing, says so, and goes on when there is room (F53)', async () => {
    const store = await open('f')
    const session = await TestSession.begin(store)
    await session.commit(creation('c', 'billing:a'))
    const read = await session.read('billing:a')
    await admin.config('SET', 'maxmemory', '1')
    const late = change('c2', read, { runs: [fresh(queued('billing:a', 'k'))] })
    for (const call of [() => session.beat(), () => session.commit(late)]) {
      await expect(call()).rejects.toMatchObject({
        code: 'STORE_UNAVAILABLE',
        message: expect.stringContaining('the memory of the server is full (maxmemory), and nothing can be recorded'),
      })
    }
    expect(await session.read('billing:a'), 'reading goes on').toEqual(read)
    await admin.config('SET', 'maxmemory', '0')
    expect(await session.outcomes(late)).toEqual(['won'])
    expect((await session.beat()).alive).toBe(true)
  })
})

describe('wakes', () => {
  it('are heard again after the connection was cut, with a look at once', async () => {
    const store = await open('f')
    const session = await TestSession.begin(store)
    const heard = new Ear()
    const far = await open('f')
    await far.subscribe?.(heard.hear)
    await session.commit(creation('c', 'billing:a', { header: header('billing:a', { wakeAt: 5, bucket: 7 }) }))
    expect(await heard.next()).toBe(7)
    await admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub')
    expect(await heard.next()).toBe(-1)
    await session.commit(creation('d', 'billing:b', { header: header('billing:b', { wakeAt: 5, bucket: 8 }) }))
    expect(await heard.next()).toBe(8)
  })
})

describe('a client of one’s own', () => {
  it('is neither used nor closed, and its connections do not hang as it may', async () => {
    const own = new Redis(server.url, { keyPrefix: 'mine:', maxRetriesPerRequest: null, stringNumbers: true })
    await once(own, 'ready')
    const store = await open('f', { client: own })
    const session = await TestSession.begin(store)
    expect(await session.outcomes(creation('c', 'billing:a'))).toEqual(['won'])
    expect(await admin.exists(`mine:${place.key('f', 'meta')}`)).toBe(1)
    await session.beat()
    await store.subscribe?.(() => {})
    const names = async () =>
      [...String(await admin.client('LIST')).matchAll(/name=(fleetcron\S*)/g)].map(([, name]) => name).sort()
    expect(await names()).toEqual(['fleetcron', 'fleetcron-beats', 'fleetcron-wakes'])
    await store.close()
    opened.length = 0
    expect(await own.ping()).toBe('PONG')
    // The server notices an end when it comes to it.
    while ((await names()).length > 0) await admin.ping()
    own.disconnect()
  })
})
