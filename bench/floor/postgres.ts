import pg from 'pg'
import type { Floor } from './floor.js'

const CLAIM = `
  INSERT INTO floor (job, key, state, token, session)
  SELECT 'job', n.number::text, 'running', n.number, 'session' FROM unnest($1::bigint[]) AS n(number)
  ON CONFLICT DO NOTHING`

const COMPLETE = `
  UPDATE floor f SET state = 'succeeded' FROM unnest($1::bigint[]) AS n(number)
  WHERE f.job = 'job' AND f.key = n.number::text AND f.state = 'running' AND f.token = n.number`

export async function postgresFloor(url: string): Promise<Floor> {
  const pool = new pg.Pool({ connectionString: url, max: 16 })
  // The server may be gone before the last connection is.
  pool.on('error', () => {})
  await pool.query('DROP TABLE IF EXISTS floor')
  await pool.query(
    'CREATE TABLE floor (job text, key text, state text, token bigint, session text, PRIMARY KEY (job, key))',
  )
  const clients = await Promise.all(Array.from({ length: 16 }, () => pool.connect()))
  const batch = async (connection: number, numbers: readonly number[]) => {
    const client = clients[connection]
    for (const [name, text] of [['claim', CLAIM] as const, ['complete', COMPLETE] as const]) {
      const { rowCount } = (await client?.query({ name, text, values: [numbers] })) ?? {}
      if (rowCount !== numbers.length) throw new Error('The floor lost a claim.')
    }
  }
  return {
    batchConnections: 4,
    singleConnections: 16,
    batch,
    single: (connection, number) => batch(connection, [number]),
    end: async () => {
      for (const client of clients) client.release()
      await pool.end()
    },
  }
}
