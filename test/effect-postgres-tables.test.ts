import { randomUUID } from 'node:crypto'
import { PostgresBusiness } from './effect/postgres-business.js'
import { tablesOn } from './effect/tables-suite.js'
import { sharedServer } from './servers/index.js'

tablesOn('Postgres', async () => {
  const business = await PostgresBusiness.make((await sharedServer('postgres')).url)
  const role = `app_${randomUUID().slice(0, 8)}`
  return {
    url: business.url,
    rows: (sql) => business.rows(sql),
    restricted: async () => {
      const [row] = await business.rows<{ schema: string }>('SELECT current_schema() AS schema')
      await business.rows(`CREATE ROLE ${role} LOGIN PASSWORD 'app'; GRANT USAGE ON SCHEMA "${row?.schema}" TO ${role};
GRANT SELECT, INSERT, UPDATE ON fleetcron_effect, fleetcron_fence TO ${role}`)
      const url = new URL(business.url)
      Object.assign(url, { username: role, password: 'app' })
      return url.href
    },
    close: async () => {
      await business.close()
      const again = await PostgresBusiness.make((await sharedServer('postgres')).url)
      await again.rows(`DROP ROLE IF EXISTS ${role}`)
      await again.close()
    },
  }
})
