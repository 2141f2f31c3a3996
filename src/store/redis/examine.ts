import type { Examination } from '../examination.js'
import type { RedisConnection } from './driver.js'
import { type Facts, linesOf, setting } from './info.js'
import type { Server } from './server.js'

/** What a doctor asks of the server; of a Cluster, its odd master where settings are concerned. */
export async function examine(server: Server, main: RedisConnection, { policy }: Facts): Promise<Examination> {
  const told = await server.within(main, server.callMs, () => main.call('info', ['clients'])).catch(() => '')
  const info = linesOf(String(told))
  const used = Number(info.get('connected_clients') ?? 0)
  const most = Number(info.get('maxclients') ?? (await setting(server, main, 'maxclients')) ?? 0)
  return { connections: used > 0 && most > 0 ? { used, most } : null, pooler: null, eviction: policy }
}
