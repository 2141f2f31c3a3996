import assert from 'node:assert/strict'
import {
  after,
  failsWith,
  fromOutside,
  leaveOpen,
  never,
  refused,
  type Site,
  type TestApi,
  type WithBench,
} from './bench.js'

type Test = TestApi['test']

export function onceSuite<Tx>(test: Test, withBench: WithBench<Tx>): void {
  repeats(test, withBench)
  inputs(test, withBench)
  failures(test, withBench)
  races(test, withBench)
  takeover(test, withBench)
  withoutTables(test, withBench)
}

function repeats<Tx>(test: Test, withBench: WithBench<Tx>): void {
  test(
    'a repeat gives the first result and calls nothing',
    withBench(async ({ site }) => {
      const here = await site()
      const there = await site()
      const first = await here.attempt(1).once('invoice:42', (tx) => here.note(tx, 'invoice', { number: 7 }))
      assert.deepEqual(first, { number: 7 })
      assert.deepEqual(await here.attempt(1).once('invoice:42', never), { number: 7 })
      assert.deepEqual(await there.attempt(2, { attempt: 2 }).once('invoice:42', never), { number: 7 })
      assert.deepEqual(await there.effects.once('invoice:42', never), { number: 7 })
      assert.deepEqual(await here.notes(), ['invoice'])
    }),
  )

  test(
    'keeps who made the effect, and when by the clock of the database',
    withBench(async ({ site }) => {
      const here = await site()
      const before = await clockOf(here)
      await here.attempt(9, { attempt: 3, runKey: '2026-11-29T00:00' }).once('a', (tx) => here.note(tx, 'a', 1))
      await here.effects.once('b', (tx) => here.note(tx, 'b', 2))
      const rows = await here.execute('SELECT * FROM fleetcron_effect ORDER BY created_at, token DESC')
      const a = rows.find((row) => row.run !== null)
      assert.deepEqual([a?.job, a?.run, Number(a?.token), Number(a?.attempt)], ['f/j', '2026-11-29T00:00', 9, 3])
      const b = rows.find((row) => row.run === null)
      assert.deepEqual([b?.job, b?.token, b?.attempt, b?.state], [null, null, null, 'done'])
      const made = Number(a?.created_at)
      assert.ok(made >= before && made <= (await clockOf(here)), `${made} is not between`)
    }),
  )

  test(
    'a prefix keeps two applications apart',
    withBench(async ({ site }) => {
      const shop = await site({ prefix: 'shop/' })
      const blog = await site({ prefix: 'blog/' })
      const bare = await site()
      await shop.effects.once('mail', (tx) => shop.note(tx, 'shop', 1))
      await blog.effects.once('mail', (tx) => blog.note(tx, 'blog', 2))
      assert.equal(await shop.effects.once('mail', never), 1)
      assert.equal(await bare.effects.once('blog/mail', never), 2)
      assert.deepEqual(await bare.notes(), ['blog', 'shop'])
    }),
  )
}

function inputs<Tx>(test: Test, withBench: WithBench<Tx>): void {
  test(
    'the same key with another input is refused, whatever the input was',
    withBench(async ({ site }) => {
      const here = await site()
      const run = here.attempt(1)
      await run.once('some', (tx) => here.note(tx, 'some', 1), { input: { amount: 5, lines: [1, 2] } })
      await run.once('none', (tx) => here.note(tx, 'none', 2))
      assert.equal(await run.once('some', never, { input: { lines: [1, 2], amount: 5 } }), 1)
      assert.equal(await run.once('none', never, { input: undefined }), 2)
      for (const input of [{ amount: 6, lines: [1, 2] }, { amount: 5, lines: [2, 1] }, {}, null, undefined]) {
        const error = await refused('KEY_CONFLICT', () => run.once('some', never, { input }))
        assert.match(error.message, /'some'/)
      }
      assert.match(
        (await refused('KEY_CONFLICT', () => run.once('none', never, { input: 1 }))).message,
        /'none'.*before without/,
      )
      assert.deepEqual(await here.notes(), ['none', 'some'])
    }),
  )
}

function failures<Tx>(test: Test, withBench: WithBench<Tx>): void {
  test(
    'what the function throws rolls everything back, and the next call begins anew',
    withBench(async ({ site }) => {
      const here = await site()
      for (const thrown of [new Error('no'), 'text', null]) {
        const act = () =>
          here.attempt(1).once('a', (tx) =>
            after(here.note(tx, 'half', 0), () => {
              throw thrown
            }),
          )
        await failsWith(thrown, act)
      }
      assert.deepEqual(await here.notes(), [])
      assert.equal(await here.attempt(1).once('a', (tx) => here.note(tx, 'whole', 1)), 1)
      assert.deepEqual(await here.notes(), ['whole'])
    }),
  )

  test(
    'an attempt whose signal has fired begins no effect',
    withBench(async ({ site }) => {
      const here = await site()
      const control = new AbortController()
      const run = here.attempt(1, { signal: control.signal })
      assert.equal(await run.once('before', (tx) => here.note(tx, 'before', 1)), 1)
      const reason = new Error('the session is lost')
      control.abort(reason)
      await failsWith(reason, () => run.once('after', never))
      await failsWith(reason, () => here.transaction((tx) => run.once('after', never, { tx })))
      await failsWith(reason, () => here.transaction((tx) => run.fence(tx)))
    }),
  )
}

function races<Tx>(test: Test, withBench: WithBench<Tx>): void {
  test(
    'a second transaction with the same key waits for the first and gets its result',
    withBench(async ({ site }) => {
      const here = await site()
      const there = await site()
      const begin = fromOutside(() => there.attempt(1).once('a', (tx) => there.note(tx, 'second', 2)))
      let second: Promise<number> | undefined
      const first = await here.attempt(1).once('a', (tx) =>
        after(here.note(tx, 'first', 1), (answer) => {
          second = begin()
          return answer
        }),
      )
      assert.deepEqual([first, await second], [1, 1])
      assert.deepEqual(await here.notes(), ['first'])
    }),
  )

  test(
    'and makes the effect itself when the first is rolled back',
    withBench(async ({ site }) => {
      const here = await site()
      const there = await site()
      const begin = fromOutside(() => there.attempt(1).once('a', (tx) => there.note(tx, 'second', 2)))
      const thrown = new Error('no')
      let second: Promise<number> | undefined
      const act = () =>
        here.attempt(1).once('a', (tx) =>
          after(here.note(tx, 'first', 1), () => {
            second = begin()
            throw thrown
          }),
        )
      await failsWith(thrown, act)
      assert.equal(await second, 2)
      assert.deepEqual(await here.notes(), ['second'])
    }),
  )

  test(
    '200 keys at once are 200 effects, and one key asked for 50 times is one',
    withBench(async ({ site }) => {
      const here = await site()
      const there = await site()
      const run = [here.attempt(1), there.attempt(1)] as const
      const names = Array.from({ length: 200 }, (_, i) => `n${String(i).padStart(3, '0')}`)
      const each = await Promise.all(names.map((name) => run[0].once(name, (tx) => here.note(tx, name, name))))
      assert.deepEqual(each, names)
      const one = await Promise.all(
        Array.from({ length: 50 }, (_, i) => run[i % 2 === 0 ? 0 : 1].once('one', (tx) => here.note(tx, 'one', i))),
      )
      assert.equal(new Set(one).size, 1)
      assert.deepEqual(await here.notes(), [...names, 'one'])
    }),
  )

  test(
    'creating the tables from several clients at once, and again later, is one creation',
    withBench(async ({ client, site }) => {
      const clients = await Promise.all([client(), client(), client(), client()])
      await Promise.all(clients.map((effects) => effects.ensure()))
      const here = await site()
      await here.attempt(1).once('a', (tx) => here.note(tx, 'a', 1))
      await Promise.all(clients.map((effects) => effects.ensure()))
      assert.equal(await here.attempt(1).once('a', never), 1)
    }),
  )
}

function takeover<Tx>(test: Test, withBench: WithBench<Tx>): void {
  test(
    'a key that was committed without its effect is taken over by one of three callers, in every one of forty rounds',
    withBench(async ({ site }) => {
      const sites = [await site(), await site()] as const
      const runs = [sites[0].attempt(1), sites[1].attempt(1), sites[0].effects] as const
      const keys = Array.from({ length: 40 }, (_, i) => `k${String(i).padStart(2, '0')}`)
      for (const key of keys) {
        await leaveOpen(sites[0], key)
        const made = await Promise.all(
          runs.map((run, i) => run.once(key, (tx) => sites[i % 2 === 0 ? 0 : 1].note(tx, key, i))),
        )
        assert.deepEqual(made, Array(3).fill(made[0]), key)
      }
      assert.deepEqual(await sites[0].notes(), keys)
    }),
  )
}

function withoutTables<Tx>(test: Test, withBench: WithBench<Tx>): void {
  test(
    'where its tables are missing it says so, and how they are made; another table is not meant',
    withBench(async ({ site }) => {
      const here = await site()
      const missing = 'SELECT * FROM no_such_table'
      const other = await thrownBy(() =>
        here.effects.once('a', (tx) => after(here.adapter.query(tx, missing, []), never)),
      )
      assert.ok(!String(other).includes('fleetcron migrate'), String(other))
      await here.execute('DROP TABLE fleetcron_effect')
      const error = await refused('EFFECT_INVALID', () => here.effects.once('a', never))
      assert.match(error.message, /'a': the tables of effects are missing .*`fleetcron migrate --effects <url>`/s)
      assert.deepEqual(await here.effects.ensure(), ['table fleetcron_effect'])
      assert.equal(await here.effects.once('a', (tx) => here.note(tx, 'a', 1)), 1)
    }),
  )
}

async function thrownBy(act: () => unknown): Promise<unknown> {
  try {
    await act()
  } catch (error) {
    return error
  }
  return assert.fail('expected it to fail')
}

/** Milliseconds, as the database tells them to a row that is written now. */
async function clockOf<Tx>(site: Site<Tx>): Promise<number> {
  const resource = `clock:${Math.random()}`
  await site.effects.raise(resource, 1)
  const rows = await site.execute('SELECT MAX(updated_at) AS now FROM fleetcron_fence')
  return Number(rows[0]?.now)
}
