import { afterAll, beforeAll, describe, expect, it, test } from 'vitest'
import { storeConformance } from '../src/testing/store/index.js'
import { TurnedPlaces } from './postgres/place.js'
import { sharedServer } from './servers/index.js'

let places: TurnedPlaces
beforeAll(async () => {
  const [direct, pooled] = await Promise.all([sharedServer('postgres'), sharedServer('pgbouncer')])
  places = await TurnedPlaces.make(pooled.url, direct.url)
})
afterAll(() => places.remove())

storeConformance({ describe, test }, 'postgres through PgBouncer in transaction mode', (now) => places.open(now), {
  wakes: false,
})

describe('a ledger behind PgBouncer in transaction mode', () => {
  it('says that wake-ups wait for the next beat, and leaves no LISTEN behind in a session', async () => {
    const place = await places.open(() => 0)
    const store = await place.connect('f')
    expect((await store.open()).remark).toContain('through a pooler')
    const end = await store.subscribe?.(() => {})
    await store.load({})
    expect(await places.sql('SELECT * FROM pg_listening_channels()')).toEqual([])
    await end?.()
    await store.close()
  })
})
