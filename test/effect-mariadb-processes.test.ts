import { join } from 'node:path'
import { MariadbBusiness } from './effect/mariadb-business.js'
import { stoppedSuite } from './effect/stopped-suite.js'
import { stoppedInside } from './process/faults.js'
import { sharedServer } from './servers/index.js'

const make = async () => MariadbBusiness.make((await sharedServer('mariadb')).url)

stoppedSuite('MariaDB', make)
stoppedInside({
  ledger: (folder) => `sqlite:${join(folder, 'ledger.db')}`,
  async business() {
    const business = await make()
    await business.rows('CREATE TABLE invoice (customer VARCHAR(20), date VARCHAR(20), node VARCHAR(20))')
    return business
  },
})
