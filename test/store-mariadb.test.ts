import { afterAll, beforeAll, describe, test } from 'vitest'
import { storeConformance } from '../src/testing/store/index.js'
import { TurnedPlaces } from './mysql/place.js'
import { sharedServer } from './servers/index.js'

let places: TurnedPlaces
beforeAll(async () => {
  places = await TurnedPlaces.make((await sharedServer('mariadb')).url)
})
afterAll(() => places.remove())

storeConformance({ describe, test }, 'mariadb', (now) => places.open(now), { wakes: false })
