import assert from 'node:assert/strict'
import { after, failsWith, join, never, refused, type TestApi, type WithBench } from './bench.js'

type Test = TestApi['test']

export function nestedSuite<Tx>(test: Test, withBench: WithBench<Tx>): void {
  refusals(test, withBench)
  allowed(test, withBench)
}

function refusals<Tx>(test: Test, withBench: WithBench<Tx>): void {
  test(
    'an effect with a transaction of its own is refused inside another, and both leave nothing',
    withBench(async ({ site }) => {
      const here = await site()
      const there = await site()
      const run = here.attempt(1)
      for (const inner of [
        () => run.once('inner', never),
        () => here.effects.once('inner', never),
        () => there.attempt(1).once('inner', never),
        () => here.effects.raise('f/j', 2),
        () => here.effects.ensure(),
      ]) {
        const outer = () =>
          run.once('outer', (tx) => after(here.note(tx, 'outer', 0), () => inner() as unknown as number))
        const error = await refused('EFFECT_NESTED', outer)
        assert.match(error.message, /inside the effect 'outer'/)
      }
      assert.deepEqual(await here.notes(), [])
      assert.deepEqual(await here.execute('SELECT * FROM fleetcron_effect'), [])
    }),
  )

  test(
    'an effect inside itself is refused',
    withBench(async ({ site }) => {
      const here = await site()
      const run = here.attempt(1)
      const act = () => run.once('a', (tx) => join(run, tx, 'b', () => join<Tx, number>(run, tx, 'a', never)))
      assert.match((await refused('EFFECT_NESTED', act)).message, /inside itself/)
    }),
  )
}

function allowed<Tx>(test: Test, withBench: WithBench<Tx>): void {
  test(
    'joined to the outer transaction it is part of it: both count, or neither',
    withBench(async ({ site }) => {
      const here = await site()
      const run = here.attempt(1)
      const both = await run.once('outer', (tx) =>
        after(
          join(run, tx, 'inner', () => here.note(tx, 'inner', 1)),
          (inner) => here.note(tx, 'outer', [inner, 2]),
        ),
      )
      assert.deepEqual(both, [1, 2])
      const thrown = new Error('no')
      const act = () =>
        run.once('outer 2', (tx) =>
          after(
            join(run, tx, 'inner 2', () => here.note(tx, 'inner 2', 1)),
            () => {
              throw thrown
            },
          ),
        )
      await failsWith(thrown, act)
      assert.equal(await run.once('inner', never), 1)
      assert.equal(await run.once('inner 2', (tx) => here.note(tx, 'inner 2 alone', 3)), 3)
      assert.deepEqual(await here.notes(), ['inner', 'inner 2 alone', 'outer'])
    }),
  )

  test(
    'what the function left behind may make effects when it has ended',
    withBench(async ({ site }) => {
      const here = await site()
      const run = here.attempt(1)
      let leftBehind: Promise<number> | undefined
      let go = () => {}
      const ended = new Promise<void>((resolve) => {
        go = resolve
      })
      await run.once('a', (tx) => {
        leftBehind = ended.then(() => run.once('b', (inner) => here.note(inner, 'b', 2)))
        return here.note(tx, 'a', 1)
      })
      go()
      assert.equal(await leftBehind, 2)
      assert.deepEqual(await here.notes(), ['a', 'b'])
    }),
  )
}
