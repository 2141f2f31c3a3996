import type { MysqlPool, MysqlQuery } from '../../src/store/mysql/index.js'

/** A pool that writes down every message. */
export function noting(pool: MysqlPool, messages: string[]): MysqlPool {
  return {
    getConnection: async () => {
      const connection = await pool.getConnection()
      return {
        connection: connection.connection ?? connection,
        query: (what: MysqlQuery) => {
          messages.push(what.sql)
          return connection.query(what)
        },
        release: () => connection.release(),
        destroy: () => connection.destroy(),
      }
    },
  }
}
