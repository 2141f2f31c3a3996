import { afterAll, beforeAll, describe, test } from 'vitest'
import { storeConformance } from '../src/testing/store/index.js'
import { TurnedPlaces } from './postgres/place.js'
import { sharedServer } from './servers/index.js'

let places: TurnedPlaces
beforeAll(async () => {
  places = await TurnedPlaces.make((await sharedServer('postgres18')).url)
})
afterAll(() => places.remove())

storeConformance({ describe, test }, 'postgres 18', (now) => places.open(now))
