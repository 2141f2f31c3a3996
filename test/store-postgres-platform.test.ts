import { afterEach, beforeAll, beforeEach } from 'vitest'
import { commandLineDoor } from './platform/platform.js'
import { firesTwiceAndKills } from './platform/suite.js'
import { PostgresPlace } from './postgres/place.js'
import { sharedServer } from './servers/index.js'

let url = ''
let place: PostgresPlace
beforeAll(async () => {
  url = (await sharedServer('postgres')).url
})
beforeEach(() => {
  place = new PostgresPlace(url)
})
afterEach(() => place.remove())

firesTwiceAndKills('a platform whose ledger is in Postgres fires', commandLineDoor, () => {
  const ledger = new URL(place.url)
  ledger.searchParams.set('schema', place.schema)
  return ledger.href
})
