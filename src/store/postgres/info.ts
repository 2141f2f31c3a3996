import { FleetcronError } from '../../errors.js'
import type { StoreInfo } from '../port.js'
import { unusable } from '../unavailable.js'
import { isDirect } from './line.js'
import type { Server } from './server.js'

/** What the server is like. */
export interface Facts {
  readonly version: number
  readonly encoding: string
  readonly is_read_only: boolean
  readonly fsync: string
  readonly synchronous_commit: string
  readonly isDirect: boolean
}

const FACTS = `
  SELECT current_setting('server_version_num')::integer AS version, pg_encoding_to_char(d.encoding) AS encoding,
    pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean AS is_read_only,
    current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS synchronous_commit
  FROM pg_database d WHERE d.datname = current_database()`

const OLDEST = 130_000

/** Looks at the server before anything is made in it, and refuses one that cannot hold a ledger. */
export async function inspect(server: Server): Promise<Facts> {
  const facts = await server.use(async (client) => {
    const { rows } = (await client.query(FACTS)) as { rows: [Omit<Facts, 'isDirect'>] }
    return { ...rows[0], isDirect: await isDirect(client) }
  })
  const { version, encoding } = facts
  if (version < OLDEST) {
    const found = Math.floor(version / 10_000)
    throw new FleetcronError(
      'OPTION_INVALID',
      `The ledger ${server.place} is in Postgres ${found}: it needs Postgres 13 or later.`,
    )
  }
  if (encoding !== 'UTF8') {
    const what = `The ledger ${server.place} is in a database with the encoding ${encoding}, which cannot hold every text`
    throw new FleetcronError('OPTION_INVALID', `${what}: create a database with the encoding UTF8 for it.`)
  }
  if (facts.is_read_only) {
    const why = 'it is read-only, a standby perhaps: the ledger needs the primary server'
    throw unusable(server.place, why)
  }
  return facts
}

/** The store's grade, and what else to know of it. */
export async function infoOf(server: Server, facts: Facts): Promise<StoreInfo> {
  const { incarnation } = await server.call<{ incarnation: string }>('which', {})
  const losing = facts.fsync === 'off' ? 'fsync' : facts.synchronous_commit === 'off' ? 'synchronous_commit' : null
  const remarks = [
    losing && `The server's setting ${losing} is off: what it has acknowledged can be lost when it stops; set it on.`,
    !facts.isDirect && 'The connection goes through a pooler: what becomes due earlier is seen at the next beat.',
  ].filter((remark) => typeof remark === 'string')
  return {
    kind: 'postgres',
    grade: losing ? 'efficient' : 'correct',
    remark: remarks.length > 0 ? remarks.join(' ') : null,
    incarnation,
  }
}
