import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { storeConformance } from '../src/testing/store/index.js'
import { TurnedPlaces } from './redis/place.js'
import { sharedServer } from './servers/index.js'

let places: TurnedPlaces
beforeAll(async () => {
  places = new TurnedPlaces(new Redis((await sharedServer('redis')).url))
})
afterAll(() => places.remove())

storeConformance({ describe, test }, 'redis', (now) => places.open(now))
