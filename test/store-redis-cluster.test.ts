import { afterAll, beforeAll, describe, test } from 'vitest'
import { storeConformance } from '../src/testing/store/index.js'
import { clusterOf, TurnedPlaces } from './redis/place.js'
import { sharedServer } from './servers/index.js'

let places: TurnedPlaces
beforeAll(async () => {
  places = new TurnedPlaces(clusterOf((await sharedServer('redis-cluster')).url))
})
afterAll(() => places.remove())

storeConformance({ describe, test }, 'redis cluster', (now) => places.open(now))
