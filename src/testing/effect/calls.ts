import assert from 'node:assert/strict'
import { Rejected } from '../../effect/errors.js'
import { never, refused, type TestApi, type WithBench } from './bench.js'
import { CallClock, lost, Provider, TIMEOUT_MS } from './call-bench.js'
import { leasesSuite, peopleSuite, refusalsSuite } from './call-owners.js'
import { waitsSuite } from './call-waits.js'

type Test = TestApi['test']

export function callsSuite<Tx>(test: Test, withBench: WithBench<Tx>): void {
  definite(test, withBench)
  looked(test, withBench)
  stillUncertain(test, withBench)
  withoutLookUp(test, withBench)
  leasesSuite(test, withBench)
  refusalsSuite(test, withBench)
  peopleSuite(test, withBench)
  waitsSuite(test, withBench)
}

function definite<Tx>(test: Test, withBench: WithBench<Tx>): void {
  test(
    'a call that is answered is made once, and every repeat has its answer',
    withBench(async ({ site }) => {
      const here = await site()
      const there = await site()
      const provider = new Provider()
      const input = { amount: 12_50, currency: 'EUR', none: null }
      const charge = provider.options([() => ({ id: 'ch_1', lines: [], at: new Date(0) })], { input })
      const first = await here.attempt(1).call('charge', charge)
      assert.deepEqual(first, { id: 'ch_1', lines: [], at: '1970-01-01T00:00:00.000Z' })
      assert.deepEqual(await there.attempt(2).call('charge', provider.options([never], { input })), first)
      assert.deepEqual(await here.effects.call('charge', provider.options([never], { input })), first)
      assert.equal(provider.sent.length, 1)
      assert.deepEqual(provider.sent[0]?.input, input)
      assert.match(
        provider.sent[0]?.idempotencyKey ?? '',
        /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
      )
      assert.deepEqual(await here.effects.uncertain(), [])
    }),
  )

  test(
    'a definite no is kept like a yes',
    withBench(async ({ site }) => {
      const here = await site()
      const provider = new Provider()
      const declined = provider.options([
        () => {
          throw new Rejected('card declined', { code: 51 })
        },
      ])
      for (const _ of [1, 2]) {
        const error = await refused('EFFECT_REJECTED', () => here.attempt(1).call('charge', declined))
        assert.equal(error.message, 'card declined')
        assert.deepEqual((error as Rejected).details, { code: 51 })
      }
      assert.equal(provider.sent.length, 1)
    }),
  )
}

function looked<Tx>(test: Test, withBench: WithBench<Tx>): void {
  test(
    'an uncertain outcome is looked up before anything else, and what is found confirms it',
    withBench(async ({ site }) => {
      const here = await site({ clock: new CallClock() })
      const provider = new Provider()
      const found = () => ({ state: 'found' as const, result: 'ch_1' })
      const charge = provider.options([lost], { find: found, input: 1 })
      assert.equal(await here.attempt(1).call('charge', charge), 'ch_1')
      assert.equal(await here.attempt(1).call('charge', provider.options([never], { input: 1 })), 'ch_1')
      assert.equal(provider.sent.length, 1)
    }),
  )

  test(
    'what has never arrived is sent again only when the older sender cannot be sending any more',
    withBench(async ({ site }) => {
      const here = await site({ clock: new CallClock() })
      const provider = new Provider()
      let asked = 0
      const find = async () => {
        assert.equal(provider.sent.length, 1)
        // The third look-up comes when the time of the first sender has run out.
        if (++asked === 3) await here.execute('UPDATE fleetcron_effect SET sending_until = 0')
        return { state: 'absent' as const }
      }
      const charge = provider.options([lost, () => 'ch_2'], { find, input: { amount: 1 } })
      assert.equal(await here.attempt(1).call('charge', charge), 'ch_2')
      assert.equal(asked, 3)
      assert.deepEqual(provider.sent[0], provider.sent[1])
    }),
  )
}

function stillUncertain<Tx>(test: Test, withBench: WithBench<Tx>): void {
  test(
    'while nobody knows it stays uncertain and is listed, and the next attempt asks again',
    withBench(async ({ site }) => {
      const here = await site({ clock: new CallClock(), prefix: 'shop/' })
      const provider = new Provider()
      let asked = 0
      const find = () => {
        asked++
        if (asked % 2) throw new Error('the look-up is down')
        return { state: 'unknown' as const }
      }
      const charge = provider.options([lost], { find, input: { amount: 1 }, retry: 3 })
      const error = await refused('EFFECT_UNCERTAIN', () => here.attempt(1).call('charge', charge))
      assert.match(error.message, /Job 'j', run 'k': effect 'charge'.*uncertain.*socket hang up.*fleetcron resolve/)
      assert.equal(asked, 3)
      const [listed, ...others] = await here.effects.uncertain()
      assert.deepEqual(others, [])
      assert.deepEqual(
        { ...listed, intendedAt: 0 },
        {
          key: 'shop/charge',
          state: 'uncertain',
          job: 'f/j',
          run: 'k',
          idempotencyKey: provider.sent[0]?.idempotencyKey,
          input: { amount: 1 },
          tries: 1,
          problem: 'socket hang up',
          intendedAt: 0,
        },
      )
      const later = { ...charge, find: () => ({ state: 'found' as const, result: 'ch_1' }) }
      assert.equal(await here.attempt(2).call('charge', later), 'ch_1')
      assert.deepEqual(await here.effects.uncertain(), [])
      assert.equal(provider.sent.length, 1)
    }),
  )
}

function withoutLookUp<Tx>(test: Test, withBench: WithBench<Tx>): void {
  test(
    'without a look-up the same is sent again while the provider honours its key',
    withBench(async ({ site }) => {
      const here = await site({ clock: new CallClock() })
      const provider = new Provider()
      const charge = provider.options([lost, lost, () => 'ch_1'], { input: [1], keyValidFor: '100h' })
      assert.equal(await here.attempt(1).call('charge', charge), 'ch_1')
      assert.equal(new Set(provider.sent.map((each) => JSON.stringify(each))).size, 1)
      assert.equal(provider.sent.length, 3)
    }),
  )

  test(
    'without a look-up nothing is sent when the key may be forgotten before an answer comes',
    withBench(async ({ site }) => {
      const here = await site({ clock: new CallClock() })
      const provider = new Provider()
      const charge = provider.options([lost, never], { keyValidFor: TIMEOUT_MS })
      const error = await refused('EFFECT_UNCERTAIN', () => here.attempt(1).call('charge', charge))
      assert.match(error.message, /no longer honours its idempotency key/)
      await refused('EFFECT_UNCERTAIN', () => here.attempt(2).call('charge', charge))
      assert.equal(provider.sent.length, 1)
    }),
  )
}
