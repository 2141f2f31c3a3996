import { MariadbBusiness } from './effect/mariadb-business.js'
import { killsOf } from './kills/suite.js'
import { sharedServer } from './servers/index.js'

killsOf('MariaDB', async () => {
  const business = await MariadbBusiness.make((await sharedServer('mariadb')).url)
  return { url: business.url, end: () => business.close() }
})
