import mysql from 'mysql2/promise'
import type { Floor } from './floor.js'

export async function mysqlFloor(url: string): Promise<Floor> {
  const connections = await Promise.all(Array.from({ length: 16 }, () => mysql.createConnection(url)))
  const [first] = connections
  await first?.query('DROP TABLE IF EXISTS floor')
  await first?.query(`
    CREATE TABLE floor (job VARCHAR(64), name VARCHAR(64), state VARCHAR(16), token BIGINT, session VARCHAR(64),
      PRIMARY KEY (job, name))`)
  const batch = async (connection: number, numbers: readonly number[]) => {
    const rows = numbers.map((number) => `('job', '${number}', 'running', ${number}, 'session')`)
    const names = numbers.map((number) => `'${number}'`)
    const claim = `INSERT IGNORE INTO floor (job, name, state, token, session) VALUES ${rows}`
    const complete = `
      UPDATE floor SET state = 'succeeded'
      WHERE job = 'job' AND name IN (${names}) AND state = 'running' AND token IN (${numbers.join()})`
    for (const sql of [claim, complete]) {
      const [result] = (await connections[connection]?.query(sql)) ?? []
      if ((result as { affectedRows?: number }).affectedRows !== numbers.length)
        throw new Error('The floor lost a claim.')
    }
  }
  return {
    batchConnections: 4,
    singleConnections: 16,
    batch,
    single: (connection, number) => batch(connection, [number]),
    end: async () => void (await Promise.all(connections.map((connection) => connection.end()))),
  }
}
