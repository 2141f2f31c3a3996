import type { Cluster } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest'
import { resolveStore } from '../src/store/resolve.js'
import { change, creation, event, fresh, header, queued, settlement } from '../src/testing/store/builders.js'
import { storeConformance } from '../src/testing/store/index.js'
import { TestSession } from './postgres/session.js'
import { again } from './redis/again.js'
import { Ear } from './redis/ear.js'
import { clusterOf, mastersOf, RedisPlace, TurnedPlaces } from './redis/place.js'
import { ownServer, sharedServer } from './servers/index.js'

let url = ''
let cluster: Cluster
let places: TurnedPlaces
beforeAll(async () => {
  url = (await sharedServer('redis-cluster')).url
  cluster = clusterOf(url)
  places = new TurnedPlaces(cluster)
})
afterAll(() => places.remove())

storeConformance({ describe, test }, 'redis cluster', (now) => places.open(now))

describe('a ledger in a Redis Cluster', () => {
  it('is found by the URL of one node, wherever the slot of a fleet is', async () => {
    const place = new RedisPlace(cluster)
    const nodes = new Set<number>()
    for (let i = 0; i < 12; i++) {
      const fleet = `fleet ${i}`
      const store = await resolveStore(`${url}?prefix=${place.prefix}`, fleet)
      expect(await store.open()).toMatchObject({
        kind: 'redis',
        grade: 'efficient',
        remark: expect.stringContaining('A failover in a Cluster may lose the last writes'),
      })
      const session = await TestSession.begin(store)
      expect(await session.outcomes(creation('c', 'billing:a'))).toEqual(['won'])
      expect((await session.beat()).alive).toBe(true)
      await store.close()
      nodes.add(await holderOf(place.key(fleet, 'meta')))
    }
    expect(nodes.size).toBeGreaterThan(1)
    await place.remove()
  })

  it('has all keys of a fleet in one slot, whatever its name (F51)', async () => {
    for (const fleet of ['billing', '}{', '{}', 'a}b:c', '%7D', '😀 {x}']) {
      const place = new RedisPlace(cluster)
      const store = place.store(fleet)
      await store.open()
      const session = await TestSession.begin(store, 's}{')
      const [run] = await session.running(['billing:}{'])
      const runs = [fresh(queued('billing:{b}', 'k'))]
      const events = [event('e', 'billing:{b}')]
      const made = creation('c', 'billing:{b}', { runs, events, header: header('billing:{b}', { wakeAt: 1 }) })
      expect(await session.outcomes(made)).toEqual(['won'])
      expect(run && (await store.settle([settlement(run, 1)]))).toEqual(['settled'])
      const keys = (await Promise.all(mastersOf(cluster).map((node) => node.keys(`{${place.prefix}:*`)))).flat()
      expect(keys.length).toBeGreaterThan(15)
      const slots = await Promise.all(keys.map((key) => cluster.cluster('KEYSLOT', key)))
      expect(new Set(slots).size, fleet).toBe(1)
      await store.close()
      await place.remove()
    }
  })

  it('is refused as a whole while its slot moves to another node, and goes on there', async () => {
    const place = new RedisPlace(cluster)
    const store = place.store('f', { callMs: 30_000 })
    await store.open()
    const session = await TestSession.begin(store)
    await session.commit(creation('c', 'billing:a', { runs: [fresh(queued('billing:a', 'k'))] }))
    const read = await session.read('billing:a')
    const before = await session.beat()

    const masters = mastersOf(cluster)
    const slot = await cluster.cluster('KEYSLOT', place.key('f', 'meta'))
    const from = await holderOf(place.key('f', 'meta'))
    const [source, target] = [masters[from], masters[(from + 1) % masters.length]]
    if (!source || !target) throw new Error('there are three masters')
    const [sourceId, targetId] = [String(await source.cluster('MYID')), String(await target.cluster('MYID'))]
    await target.cluster('SETSLOT', slot, 'IMPORTING', sourceId)
    await source.cluster('SETSLOT', slot, 'MIGRATING', targetId)
    const keys = await source.cluster('GETKEYSINSLOT', slot, 1_000)
    const move = async (key: string) => {
      await source.call('MIGRATE', '127.0.0.1', target.options.port ?? 0, key, 0, 5_000)
    }
    // The one that holds the incarnation goes first.
    const [meta = '', ...others] = keys.sort((a, b) => Number(b.endsWith(':meta')) - Number(a.endsWith(':meta')))
    await move(meta)
    await expect(session.beat()).rejects.toThrow('is moving the slot of the ledger')
    await expect(session.commit(change('c2', read))).rejects.toThrow('is moving the slot of the ledger')
    for (const key of others) await move(key)
    for (const node of [target, source]) await node.cluster('SETSLOT', slot, 'NODE', targetId)

    expect(await session.read('billing:a')).toEqual(read)
    expect(await session.outcomes(change('c3', read))).toEqual(['won'])
    expect(await session.beat()).toMatchObject({ known: true, alive: true, incarnation: before.incarnation })
    await store.close()
    await place.remove()
  })

  it('says so while its nodes are away, works again by itself, and has lost nothing', async () => {
    const server = await ownServer('redis-cluster')
    const store = await resolveStore(server.url, 'f')
    await store.open()
    const session = await TestSession.begin(store)
    const heard = new Ear()
    await store.subscribe?.(heard.hear)
    const [run] = await session.running(['billing:a'])
    const { incarnation } = await session.beat()
    await server.kill()
    const away = { code: 'STORE_UNAVAILABLE', message: expect.stringMatching(/^The ledger .* cannot be used: /) }
    for (const call of [() => session.beat(), () => session.attend(), () => store.load({})]) {
      await expect(call()).rejects.toMatchObject(away)
    }
    await server.again()
    expect(run && (await again(() => store.settle([settlement(run, 1)])))).toEqual(['settled'])
    expect(await again(() => session.beat())).toMatchObject({ alive: true, known: true, incarnation })
    await store.close()
    await server.end()
  })

  it('tells wakes across its nodes', async () => {
    const place = new RedisPlace(cluster)
    const [near, far] = [place.store('f'), place.store('f')]
    await Promise.all([near.open(), far.open()])
    const heard = new Ear()
    await far.subscribe?.(heard.hear)
    const session = await TestSession.begin(near)
    await session.commit(creation('c', 'billing:a', { header: header('billing:a', { wakeAt: 5, bucket: 7 }) }))
    expect(await heard.next()).toBe(7)
    await near.close()
    await far.close()
    await place.remove()
  })
})

/** The node that has a key. */
async function holderOf(key: string): Promise<number> {
  const found = await Promise.all(
    mastersOf(cluster).map((node) =>
      node.exists(key).then(
        (count) => count === 1,
        () => false,
      ),
    ),
  )
  return found.indexOf(true)
}
