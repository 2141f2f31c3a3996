import { createInterface } from 'node:readline'
import { createPool } from 'mysql2/promise'
import pg from 'pg'
import { mysql2 } from '../../src/effect/mysql2/index.js'
import { pg as effectsOfPg } from '../../src/effect/pg/index.js'
import type { BoundEffects, Effects } from '../../src/effect/port.js'
import { attemptOf } from './business-folder.js'
import type { Answer, Command } from './worker.js'

/** The worker (worker.ts) over a pool, on Postgres or MariaDB. Its lease is two seconds. */
const [url = '', label = ''] = process.argv.slice(2)
const LEASE_MS = 2_000

/** A connection in a transaction, of `pg` or `mysql2`. */
interface Tx {
  query(sql: string, values?: unknown[]): Promise<unknown>
}

function open(): {
  readonly effects: Effects<Tx>
  readonly insert: string
  own<R>(fn: (tx: Tx) => Promise<R>): Promise<R>
} {
  if (url.startsWith('mysql')) {
    const pool = createPool({ uri: url, connectionLimit: 3 })
    const own = async <R>(fn: (tx: Tx) => Promise<R>) => inOwn(await pool.getConnection(), fn)
    return { effects: mysql2(pool) as unknown as Effects<Tx>, insert: 'INSERT INTO note (text) VALUES (?)', own }
  }
  const pool = new pg.Pool({ connectionString: url, max: 3 })
  pool.on('error', () => {})
  const own = async <R>(fn: (tx: Tx) => Promise<R>) => inOwn(await pool.connect(), fn)
  return { effects: effectsOfPg(pool) as unknown as Effects<Tx>, insert: 'INSERT INTO note (text) VALUES ($1)', own }
}

/** A transaction of the user's own. */
async function inOwn<R>(tx: Tx & { release(): void }, fn: (tx: Tx) => Promise<R>): Promise<R> {
  try {
    await tx.query('BEGIN')
    const value = await fn(tx)
    await tx.query('COMMIT')
    return value
  } catch (error) {
    await tx.query('ROLLBACK')
    throw error
  } finally {
    tx.release()
  }
}

const { effects, insert, own } = open()
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
let attempt: BoundEffects<Tx> | undefined

async function run(command: Command): Promise<unknown> {
  switch (command.do) {
    case 'ensure':
      return effects.ensure()
    case 'raise':
      return effects.raise('f/j', command.token)
    case 'begin attempt':
      attempt = attemptOf(effects, { token: command.token, leaseMs: LEASE_MS })
      return null
    case 'once':
      return attempt?.once(command.key, (tx) => change(tx, command.key, command.hold === true))
    case 'once each':
      return Promise.all(command.keys.map((key) => attempt?.once(key, (tx) => change(tx, key, false))))
    case 'own statement':
      return own(async (tx) => {
        await attempt?.fence(tx)
        await tx.query(insert, [command.text])
        return command.text
      })
    case 'send':
      throw new Error('this worker sends nothing')
  }
}

async function change(tx: Tx, key: string, hold: boolean): Promise<string> {
  await tx.query(insert, [`${key} by ${label}`])
  if (hold) {
    say({ value: 'inside' })
    await lines.next()
  }
  return label
}

function say(answer: Answer): void {
  process.stdout.write(`${JSON.stringify(answer)}\n`)
}

for (let line = await lines.next(); !line.done; line = await lines.next()) {
  try {
    say({ value: await run(JSON.parse(line.value) as Command) })
  } catch (error) {
    say({ code: String((error as { code?: unknown }).code ?? error) })
  }
}
