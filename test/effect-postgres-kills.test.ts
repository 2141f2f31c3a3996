import { PostgresBusiness } from './effect/postgres-business.js'
import { killsOf } from './kills/suite.js'
import { sharedServer } from './servers/index.js'

killsOf('Postgres', async () => {
  const business = await PostgresBusiness.make((await sharedServer('postgres')).url)
  return { url: business.url, end: () => business.close() }
})
