import type { Examination } from '../examination.js'
import type { PostgresClient } from './driver.js'
import { isDirect } from './line.js'
import type { Server } from './server.js'

const CONNECTIONS = `
  SELECT current_setting('max_connections')::integer - current_setting('superuser_reserved_connections')::integer AS most,
    (SELECT count(*)::integer FROM pg_stat_activity a WHERE a.backend_type = 'client backend') AS used`

const PID = 'SELECT pg_backend_pid() AS pid'

/** What a doctor asks of the server, and of what stands before it. */
export async function examine(server: Server): Promise<Examination> {
  const { connections, direct } = await server.use(async (client) => {
    const { rows } = (await client.query(CONNECTIONS)) as { rows: [{ most: number; used: number }] }
    return { connections: rows[0], direct: await isDirect(client) }
  })
  return { connections, pooler: direct ? null : await poolerOf(server), eviction: null }
}

async function poolerOf(server: Server): Promise<Examination['pooler']> {
  if (!(await takesTransactions(server))) return 'statement'
  return (await isShared(server)) ? 'transaction' : 'session'
}

/** A pooler that gives a server to each statement refuses transactions of several messages, and cuts the connection. */
function takesTransactions(server: Server): Promise<boolean> {
  return server.use(async (client) => {
    try {
      await client.query('BEGIN')
      await client.query('ROLLBACK')
      return true
    } catch (error) {
      if (error instanceof Error && /statement pooling/i.test(error.message)) return false
      throw error
    }
  })
}

const ROUNDS = 5

/**
 * Whether two connections that are open at once are given the same server, or one of them another server after a while. Who
 * has a server for as long as it is connected never shares it.
 */
function isShared(server: Server): Promise<boolean> {
  return server.use((first) =>
    server.use(async (second) => {
      const seen = { first: new Set<number>(), second: new Set<number>() }
      for (let round = 0; round < ROUNDS; round += 1) {
        seen.first.add(await pidOf(first))
        seen.second.add(await pidOf(second))
      }
      return seen.first.size + seen.second.size > 2 || [...seen.first].some((pid) => seen.second.has(pid))
    }),
  )
}

async function pidOf(client: PostgresClient): Promise<number> {
  const { rows } = (await client.query(PID)) as { rows: [{ pid: number }] }
  return rows[0].pid
}
