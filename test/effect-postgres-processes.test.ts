import { PostgresBusiness } from './effect/postgres-business.js'
import { stoppedSuite } from './effect/stopped-suite.js'
import { sharedServer } from './servers/index.js'

stoppedSuite('Postgres', async () => PostgresBusiness.make((await sharedServer('postgres')).url))
