import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { BUNDLES, bundleMain } from '../children.js'
import { MariadbBusiness } from '../effect/mariadb-business.js'
import { PostgresBusiness } from '../effect/postgres-business.js'
import { Servers } from '../servers/servers.js'

export const STORES = ['sqlite', 'postgres', 'mariadb'] as const

/** Where the business database of a round is. */
export interface Place {
  /** An empty database on a server; null: a SQLite file. */
  readonly url: string | null
  end(): Promise<void>
}

/** A store by name, whose server is found or started as those of the tests are; or the user's own database. */
export async function placeOf(store: string, database: string | undefined): Promise<Place> {
  const nothing = async () => {}
  if (database !== undefined) return { url: database, end: nothing }
  if (store === 'sqlite') return { url: null, end: nothing }
  if (store !== 'postgres' && store !== 'mariadb') {
    throw new Error(`--store '${store}' is none of ${STORES.join(', ')}`)
  }
  const script = join(BUNDLES, `servers-${process.pid}.mjs`)
  await bundleMain('servers/warden.ts', script)
  const servers = Servers.start(script)
  const endServers = async () => {
    await servers.end()
    rmSync(script, { force: true })
  }
  try {
    const { url } = await servers.ask({ do: 'share', engine: store })
    const business = await (store === 'postgres' ? PostgresBusiness.make(url) : MariadbBusiness.make(url))
    const end = async () => {
      await business.close()
      await endServers()
    }
    return { url: business.url, end }
  } catch (error) {
    await endServers()
    throw error
  }
}
