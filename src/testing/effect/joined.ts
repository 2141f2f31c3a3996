import assert from 'node:assert/strict'
import { after, failsWith, join, never, orElse, refused, type TestApi, type WithBench } from './bench.js'

type Test = TestApi['test']

export function joinedSuite<Tx>(test: Test, withBench: WithBench<Tx>): void {
  countsWithTheUser(test, withBench)
  failures(test, withBench)
  severalInOne(test, withBench)
}

function countsWithTheUser<Tx>(test: Test, withBench: WithBench<Tx>): void {
  test(
    'counts when the user commits, and a repeat finds it',
    withBench(async ({ site }) => {
      const here = await site()
      const run = here.attempt(1)
      const answer = await here.transaction((tx) =>
        after(here.note(tx, 'users own', 0), () => join(run, tx, 'a', () => here.note(tx, 'effect', { n: 1 }))),
      )
      assert.deepEqual(answer, { n: 1 })
      assert.deepEqual(await run.once('a', never), { n: 1 })
      assert.deepEqual(await here.transaction((tx) => join(run, tx, 'a', never)), { n: 1 })
      assert.deepEqual(await here.notes(), ['effect', 'users own'])
    }),
  )

  test(
    'is gone, with its key, when the user rolls back',
    withBench(async ({ site }) => {
      const here = await site()
      const run = here.attempt(1)
      const thrown = new Error('the user rolls back')
      const act = () =>
        here.transaction((tx) =>
          after(
            join(run, tx, 'a', () => here.note(tx, 'a', 1)),
            () => {
              throw thrown
            },
          ),
        )
      await failsWith(thrown, act)
      assert.deepEqual(await here.notes(), [])
      assert.equal(await run.once('a', (tx) => here.note(tx, 'again', 2)), 2)
    }),
  )

  test(
    'refuses a transaction that is over',
    withBench(async ({ site }) => {
      const here = await site()
      const run = here.attempt(1)
      const over = await here.transaction((tx) => tx)
      if (here.adapter.inTransaction(over) === null) return
      const error = await refused('EFFECT_INVALID', () => run.once('a', never, { tx: over }))
      assert.match(error.message, /no transaction is open/)
      await refused('EFFECT_INVALID', () => run.fence(over))
    }),
  )
}

function failures<Tx>(test: Test, withBench: WithBench<Tx>): void {
  test(
    'what the function throws comes out as it is, and goes with the rollback',
    withBench(async ({ site }) => {
      const here = await site()
      const run = here.attempt(1)
      const thrown = new Error('no')
      const act = () =>
        here.transaction((tx) =>
          join(run, tx, 'a', () =>
            after(here.note(tx, 'a', 1), () => {
              throw thrown
            }),
          ),
        )
      await failsWith(thrown, act)
      assert.deepEqual(await here.notes(), [])
      assert.equal(await run.once('a', (tx) => here.note(tx, 'again', 2)), 2)
    }),
  )

  test(
    'a user who swallows the error and commits has not used up the key',
    withBench(async ({ site }) => {
      const here = await site()
      const run = here.attempt(1)
      const swallowed = () => 'swallowed'
      const fail = (): never => {
        throw new Error('no')
      }
      await here.transaction((tx) => orElse<string>(() => join(run, tx, 'a', fail), swallowed))
      assert.equal(await run.once('a', (tx) => here.note(tx, 'later', 1), { input: 5 }), 1)
      assert.equal(await run.once('a', never, { input: 5 }), 1)
      await here.transaction((tx) =>
        after(
          orElse<unknown>(() => join(run, tx, 'b', fail), swallowed),
          () => join(run, tx, 'b', () => here.note(tx, 'second try', 2)),
        ),
      )
      assert.equal(await run.once('b', never), 2)
      assert.deepEqual(await here.notes(), ['later', 'second try'])
    }),
  )

  test(
    'refusals leave the transaction to the user',
    withBench(async ({ site }) => {
      const here = await site()
      const run = here.attempt(1)
      await run.once('a', (tx) => here.note(tx, 'a', 1), { input: 1 })
      const act = () => here.transaction((tx) => after(here.note(tx, 'users own', 0), () => join(run, tx, 'a', never)))
      await refused('KEY_CONFLICT', act)
      await here.effects.raise('f/j', 5)
      const stale = () =>
        here.transaction((tx) => after(here.note(tx, 'users own', 0), () => join(run, tx, 'b', never)))
      await refused('STALE_TOKEN', stale)
      assert.deepEqual(await here.notes(), ['a'])
    }),
  )
}

function severalInOne<Tx>(test: Test, withBench: WithBench<Tx>): void {
  test(
    'one key twice in one transaction is one effect',
    withBench(async ({ site }) => {
      const here = await site()
      const run = here.attempt(1)
      const both = await here.transaction((tx) => {
        const make = (n: number) => () => here.note(tx, `note ${n}`, n)
        return Promise.all([join(run, tx, 'a', make(1)), join(run, tx, 'a', make(2))]) as unknown as [number, number]
      })
      assert.deepEqual(await both, [1, 1])
      assert.deepEqual(await here.notes(), ['note 1'])
    }),
  )
}
