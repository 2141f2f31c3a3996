import type { Cluster } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest'
import { resolveStore } from '../src/store/resolve.js'
import { creation, event, fresh, header, queued, settlement } from '../src/testing/store/builders.js'
import { storeConformance } from '../src/testing/store/index.js'
import { TestSession } from './postgres/session.js'
import { Ear } from './redis/ear.js'
import { clusterOf, mastersOf, RedisPlace, TurnedPlaces } from './redis/place.js'
import { sharedServer } from './servers/index.js'

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

  it('has all keys of a fleet in one slot, whatever its name', async () => {
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
