import { MariadbBusiness } from './effect/mariadb-business.js'
import { stoppedSuite } from './effect/stopped-suite.js'
import { sharedServer } from './servers/index.js'

stoppedSuite('MariaDB', async () => MariadbBusiness.make((await sharedServer('mariadb')).url))
