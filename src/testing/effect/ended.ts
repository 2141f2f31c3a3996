import assert from 'node:assert/strict'
import {
  type Answer,
  after,
  meeting,
  never,
  orElse,
  refused,
  type Site,
  type TestApi,
  type WithBench,
} from './bench.js'

type Test = TestApi['test']

export function endedSuite<Tx>(test: Test, withBench: WithBench<Tx>): void {
  byTheFunction(test, withBench)
  byTheDatabase(test, withBench)
}

/** What a function may do to the transaction it is in, and whether it leaves what came before. */
const ENDS: Readonly<Record<string, { readonly ends: readonly string[]; readonly keeps: boolean }>> = {
  'rolls it back': { ends: ['ROLLBACK'], keeps: false },
  'rolls it back and begins another': { ends: ['ROLLBACK', 'BEGIN'], keeps: false },
  'commits it': { ends: ['COMMIT'], keeps: true },
  'commits it and begins another': { ends: ['COMMIT', 'BEGIN'], keeps: true },
}

function byTheFunction<Tx>(test: Test, withBench: WithBench<Tx>): void {
  for (const [what, { ends, keeps }] of Object.entries(ENDS)) {
    test(
      `an effect whose function ${what} does not count as made`,
      withBench(async ({ site }) => {
        const here = await site()
        // Elsewhere one open transaction cannot be told from another.
        if (what === 'commits it and begins another' && here.adapter.dialect !== 'postgres') return
        const act = () =>
          here.effects.once('a', (tx) =>
            after(here.note(tx, 'before', 0), () => after(each(here, tx, ends), () => 'made')),
          )
        const error = await refused('EFFECT_INVALID', act)
        assert.match(error.message, /'a': the transaction of this effect was ended inside its function/)
        assert.deepEqual(await here.notes(), keeps ? ['before'] : [])
        assert.deepEqual(await here.execute(`SELECT state FROM fleetcron_effect WHERE state = 'done'`), [])
        assert.equal(await here.effects.once('a', (tx) => here.note(tx, 'made', 1)), 1)
        assert.equal(await here.effects.once('a', never), 1)
      }),
    )
  }

  test(
    'nor does one that joined a transaction and ended it',
    withBench(async ({ site }) => {
      const here = await site()
      const fn = (tx: Tx) => after(each(here, tx, ['ROLLBACK', 'BEGIN']), () => 'made')
      const error = await refused('EFFECT_INVALID', () => here.transaction((tx) => here.effects.once('a', fn, { tx })))
      assert.match(error.message, /was ended inside its function/)
      assert.equal(await here.effects.once('a', (tx) => here.note(tx, 'made', 1)), 1)
      assert.deepEqual(await here.notes(), ['made'])
    }),
  )
}

/** MySQL rolls the whole transaction back at a deadlock, and takes what follows as statements of their own. */
function byTheDatabase<Tx>(test: Test, withBench: WithBench<Tx>): void {
  test(
    'of two effects that meet in a deadlock and repeat the statement one is made, and the other does not count as made',
    withBench(async ({ site }) => {
      const here = await site()
      if (here.adapter.dialect !== 'mysql') return
      for (const resource of ['r1', 'r2']) await here.effects.raise(resource, 1)
      const together = meeting(2)
      const pay = (key: string, mine: string, other: string) =>
        here.effects.once(key, async (tx) => {
          await here.note(tx, key, 0)
          await touch(here, tx, mine)
          await together()
          return orElse(
            () => touch(here, tx, other),
            () => touch(here, tx, other),
          )
        })
      const paid = await Promise.allSettled([pay('a', 'r1', 'r2'), pay('b', 'r2', 'r1')])
      const refusals = paid.flatMap((each) => (each.status === 'rejected' ? [each.reason.code] : []))
      // A library that ends its own transaction at a deadlock lets nothing follow.
      assert.ok(['EFFECT_INVALID', 'EFFECT_UNAVAILABLE'].includes(refusals.join()), refusals.join())
      const made = paid[0]?.status === 'fulfilled' ? 'a' : 'b'
      assert.deepEqual(await here.execute('SELECT state FROM fleetcron_effect'), [{ state: 'done' }])
      assert.deepEqual(await here.notes(), [made])
      assert.equal(await here.effects.once(made === 'a' ? 'b' : 'a', (tx) => here.note(tx, 'later', 1)), 1)
    }),
  )
}

function each<Tx>({ adapter }: Site<Tx>, tx: Tx, statements: readonly string[]): Answer<unknown> {
  return statements.reduce<Answer<unknown>>((done, sql) => after(done, () => adapter.query(tx, sql, [])), undefined)
}

function touch<Tx>({ adapter }: Site<Tx>, tx: Tx, resource: string): Answer<string> {
  const sql = `UPDATE fleetcron_fence SET updated_at = updated_at + 1 WHERE resource = '${resource}'`
  return after(adapter.query(tx, sql, []) as Answer<unknown>, () => 'made')
}
