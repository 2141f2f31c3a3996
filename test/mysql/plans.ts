import type { Pool, RowDataPacket } from 'mysql2/promise'
import type { MysqlConnection, MysqlPool, MysqlQuery } from '../../src/store/mysql/index.js'
import { work } from '../postgres/plans.js'
import { type MysqlPlace, poolOf } from './place.js'

/** Rows that a message of the loop may look at, however many there are. */
const FEW = 1_500

/** Fleet of the suite's worlds, whose rows are there when the plans are asked for. */
const FLEET = 'billing-test'

/** A step of a plan as the server tells it. */
interface Step extends RowDataPacket {
  readonly table: string | null
  readonly type: string | null
  readonly key: string | null
}

/** One line for each step of a loop's work that would scan a table, and for each message that looks at many rows. */
export async function scans(place: MysqlPlace): Promise<string[]> {
  const pool = poolOf(place.url, 4)
  const found: string[] = []
  const store = place.storeOn(explaining(pool, found), FLEET)
  await store.open()
  found.length = 0
  await work(store)
  await store.close()
  await pool.end()
  return found
}

/** What is wrong with the plan of one statement, and with what it did. */
export async function badSteps(pool: Pool, sql: string): Promise<string[]> {
  const found: string[] = []
  const connection = await explaining(pool, found).getConnection()
  await connection.query({ sql } as MysqlQuery)
  connection.release()
  return found
}

/** A pool that looks at the plan of every statement before it is sent, and at the rows that its message has read. */
function explaining(pool: Pool, found: string[]): MysqlPool {
  return {
    getConnection: async () => {
      const connection = await pool.getConnection()
      return {
        connection: connection.connection,
        query: async (what: MysqlQuery) => {
          const statements = what.sql.split('; ').filter((sql) => /^\s*[(/]*(SELECT|UPDATE|DELETE|\*M! SET)/i.test(sql))
          for (const sql of statements) {
            const [steps] = await connection.query<Step[]>(`EXPLAIN ${sql.replace(/\/\*M! .*? \*\//, '')}`)
            const bad = steps.filter((step) => isScan(step))
            found.push(...bad.map(({ type, table, key }) => `${type} of ${table} by ${key}, in: ${brief(sql)}`))
          }
          const before = await rowsRead(connection)
          const result = await connection.query(what)
          const read = (await rowsRead(connection)) - before
          if (read > FEW) found.push(`${read} rows, in: ${brief(what.sql)}`)
          return result
        },
        release: () => connection.release(),
        destroy: () => connection.destroy(),
      } satisfies MysqlConnection
    },
  }
}

/** A derived table is as long as the statement says; the ledger's own tables are never read whole. */
function isScan({ table, type }: Step): boolean {
  return (type === 'ALL' || type === 'index') && table !== null && !/^(<|o$|t$)/.test(table)
}

async function rowsRead(connection: { query: Pool['query'] }): Promise<number> {
  const [rows] = await connection.query<RowDataPacket[]>(`SHOW SESSION STATUS WHERE Variable_name LIKE 'Handler_read%'`)
  return rows.reduce((sum, row) => sum + Number(row.Value), 0)
}

function brief(sql: string): string {
  return sql.trim().replace(/\s+/g, ' ').slice(0, 160)
}
