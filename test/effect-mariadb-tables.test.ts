import { randomUUID } from 'node:crypto'
import { MariadbBusiness } from './effect/mariadb-business.js'
import { tablesOn } from './effect/tables-suite.js'
import { sharedServer } from './servers/index.js'

tablesOn('MariaDB', async () => {
  const business = await MariadbBusiness.make((await sharedServer('mariadb')).url)
  const user = `'app_${randomUUID().slice(0, 8)}'@'%'`
  return {
    url: business.url,
    rows: (sql) => business.rows(sql),
    restricted: async () => {
      await business.rows(`CREATE USER ${user} IDENTIFIED BY 'app'`)
      for (const table of ['fleetcron_effect', 'fleetcron_fence']) {
        await business.rows(`GRANT SELECT, INSERT, UPDATE ON ${table} TO ${user}`)
      }
      const url = new URL(business.url)
      Object.assign(url, { username: user.split("'")[1], password: 'app' })
      return url.href
    },
    close: async () => {
      await business.rows(`DROP USER IF EXISTS ${user}`)
      await business.close()
    },
  }
})
