import assert from 'node:assert/strict'
import type { Dialect, EffectAdapter } from '../../effect/port.js'
import { fromOutside, meeting, never, refused, type TestApi, type WithBench } from './bench.js'

type Test = TestApi['test']

/** What only an adapter over a pool can show. On SQLite there is one transaction at a time. */
export function poolsSuite<Tx>(test: Test, withBench: WithBench<Tx>): void {
  sideBySide(test, withBench)
  levels(test, withBench)
  silence(test, withBench)
  oneConnection(test, withBench)
}

function sideBySide<Tx>(test: Test, withBench: WithBench<Tx>): void {
  test(
    '200 customers of one attempt are not put in a row by its fence',
    withBench(async ({ site }) => {
      const here = await site()
      if (here.adapter.dialect === 'sqlite') return
      await here.effects.raise('f/j', 1)
      const run = here.attempt(1)
      const together = meeting(2)
      const customers = Array.from({ length: 200 }, (_, i) => `customer ${i}`)
      await Promise.all(
        customers.map((customer) =>
          run.once(customer, async (tx) => {
            await together()
            return here.note(tx, customer, 1)
          }),
        ),
      )
      assert.equal((await here.notes()).length, 200)
    }),
  )
}

function levels<Tx>(test: Test, withBench: WithBench<Tx>): void {
  for (const isolationLevel of ['read committed', 'repeatable read', 'serializable'] as const) {
    test(
      `own transactions are ${isolationLevel} where that is asked for, and make each effect once in a race`,
      withBench(async ({ siteWith }) => {
        const sites = [
          await siteWith({ connections: 4, isolationLevel }),
          await siteWith({ connections: 4, isolationLevel }),
        ]
        const [here, there] = sites
        if (!here || !there || here.adapter.sync) return
        const { adapter } = here
        const told = await here.attempt(1).once('level', async (tx) => {
          await adapter.query(tx, 'SELECT text FROM note', [])
          return levelOf(adapter, tx)
        })
        assert.equal(String(told?.level).toLowerCase(), isolationLevel)
        const runs = [here.attempt(1), there.attempt(1)]
        const made = await Promise.all(
          Array.from({ length: 40 }, (_, i) => {
            const key = `race ${i % 4}`
            return runs[i % 2]?.once(key, (tx) => here.note(tx, key, i))
          }),
        )
        assert.equal(new Set(made).size, 4)
        assert.equal((await here.notes()).length, 4)
      }),
    )
  }
}

/** InnoDB shows its transactions as they were until nobody has looked at them for a tenth of a second. */
async function levelOf<Tx>(adapter: EffectAdapter<Tx>, tx: Tx): Promise<Readonly<Record<string, unknown>> | undefined> {
  for (let looks = 0; looks < 20; looks += 1) {
    const [row] = (await adapter.query(tx, LEVEL_OF[adapter.dialect], [])).rows
    if (row !== undefined) return row
    await adapter.query(tx, 'SELECT SLEEP(0.15)', [])
  }
  return undefined
}

const LEVEL_OF: Readonly<Record<Dialect, string>> = {
  postgres: `SELECT current_setting('transaction_isolation') AS level`,
  mysql: `SELECT trx_isolation_level AS level FROM information_schema.innodb_trx
WHERE trx_mysql_thread_id = CONNECTION_ID()`,
  sqlite: `SELECT 'serializable' AS level`,
}

function silence<Tx>(test: Test, withBench: WithBench<Tx>): void {
  test(
    'a holder that falls silent in its transaction is cut off, so that the next attempt can begin',
    withBench(async ({ site, siteWith }) => {
      const here = await siteWith({ connections: 2, idleTimeout: '1s' })
      if (!here) return
      const there = await site()
      await here.effects.raise('f/j', 1)
      const next = fromOutside(() => there.effects.raise('f/j', 2))
      const act = () =>
        here.attempt(1).once('silent', async (tx) => {
          await here.note(tx, 'silent', 0)
          assert.deepEqual(await next(), { raised: true })
        })
      await refused('EFFECT_UNAVAILABLE', act)
      await refused('STALE_TOKEN', () => here.attempt(1).once('late', never))
      assert.equal(await there.attempt(2).once('silent', (tx) => there.note(tx, 'next', 2)), 2)
      assert.deepEqual(await there.notes(), ['next'])
    }),
  )
}

function oneConnection<Tx>(test: Test, withBench: WithBench<Tx>): void {
  test(
    'a pool whose only connection is held by the caller ends in a sentence, and { tx } makes do with it',
    withBench(async ({ siteWith }) => {
      const here = await siteWith({ connections: 1, connectTimeout: '1s' })
      if (!here) return
      const run = here.attempt(1)
      const alone = () => refused('EFFECT_UNAVAILABLE', () => run.once('held', never))
      const error = await here.transaction(alone)
      assert.match(error.message, /no connection of the pool became free within 1000 ms.*\{ tx \}/)
      assert.equal(await here.transaction((tx) => run.once('held', () => here.note(tx, 'held', 2), { tx })), 2)
      assert.equal(await run.once('held', never), 2)
      assert.deepEqual(await here.notes(), ['held'])
    }),
  )
}
