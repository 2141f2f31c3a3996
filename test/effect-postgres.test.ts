import { readFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { Pool } from 'pg'

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createEffects } from '../src/effect/effects.js'
import { pg, pgAdapter } from '../src/effect/pg/index.js'
import { effectConformance } from '../src/testing/effect/index.js'
import { attemptOf } from './effect/business-folder.js'
import { effectsOnPostgres, PostgresBusiness } from './effect/postgres-business.js'
import { sharedServer } from './servers/index.js'

/** What a server says to a client that it lets in and ends at once. */
const AUTHENTICATED = message('R', Buffer.from([0, 0, 0, 0]))
const READY = message('Z', Buffer.from('I'))
const TERMINATED = message('E', Buffer.from('SFATAL\0C57P01\0Mterminating connection\0\0'))

function message(type: string, body: Buffer): Buffer {
  const head = Buffer.alloc(5)
  head.write(type)
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}

let url: string
beforeAll(async () => {
  url = (await sharedServer('postgres')).url
})

for (const isolationLevel of ['read committed', 'repeatable read', 'serializable'] as const) {
  effectConformance({ describe, test }, `pg, ${isolationLevel}`, () =>
    effectsOnPostgres(url, (pool, options) => pgAdapter(pool, { isolationLevel, ...options })),
  )
}

describe('effects through pg', () => {
  let business: PostgresBusiness
  beforeAll(async () => {
    business = await PostgresBusiness.make(url)
    await createEffects(pgAdapter(business.pool())).ensure()
    await business.rows('CREATE TABLE note (text TEXT UNIQUE)')
  })
  afterAll(() => business.close())

  test('with the same keys at once on five pools are made once each', async () => {
    const pools = Array.from({ length: 5 }, () => attemptOf(pg(business.pool(2))))
    const made = await Promise.all(
      Array.from({ length: 40 }, (_, i) => {
        const key = `race ${i % 4}`
        return pools[i % 5]?.once(key, (tx) => tx.query('INSERT INTO note (text) VALUES ($1)', [key]).then(() => i))
      }),
    )
    expect(new Set(made).size).toBe(4)
    expect(await business.rows(`SELECT text FROM note WHERE text LIKE 'race%' ORDER BY text`)).toHaveLength(4)
  })

  test('of two hundred customers pass the fence side by side', async () => {
    const run = attemptOf(pg(business.pool(8)))
    let inside = 0
    let allIn = () => {}
    const eightInside = new Promise<void>((resolve) => {
      allIn = resolve
    })
    const customer = (i: number) =>
      run.once(`customer ${i}`, async () => {
        if (++inside === 8) allIn()
        await eightInside
      })
    await Promise.all(Array.from({ length: 200 }, (_, i) => customer(i)))
    expect(inside).toBe(200)
  })

  test('are made by the example of the docs', async () => {
    const page = readFileSync(join(import.meta.dirname, '../docs/effects.md'), 'utf8')
    const [example = ''] = /await run\.once\([^\n]*async \(tx\) => \{\n.*?\n\}\)/s.exec(page) ?? []
    const text = example
    await business.rows('CREATE TABLE invoice (customer INT, day VARCHAR(10))')
    const run = Object.assign(attemptOf(pg(business.pool())), { date: '2026-11-28' })
    const act = new Function('run', 'customer', `return (async () => { ${text} })()`)
    await act(run, { id: 42 })
    await act(run, { id: 42 })
    expect(await business.rows('SELECT customer, day FROM invoice')).toEqual([{ customer: 42, day: '2026-11-28' }])
  })

  test('end with a sentence where the pool’s only connection is held by their caller', async () => {
    const pool = business.pool(1)
    const held = await pool.connect()
    try {
      const act = attemptOf(pg(pool, { connectTimeout: '50ms' })).once('held', () => 1)
      await expect(act).rejects.toMatchObject({
        code: 'EFFECT_UNAVAILABLE',
        message: expect.stringMatching(/effect 'held'.*no connection of the pool became free within 50 ms.*\{ tx \}/),
      })
      const joined = attemptOf(pg(pool))
      await held.query('BEGIN')
      expect(await joined.once('held', () => 2, { tx: held })).toBe(2)
      await held.query('COMMIT')
    } finally {
      held.release()
    }
    expect(await attemptOf(pg(pool)).once('held', () => 3)).toBe(2)
  })

  test('queue for a connection without end while the queue moves', async () => {
    const run = attemptOf(pg(business.pool(1), { connectTimeout: '400ms' }))
    const each = (i: number) => run.once(`queued ${i}`, (tx) => tx.query('SELECT pg_sleep(0.1)').then(() => i))
    expect(await Promise.all(Array.from({ length: 10 }, (_, i) => each(i)))).toHaveLength(10)
  })

  test('say when a swallowed error has undone them', async () => {
    const run = attemptOf(pg(business.pool()))
    const act = run.once('swallowed', async (tx) => {
      await tx.query('SELECT 1 / 0').catch(() => undefined)
      return 1
    })
    await expect(act).rejects.toMatchObject({ code: '25P02' })
    expect(await run.once('swallowed', () => 2)).toBe(2)
  })

  test('leave no connection behind that is silent in a transaction', async () => {
    const pool = business.pool(1)
    const run = attemptOf(pg(pool, { idleTimeout: '1s' }))
    let go = () => {}
    const forEver = new Promise<void>((resolve) => {
      go = resolve
    })
    const silent = run.once('silent', async (tx) => {
      await tx.query(`INSERT INTO note (text) VALUES ('silent')`)
      tx.on?.('error', go)
      await forEver
      return 1
    })
    await expect(silent).rejects.toMatchObject({ code: 'EFFECT_UNAVAILABLE' })
    expect(await run.once('silent', () => 2)).toBe(2)
    expect(await business.rows(`SELECT * FROM note WHERE text = 'silent'`)).toEqual([])
  })

  test('survive a connection that is ended while it is used', async () => {
    const run = attemptOf(pg(business.pool()))
    const cut = run.once('cut', async (tx) => {
      const { rows } = await tx.query('SELECT pg_backend_pid() AS pid')
      await business.rows(`SELECT pg_terminate_backend(${(rows[0] as { pid: number }).pid})`)
      await tx.query('SELECT 1')
    })
    await expect(cut).rejects.toMatchObject({ code: 'EFFECT_UNAVAILABLE' })
    expect(await run.once('cut', () => 'again')).toBe('again')
  })

  test('say where a database lets nothing be written', async () => {
    const pool = business.pool()
    pool.on('connect', (client) => client.query('SET default_transaction_read_only = on'))
    await expect(pg(pool).once('written', never)).rejects.toMatchObject({
      code: 'EFFECT_UNAVAILABLE',
      message: expect.stringMatching(
        /'written': the business database lets nothing be written.*connect to its primary/,
      ),
    })
  })

  test('survive a connection that is ended in the very message that began it', async () => {
    const server = createServer((socket) => {
      socket.on('error', () => {})
      socket.once('data', () => socket.end(Buffer.concat([AUTHENTICATED, READY, TERMINATED])))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const pool = new Pool({ host: '127.0.0.1', port, user: 'u', database: 'd' })
    pool.on('error', () => {})
    try {
      for (let i = 0; i < 3; i += 1) {
        await expect(pg(pool).once('cut', () => 1)).rejects.toMatchObject({ code: 'EFFECT_UNAVAILABLE' })
      }
    } finally {
      await pool.end()
      await new Promise((resolve) => server.close(resolve))
    }
  })

  test('refuse what is no pool, and options that they do not know', async () => {
    expect(() => pg({} as never)).toThrow(/needs pg's Pool/)
    expect(() => pg(business.pool(), { isolation: 'x' } as never)).toThrow(/unknown option 'isolation'.*isolationLevel/)
    expect(() => pg(business.pool(), { isolationLevel: 'dirty' as never })).toThrow(/'dirty' is none of read committed/)
  })
})

function never(): never {
  throw new Error('called')
}
