import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createRedisStore } from '../src/store/redis/index.js'
import { creation } from '../src/testing/store/builders.js'
import { Detour } from './postgres/detour.js'
import { TestSession } from './postgres/session.js'
import { again } from './redis/again.js'
import { type OwnServer, ownServer } from './servers/index.js'

let server: OwnServer
beforeAll(async () => {
  server = await ownServer('redis-sentinel')
})
afterAll(() => server.end())

describe('a Redis ledger behind a Sentinel', () => {
  it('goes on by itself after a failover, and says that it is another one where writes were lost', async () => {
    const { hostname: host, port } = new URL(server.url)
    const sentinel = new Redis(server.url)
    const replicaPort = await replicaOf(sentinel)
    const client = new Redis({ sentinels: [{ host, port: Number(port) }], name: 'main', lazyConnect: true })
    const store = createRedisStore({ client, fleet: 'f' })
    expect(await store.open()).toMatchObject({
      grade: 'efficient',
      remark: expect.stringContaining('A failover may lose the last writes'),
    })
    const session = await TestSession.begin(store)
    expect(await session.outcomes(creation('kept', 'billing:kept'))).toEqual(['won'])
    const before = await session.beat()

    const [, masterPort] = (await sentinel.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', 'main')) as string[]
    const detour = await Detour.before(`redis://127.0.0.1:${masterPort}`)
    const replica = new Redis(`redis://127.0.0.1:${replicaPort}`)
    await replica.replicaof('127.0.0.1', new URL(detour.url).port)
    while (!(await replica.info('replication')).includes('master_link_status:up')) await replica.ping()
    detour.silence()
    expect(await session.outcomes(creation('lost', 'billing:lost'))).toEqual(['won'])
    await server.kill()

    const after = await again(() => session.beat())
    expect([after.known, after.alive]).toEqual([true, true])
    expect(after.incarnation).not.toBe(before.incarnation)
    const { jobs } = await again(() => store.load({ jobs: ['billing:kept', 'billing:lost'] }))
    expect([...jobs.keys()]).toEqual(['billing:kept'])
    expect(await again(() => session.outcomes(creation('anew', 'billing:lost')))).toEqual(['won'])
    await store.close()
    for (const each of [client, sentinel, replica]) each.disconnect()
    await detour.close()
  })
})

/** The port of the replica, once the Sentinel knows it. */
async function replicaOf(sentinel: Redis): Promise<number> {
  for (;;) {
    const [found] = (await sentinel.call('SENTINEL', 'REPLICAS', 'main')) as string[][]
    if (found) return Number(found[found.indexOf('port') + 1])
  }
}
