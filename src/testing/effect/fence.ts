import assert from 'node:assert/strict'
import { after, fromOutside, never, refused, type TestApi, type WithBench } from './bench.js'

type Test = TestApi['test']

/** The largest token there is. */
const LAST = Number.MAX_SAFE_INTEGER

export function fenceSuite<Tx>(test: Test, withBench: WithBench<Tx>): void {
  raising(test, withBench)
  stale(test, withBench)
  ownStatements(test, withBench)
  lost(test, withBench)
}

function raising<Tx>(test: Test, withBench: WithBench<Tx>): void {
  test(
    'is raised upwards only, and repeating it is safe',
    withBench(async ({ site }) => {
      const here = await site()
      const there = await site()
      assert.deepEqual(await here.effects.raise('r', 5), { raised: true })
      assert.deepEqual(await there.effects.raise('r', 5), { raised: true })
      assert.deepEqual(await there.effects.raise('r', 4), { raised: false, token: 5 })
      assert.deepEqual(await here.effects.raise('r', 6), { raised: true })
      assert.deepEqual(await here.effects.raise('other', 1), { raised: true })
    }),
  )

  test(
    'raised by many at once it ends at the highest',
    withBench(async ({ site }) => {
      const sites = [await site(), await site()] as const
      const tokens = Array.from({ length: 40 }, (_, i) => 1 + ((i * 17) % 40))
      const answers = await Promise.all(tokens.map((token, i) => sites[i % 2 === 0 ? 0 : 1].effects.raise('r', token)))
      answers.forEach((answer, i) => {
        assert.ok(answer.raised || answer.token > (tokens[i] ?? 0))
      })
      assert.deepEqual(await sites[0].effects.raise('r', 39), { raised: false, token: 40 })
    }),
  )

  test(
    'keeps tokens exactly up to 2^53 - 1, and names that are not plain',
    withBench(async ({ site }) => {
      const { effects } = await site()
      for (const resource of ['r', `f/'; DROP TABLE note; --`, 'työ/😀', '__proto__', 'R', 'r ']) {
        assert.deepEqual(await effects.raise(resource, LAST - 1), { raised: true }, resource)
        assert.deepEqual(await effects.raise(resource, LAST), { raised: true })
        assert.deepEqual(await effects.raise(resource, LAST - 1), { raised: false, token: LAST })
      }
    }),
  )

  test(
    'refuses what is no token or no resource',
    withBench(async ({ site }) => {
      const here = await site()
      for (const token of [0, -1, 1.5, LAST + 1, Number.NaN, '7' as unknown as number]) {
        await refused('EFFECT_INVALID', () => here.effects.raise('r', token))
        await refused('EFFECT_INVALID', () => here.attempt(token))
      }
      for (const resource of ['', 'a\0b', '\ud800', 'x'.repeat(641)]) {
        await refused('EFFECT_INVALID', () => here.effects.raise(resource, 1))
      }
    }),
  )
}

function stale<Tx>(test: Test, withBench: WithBench<Tx>): void {
  test(
    'refuses an older attempt, with all that is needed to understand it, and keeps nothing',
    withBench(async ({ site }) => {
      const here = await site()
      const there = await site()
      await here.effects.raise('f/j', 7)
      const old = here.attempt(7)
      await old.once('before', (tx) => here.note(tx, 'before', 1))
      await there.effects.raise('f/j', 8)
      const error = await refused('STALE_TOKEN', () => old.once('after', never))
      const { job, runKey, key, resource, token, highest } = error as never
      assert.deepEqual([job, runKey, key, resource, token, highest], ['j', 'k', 'after', 'f/j', 7, 8])
      for (const part of [`'j'`, `'k'`, `'after'`, '7', '8']) assert.ok(error.message.includes(part), part)
      await refused('STALE_TOKEN', () => old.once('before', never))
      assert.equal(await there.attempt(8).once('before', never), 1)
      assert.equal(await there.attempt(8).once('after', (tx) => there.note(tx, 'after', 2)), 2)
      assert.deepEqual(await here.notes(), ['after', 'before'])
    }),
  )

  test(
    'raised while an effect is in its transaction it takes hold after it',
    withBench(async ({ site }) => {
      const here = await site()
      const there = await site()
      await here.effects.raise('f/j', 1)
      const raise = fromOutside(() => there.effects.raise('f/j', 2))
      let raised: ReturnType<typeof raise> | undefined
      await here.attempt(1).once('during', (tx) =>
        after(here.note(tx, 'during', 1), (answer) => {
          raised = raise()
          return answer
        }),
      )
      assert.deepEqual(await raised, { raised: true })
      await refused('STALE_TOKEN', () => here.attempt(1).once('next', never))
      assert.deepEqual(await here.notes(), ['during'])
    }),
  )

  test(
    'lets effects of one attempt pass side by side, and those of other resources',
    withBench(async ({ site }) => {
      const sites = [await site(), await site()] as const
      await sites[0].effects.raise('f/j', 3)
      await sites[0].effects.raise('f/other', 9)
      const names = Array.from({ length: 20 }, (_, i) => `n${i}`)
      await Promise.all(
        names.map((name, i) => {
          const here = sites[i % 2 === 0 ? 0 : 1]
          return here.attempt(3).once(name, (tx) => here.note(tx, name, i))
        }),
      )
      assert.deepEqual(await sites[0].notes(), names.sort())
    }),
  )

  test(
    'is not read for a job that leaves it to the keys',
    withBench(async ({ site }) => {
      const here = await site()
      await here.effects.raise('f/j', 9)
      const run = here.attempt(1, { fence: false })
      assert.equal(await run.once('a', (tx) => here.note(tx, 'a', 1)), 1)
      await refused('EFFECT_INVALID', () => here.transaction((tx) => run.fence(tx)))
      assert.equal(await here.attempt(0, { fence: false }).once('unowned', (tx) => here.note(tx, 'u', 2)), 2)
    }),
  )
}

function ownStatements<Tx>(test: Test, withBench: WithBench<Tx>): void {
  test(
    'guards the statements of the user in his transaction',
    withBench(async ({ site }) => {
      const here = await site()
      await here.effects.raise('f/j', 1)
      const run = here.attempt(1)
      const write = (text: string) => () =>
        here.transaction((tx) => after(run.fence(tx) as void | Promise<void>, () => here.note(tx, text, text)))
      assert.equal(await write('good')(), 'good')
      await here.effects.raise('f/j', 2)
      const error = await refused('STALE_TOKEN', write('late'))
      assert.equal((error as never as { key: unknown }).key, null)
      assert.deepEqual(await here.notes(), ['good'])
    }),
  )
}

function lost<Tx>(test: Test, withBench: WithBench<Tx>): void {
  test(
    'is raised again by an attempt that finds it lost or lower: the database was restored',
    withBench(async ({ site }) => {
      const here = await site()
      for (const [key, loss] of [
        ['a', 'DELETE FROM fleetcron_fence'],
        ['b', 'UPDATE fleetcron_fence SET token = 2'],
      ] as const) {
        await here.effects.raise('f/j', 7)
        await here.execute(loss)
        assert.equal(await here.attempt(7).once(key, (tx) => here.note(tx, key, key)), key)
        await refused('STALE_TOKEN', () => here.attempt(6).once(`${key} late`, never))
      }
    }),
  )
}
