import type { Examination } from '../examination.js'
import { textAt } from './rows.js'
import { type Server, send } from './server.js'

const CONNECTIONS = [
  "SHOW GLOBAL STATUS WHERE Variable_name = 'Threads_connected'",
  "SHOW GLOBAL VARIABLES WHERE Variable_name = 'max_connections'",
]

/** What a doctor asks of the server. */
export async function examine(server: Server): Promise<Examination> {
  const { rows } = await server.use((connection) => send(connection, CONNECTIONS))
  const [used, most] = rows.map(([row = []]) => Number(textAt(row, 1)))
  const known = used !== undefined && most !== undefined && used > 0 && most > 0
  return { connections: known ? { used, most } : null, pooler: null, eviction: null }
}
