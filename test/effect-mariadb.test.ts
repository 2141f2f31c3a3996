import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { mysql2, mysql2Adapter } from '../src/effect/mysql2/index.js'
import { effectConformance } from '../src/testing/effect/index.js'
import { attemptOf } from './effect/business-folder.js'
import { effectsOnMariadb, MariadbBusiness } from './effect/mariadb-business.js'
import { sharedServer } from './servers/index.js'

let url: string
beforeAll(async () => {
  url = (await sharedServer('mariadb')).url
})

const SNAPSHOT = ['SET SESSION innodb_snapshot_isolation = ON']

for (const isolationLevel of ['read committed', 'repeatable read', 'serializable'] as const) {
  effectConformance({ describe, test }, `mysql2, ${isolationLevel}`, () =>
    effectsOnMariadb(url, (pool, options) => mysql2Adapter(pool, { isolationLevel, ...options })),
  )
}
effectConformance({ describe, test }, 'mysql2, repeatable read with snapshot isolation', () =>
  effectsOnMariadb(
    url,
    (pool, options) => mysql2Adapter(pool, { isolationLevel: 'repeatable read', ...options }),
    SNAPSHOT,
  ),
)

describe('effects through mysql2', () => {
  let business: MariadbBusiness
  beforeAll(async () => {
    business = await MariadbBusiness.make(url, SNAPSHOT)
    await mysql2(business.pool()).ensure()
    await business.rows('CREATE TABLE note (text VARCHAR(200) UNIQUE)')
  })
  afterAll(() => business.close())

  test('with the same keys at once on five pools are made once each', async () => {
    const pools = Array.from({ length: 5 }, () => attemptOf(mysql2(business.pool(2))))
    const made = await Promise.all(
      Array.from({ length: 40 }, (_, i) => {
        const key = `race ${i % 4}`
        return pools[i % 5]?.once(key, (tx) => tx.query('INSERT INTO note (text) VALUES (?)', [key]).then(() => i))
      }),
    )
    expect(new Set(made).size).toBe(4)
    expect(await business.rows(`SELECT text FROM note WHERE text LIKE 'race%'`)).toHaveLength(4)
  })

  test('tell keys apart that differ in case, accents or spaces at the end', async () => {
    const run = attemptOf(mysql2(business.pool()))
    const keys = ['resume', 'Resume', 'résumé', 'resume ', 'resume\t', '請求書', '😀']
    for (const key of keys) expect(await run.once(key, () => key)).toBe(key)
    for (const key of keys) expect(await run.once(key, () => 'again')).toBe(key)
  })

  test('are made by the example of the docs', async () => {
    const page = readFileSync(join(import.meta.dirname, '../docs/effects.md'), 'utf8')
    const [example = ''] = /await run\.once\([^\n]*async \(tx\) => \{\n.*?\n\}\)/s.exec(page) ?? []
    const text = example.replace('($1, $2)', () => /on MySQL: (.*)$/m.exec(example)?.[1] ?? '')
    await business.rows('CREATE TABLE invoice (customer INT, day VARCHAR(10))')
    const run = Object.assign(attemptOf(mysql2(business.pool())), { date: '2026-11-28' })
    const act = new Function('run', 'customer', `return (async () => { ${text} })()`)
    await act(run, { id: 42 })
    await act(run, { id: 42 })
    expect(await business.rows('SELECT customer, day FROM invoice')).toEqual([{ customer: 42, day: '2026-11-28' }])
  })

  test('end with a sentence where the pool’s only connection is held by their caller', async () => {
    const pool = business.pool(1)
    const held = await pool.getConnection()
    try {
      const act = attemptOf(mysql2(pool, { connectTimeout: '50ms' })).once('held', () => 1)
      await expect(act).rejects.toMatchObject({
        code: 'EFFECT_UNAVAILABLE',
        message: expect.stringMatching(/effect 'held'.*no connection of the pool became free within 50 ms.*\{ tx \}/),
      })
      await held.beginTransaction()
      expect(await attemptOf(mysql2(pool)).once('held', () => 2, { tx: held })).toBe(2)
      await held.commit()
    } finally {
      held.release()
    }
    expect(await attemptOf(mysql2(pool)).once('held', () => 3)).toBe(2)
  })

  test('leave no connection behind that is silent in a transaction, and the session as it was', async () => {
    const pool = business.pool(1)
    const waits = async () => (await pool.query('SELECT @@SESSION.wait_timeout AS s'))[0]
    const before = await waits()
    const run = attemptOf(mysql2(pool, { idleTimeout: '1s' }))
    expect(await run.once('quick', () => 0)).toBe(0)
    expect(await waits()).toEqual(before)
    const silent = run.once('silent', async (tx) => {
      await tx.query(`INSERT INTO note (text) VALUES ('silent')`)
      const { connection } = tx as unknown as { connection: { stream: NodeJS.EventEmitter } }
      await new Promise((resolve) => connection.stream.once('close', resolve))
      return 1
    })
    await expect(silent).rejects.toMatchObject({ code: 'EFFECT_UNAVAILABLE' })
    expect(await run.once('silent', () => 2)).toBe(2)
    expect(await business.rows(`SELECT * FROM note WHERE text = 'silent'`)).toEqual([])
  })

  test('survive a connection that is ended while it is used', async () => {
    const run = attemptOf(mysql2(business.pool()))
    const cut = run.once('cut', async (tx) => {
      const [rows] = await tx.query('SELECT CONNECTION_ID() AS id')
      await business.rows(`KILL ${(rows as { id: number }[])[0]?.id}`)
      await tx.query('SELECT 1')
    })
    await expect(cut).rejects.toMatchObject({ code: 'EFFECT_UNAVAILABLE' })
    expect(await run.once('cut', () => 'again')).toBe('again')
  })

  test.each(['CHAIN', 'RELEASE'])(
    'are made where a commit begins or ends something (completion_type %s)',
    async (type) => {
      const pool = business.pool(1)
      await pool.query(`SET completion_type = '${type}'`)
      const run = attemptOf(mysql2(pool, { isolationLevel: 'serializable' }))
      const fails = () => {
        throw new Error('declined')
      }
      for (const n of [1, 2]) {
        expect(await run.once(`${type} ${n}`, () => n)).toBe(n)
        await expect(run.once(`${type} fails`, fails)).rejects.toThrow('declined')
      }
      const [rows] = await pool.query('SELECT @@completion_type AS type, @@in_transaction AS open')
      expect(rows).toEqual([{ type, open: 0 }])
    },
  )

  test('refuse what is no pool of promises', () => {
    expect(() => mysql2({} as never)).toThrow(/needs the pool of mysql2\/promise/)
  })
})
