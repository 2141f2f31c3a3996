import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Store } from '../src/store/port.js'
import { createRedisStore, type RedisClient, type RedisConnection } from '../src/store/redis/index.js'
import { resolveStore } from '../src/store/resolve.js'
import { creation, fresh, queued, settlement } from '../src/testing/store/builders.js'
import { bundleMain, start } from './children.js'
import { TestSession } from './postgres/session.js'
import { Ear } from './redis/ear.js'
import { RedisPlace } from './redis/place.js'
import { sharedServer } from './servers/index.js'

let url = ''
let admin: Redis

beforeAll(async () => {
  url = (await sharedServer('redis')).url
  admin = new Redis(url)
  await admin.call('ACL', 'SETUSER', 'guarded', 'on', '>right and secret', '~*', '&*', '+@all')
  await admin.call('ACL', 'SETUSER', 'poor', 'on', '>right and secret', '~*', '&*', '+@connection', '+info')
  await admin.call('ACL', 'SETUSER', 'managed', 'on', '>right and secret', '~*', '&*', '+@all', '-config')
})
afterAll(async () => {
  await admin.call('ACL', 'DELUSER', 'guarded', 'poor', 'managed')
  admin.disconnect()
})

/** The URL of the server with something else in it. */
function urlWith(parts: { user?: string; password?: string; port?: number; host?: string; path?: string }): string {
  const { hostname, port } = new URL(url)
  const { user = '', password, path = '' } = parts
  const who = password === undefined ? '' : `${user}:${encodeURIComponent(password)}@`
  return `redis://${who}${parts.host ?? hostname}:${parts.port ?? port}${path}`
}

describe('a Redis ledger that cannot be used', () => {
  it.each([
    ['the port', { port: 1, password: 'right and secret' }, 'nobody listens there: is the server running'],
    ['the host', { host: 'nowhere.invalid', password: 'my secret' }, /there is no such host|could not be looked up/],
    ['the password', { user: 'guarded', password: 'wrong and secret' }, 'the password is wrong, or the user'],
    ['the user', { user: 'nobody', password: 'right and secret' }, 'the password is wrong, or the user does not exist'],
    ['a right', { user: 'poor', password: 'right and secret' }, 'the user lacks a right: it needs EVAL'],
    ['the database', { path: '/9999' }, 'there is no such database: look at the number after the host'],
  ])('says so in one sentence without the password: %s', async (_, parts, why) => {
    const store = await resolveStore(urlWith(parts), 'f')
    const error = await store.open().catch((thrown) => thrown)
    expect(error).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringMatching(/^The ledger redis at \S+:\d+ cannot be used: [^.]+[.?]$/),
    })
    expect(error.message).toMatch(why)
    expect(`${error.message} ${JSON.stringify(error)} ${error.cause} ${JSON.stringify(error.cause)}`).not.toContain(
      'secret',
    )
  })

  it('asks for a password where there is none', async () => {
    await admin.call('ACL', 'SETUSER', 'default', 'resetpass', '>right and secret')
    try {
      const store = await resolveStore(urlWith({}), 'f')
      await expect(store.open()).rejects.toThrow('it asks for a password, and there is none: put it into the URL.')
    } finally {
      await admin.call('ACL', 'SETUSER', 'default', 'nopass')
    }
  })

  it.each([
    ['redis://me:secret@ho st/0', 'after redis:// follow user:password@host:port/number'],
    ['redis:///0', 'after redis:// follow'],
    ['redis://host/name', 'after the host and its port a database follows by its number'],
    ['redis://me:%zz@host', 'it holds a % that no two digits follow'],
    ['rediss://me:secret@host?tls=no', 'of what may follow after the ? it knows prefix= only'],
  ])('is refused with a sentence: %j', async (text, why) => {
    const error = await resolveStore(text, 'f').catch((thrown) => thrown)
    expect(error).toMatchObject({ code: 'OPTION_INVALID', message: expect.stringContaining(why) })
    expect(error.message).toMatch(/ Use sqlite:.* redis:\/\/user:password@host, .*\.$/)
    expect(error.message).not.toContain('secret')
  })

  it.each(['', 'a:b', 'a b', 'x'.repeat(101)])('is refused with the prefix %j', (prefix) => {
    expect(() => createRedisStore({ client: admin, fleet: 'f', prefix })).toThrow(
      expect.objectContaining({ code: 'OPTION_INVALID' }),
    )
  })

  it('needs a driver, and says which', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'ledger-'))
    const script = join(folder, 'alone.mjs')
    await bundleMain('resolve-child.ts', script)
    const child = start(script, ['rediss://me:secret@127.0.0.1'])
    expect(await child.line()).toEqual([
      'DRIVER_MISSING',
      'A ledger in Redis or Valkey needs the driver ioredis, which is not installed: npm install ioredis.',
    ])
    await child.ended()
    rmSync(folder, { recursive: true })
  })

  it('says that it is not open, before and after', async () => {
    const place = new RedisPlace(admin)
    const store = place.store('f')
    const isShut = { code: 'STORE_UNAVAILABLE', message: expect.stringContaining('is not open.') }
    await expect(store.load({})).rejects.toMatchObject(isShut)
    await store.open()
    await store.close()
    await expect(store.settle([])).rejects.toMatchObject(isShut)
    await store.close()
    await place.remove()
  })

  it('is refused where its layout is newer', async () => {
    const place = new RedisPlace(admin)
    await admin.hset(place.key('f', 'meta'), 'schema', 2)
    const error = await place
      .store('f')
      .open()
      .catch((thrown) => thrown)
    expect(error).toMatchObject({ code: 'STORE_NEWER' })
    expect(error.message).toContain('has the layout 2, and this version of fleetcron knows 1: install')
    expect(await admin.hgetall(place.key('f', 'meta'))).toEqual({ schema: '2' })
    await place.remove()
  })
})

describe('what a server answers', () => {
  it.each([
    [
      "OOM command not allowed when used memory > 'maxmemory'.",
      'the memory of the server is full (maxmemory), and nothing can be recorded',
    ],
    [
      'ERR Error running script (call to f_1): @user_script:3: @user_script: 3: -OOM command not allowed',
      'the memory of the server is full',
    ],
    ["READONLY You can't write against a read only replica.", 'it is read-only, a replica perhaps'],
    ['LOADING Redis is loading the dataset in memory', 'the server is reading its data from disk.'],
    ['CLUSTERDOWN The cluster is down', 'the cluster is down'],
    ['MOVED 3999 127.0.0.1:6381', 'or the client is not one for a Cluster.'],
    ['MISCONF Redis is configured to save RDB snapshots', 'cannot save to its disk'],
    ['BUSY Redis is busy running a script.', 'busy with a script'],
    ['NOREPLICAS Not enough good replicas to write.', 'too few replicas'],
    ['ERR max number of clients reached', 'the server has no connection left'],
  ])('is told in one sentence: %s', async (message, why) => {
    const place = new RedisPlace(admin)
    const answer: { error: Error | null } = { error: null }
    const store = place.store('f', { client: answering(answer) })
    await store.open()
    answer.error = new Error(message)
    const unavailable = { code: 'STORE_UNAVAILABLE', message: expect.stringContaining(`cannot be used: `) }
    const error = await store.load({}).catch((thrown) => thrown)
    expect(error).toMatchObject(unavailable)
    expect(error.message).toContain(why)
    await store.close()
    await place.remove()
  })
})

describe('the rights of a user', () => {
  it('are enough as the documentation lists them', async () => {
    const text = readFileSync(join(import.meta.dirname, '..', 'docs', 'redis.md'), 'utf8')
    const listed = [...(/A user of its own needs: ([^.]*)\./.exec(text)?.[1]?.matchAll(/[~&+][^\s`,]+/g) ?? [])]
    const rights = listed.map(([right]) => right.replace('fleetcron', 'documented'))
    expect(rights.length).toBeGreaterThan(10)
    await admin.call('ACL', 'SETUSER', 'own', 'reset', 'on', '>right and secret', ...rights)
    const own = urlWith({ user: 'own', password: 'right and secret' })
    const store = await resolveStore(`${own}?prefix=documented`, 'f')
    const { remark } = await store.open()
    expect(remark).not.toContain('cannot be told')
    const session = await TestSession.begin(store)
    const heard = new Ear()
    await store.subscribe?.(heard.hear)
    const [run] = await session.running(['billing:a'])
    expect((await session.beat([run?.attemptId ?? ''])).gone).toEqual([])
    expect(run && (await store.settle([settlement(run, 1)]))).toEqual(['settled'])
    await admin.publish('{documented:f}:wake', 'other:42')
    expect(await heard.next()).toBe(42)
    expect((await store.runs({ limit: 9 })).length).toBe(1)
    await store.prune({ before: 1, limit: 9 })
    await store.close()
    await admin.call('ACL', 'DELUSER', 'own')
    await admin.unlink(await admin.keys('{documented:*'))
  })

  it('may leave out CONFIG: the grade is efficient then, and says why', async () => {
    const place = new RedisPlace(admin)
    const client = new Redis(urlWith({ user: 'managed', password: 'right and secret' }))
    const store = place.store('f', { client })
    const { grade, remark } = await store.open()
    expect([grade, remark]).toEqual(['efficient', expect.stringContaining('keeps no log of writes')])
    await store.close()
    client.disconnect()
    await place.remove()
  })
})

describe('data that Redis is not to see', () => {
  it('is refused alone; the others of the batch are committed', async () => {
    const place = new RedisPlace(admin)
    const store: Store = place.store('f')
    await store.open()
    const session = await TestSession.begin(store)
    const nul = creation('c1', 'billing:nul', { runs: [fresh(queued('billing:nul', 'a\0b'))] })
    const good = Array.from({ length: 20 }, (_, i) => creation(`g${i}`, `billing:${i}`))
    const results = await session.commit(...good.slice(0, 7), nul, ...good.slice(7))
    if (results === 'expired') throw new Error('in time')
    expect(results.filter((result) => result.outcome !== 'won')).toEqual([
      { job: 'billing:nul', outcome: 'refused', why: 'The name of a job or a run has a NUL in it.' },
    ])
    expect((await store.jobs({ limit: 100 })).length).toBe(20)
    await store.close()
    await place.remove()
  })
})

/** A client whose connections answer every script with an error, once there is one. */
function answering(answer: { error: Error | null }): RedisClient {
  const duplicate = (...how: unknown[]): RedisConnection => {
    const connection = (admin as RedisClient).duplicate(...how)
    const call = connection.call.bind(connection)
    connection.call = (command, args) =>
      answer.error && command.startsWith('eval') ? Promise.reject(answer.error) : call(command, args)
    return connection
  }
  return { options: admin.options, duplicate }
}
