import Database from 'better-sqlite3'
import { mysql2 } from 'fleetcron/effect/mysql2'
import { pg } from 'fleetcron/effect/pg'
import { sqlite } from 'fleetcron/effect/sqlite'
import { typeorm } from 'fleetcron/effect/typeorm'
import { createPool, type ResultSetHeader } from 'mysql2/promise'
import { Pool } from 'pg'
import { DataSource } from 'typeorm'

const database = new Database(':memory:')
const effects = sqlite(database, { prefix: 'shop/', retryFor: '5s' })

/** What is kept as JSON comes back as JSON: a date is text, methods are gone. */
export const kept: Promise<{ readonly at: string; readonly lines: readonly number[]; readonly none: undefined }> =
  effects.once('key', (tx) => {
    tx.prepare('SELECT 1').run()
    return { at: new Date(), lines: [1, 2], none: undefined }
  })
export const nothing: Promise<void> = effects.once('key', () => {})
export const either: Promise<string | null> = effects.once('key', () => (Math.random() > 0.5 ? 'text' : null))

/** Joined to a transaction that is its connection it answers at once. */
export const joined: number = effects.once('key', () => 5, { tx: database, input: { any: ['data'] } })

// @ts-expect-error with a transaction of its own it answers with a promise
export const wrong: number = effects.once('key', () => 5)
// @ts-expect-error the date has become text
export const date: Promise<{ at: Date }> = effects.once('key', () => ({ at: new Date() }))
// @ts-expect-error a key is a text
effects.once(42, () => 5)
// @ts-expect-error the transaction of another library
effects.once('key', () => 5, { tx: { query: () => [] } })
// @ts-expect-error an option that is not one
effects.once('key', () => 5, { retries: 3 })
// @ts-expect-error no connection
sqlite('business.db')
// @ts-expect-error an option that is not one
sqlite(database, { retries: 3 })

/** The pools of the libraries fit, and `tx` is their own type. */
export const count: Promise<number | null> = pg(new Pool(), { isolationLevel: 'serializable' }).once(
  'key',
  async (tx) => {
    const { rowCount } = await tx.query<{ id: number }>('SELECT 1 AS id')
    return rowCount
  },
)
export const id: Promise<number> = mysql2(createPool('mysql://localhost')).once('key', async (tx) => {
  const [{ insertId }] = await tx.query<ResultSetHeader>('INSERT …')
  return insertId
})
// @ts-expect-error a level that is none
pg(new Pool(), { isolationLevel: 'dirty' })
// @ts-expect-error the pool of another library
mysql2(new Pool())

/** The transaction that surrounds the caller is of the library's own type. */
const source = new DataSource({ type: 'postgres' })
export const saved: Promise<{ id: number }> = typeorm(source, { ambient: () => source.manager }).once('key', (tx) =>
  tx.save({ id: 1 }),
)
// @ts-expect-error not the library's transaction
typeorm(source, { ambient: () => 'a transaction' })
