import assert from 'node:assert/strict'
import { after, never, refused, type Site, type TestApi, type WithBench } from './bench.js'
import { CallClock, lost, Provider, until } from './call-bench.js'

type Test = TestApi['test']

export function leasesSuite<Tx>(test: Test, withBench: WithBench<Tx>): void {
  test(
    'a stale attempt sends nothing, but the answer it was waiting for is kept',
    withBench(async ({ site }) => {
      const here = await site({ clock: new CallClock() })
      const provider = new Provider()
      const overtaken = provider.options([
        async () => {
          await here.effects.raise('f/j', 2)
          return 'ch_1'
        },
      ])
      const old = here.attempt(1)
      assert.equal(await old.call('charge', overtaken), 'ch_1')
      await refused('STALE_TOKEN', () => old.call('other', provider.options([never])))
      assert.equal(await here.attempt(2).call('charge', provider.options([never])), 'ch_1')
    }),
  )

  test(
    'the end of the lease ends the wait; what is still answered counts',
    withBench(async ({ site }) => {
      const here = await site({ clock: new CallClock() })
      const provider = new Provider()
      const lease = new AbortController()
      let answer = (_: string) => {}
      const answered = new Promise<string>((resolve) => {
        answer = resolve
      })
      const reason = new Error('the lease has ended')
      const slow = provider.options([
        () => {
          lease.abort(reason)
          return answered
        },
      ])
      await assert.rejects(here.attempt(1, { signal: lease.signal }).call('charge', slow), reason)
      const row = async () => (await here.execute('SELECT state, problem FROM fleetcron_effect'))[0]
      assert.deepEqual({ ...(await row()) }, { state: 'intended', problem: reason.message })
      answer('ch_1')
      // It is recorded by itself, as soon as the database takes it.
      await until(async () => (await row())?.state === 'confirmed')
      assert.equal(await here.attempt(2).call('charge', provider.options([never])), 'ch_1')
    }),
  )

  test(
    'a time-out leaves the outcome uncertain',
    withBench(async ({ site }) => {
      const clock = new CallClock()
      const here = await site({ clock })
      const provider = new Provider()
      const silent = new Promise<string>(() => {})
      const charge = provider.options(
        [
          () => {
            setImmediate(() => clock.timeOut())
            return silent
          },
        ],
        { find: () => ({ state: 'found', result: 'ch_1' }) },
      )
      assert.equal(await here.attempt(1).call('charge', charge), 'ch_1')
    }),
  )
}

export function refusalsSuite<Tx>(test: Test, withBench: WithBench<Tx>): void {
  test(
    'another input, a key of another kind and a call inside an effect are refused before anything is sent',
    withBench(async ({ site }) => {
      const here = await site({ clock: new CallClock() })
      const run = here.attempt(1)
      const provider = new Provider()
      await run.call('charge', provider.options([() => 1], { input: 1 }))
      await refused('KEY_CONFLICT', () => run.call('charge', provider.options([never], { input: 2 })))
      await refused('EFFECT_INVALID', () => run.once('charge', never, { input: 1 }))
      await run.once('note', (tx) => here.note(tx, 'note', 1))
      await refused('EFFECT_INVALID', () => run.call('note', provider.options([never])))
      const inside = () => run.once('outer', () => run.call('inner', provider.options([never])) as never)
      assert.match((await refused('EFFECT_NESTED', inside)).message, /inside the effect 'outer'/)
      await refused('EFFECT_INVALID', () => run.call('charge', { input: 1 } as never))
      await refused('EFFECT_INVALID', () => run.call('x', { ...provider.options([never]), retry: -1 }))
      assert.equal(provider.sent.length, 1)
    }),
  )

  test(
    'an answer that cannot be kept is confirmed all the same, and says so each time',
    withBench(async ({ site }) => {
      const here = await site({ clock: new CallClock() })
      const provider = new Provider()
      const huge = provider.options<unknown>([() => 'x'.repeat(70_000), () => 1n])
      for (const [key, code, why] of [
        ['huge', 'RESULT_TOO_LARGE', /confirmed it, and that is kept, .* 70002 bytes of JSON.* is not sent again/],
        ['huge', 'RESULT_TOO_LARGE', /confirmed it, and that is kept, .* 70002 bytes of JSON.* is not sent again/],
        ['big', 'EFFECT_INVALID', /confirmed it, and that is kept, .* JSON cannot carry it \(it is bigint\)/],
        ['big', 'EFFECT_INVALID', /confirmed it, and that is kept, .* JSON cannot carry it \(it is bigint\)/],
      ] as const) {
        const error = await refused(code, () => here.attempt(1).call(key, huge))
        assert.match(error.message, why)
        assert.doesNotMatch(error.message, /nothing was written/i)
      }
      assert.equal(provider.sent.length, 2)
    }),
  )
}

async function leaveUncertain<Tx>(here: Site<Tx>, provider: Provider, key: string): Promise<void> {
  const charge = provider.options([lost, lost, lost], { keyValidFor: 1 })
  await refused('EFFECT_UNCERTAIN', () => here.attempt(1).call(key, charge))
}

export function peopleSuite<Tx>(test: Test, withBench: WithBench<Tx>): void {
  test(
    'a person says what became of it, and that is kept with who and why',
    withBench(async ({ site }) => {
      const here = await site({ clock: new CallClock() })
      const provider = new Provider()
      const run = here.attempt(1)
      const said = { by: 'ada', why: 'looked it up' }
      for (const key of ['a', 'b', 'c']) await leaveUncertain(here, provider, key)
      await here.effects.resolve('a', { ...said, confirmed: { id: 'ch_9' } })
      await here.effects.resolve('b', { ...said, rejected: 'never arrived' })
      await here.effects.resolve('c', { ...said, retry: true })
      assert.deepEqual(await here.effects.uncertain(), [])
      assert.deepEqual(await run.call('a', provider.options([never])), { id: 'ch_9' })
      const no = await refused('EFFECT_REJECTED', () => run.call('b', provider.options([never])))
      assert.equal(no.message, 'never arrived')
      const again = new Provider()
      assert.equal(await run.call('c', again.options([() => 'ch_10'])), 'ch_10')
      assert.equal(again.sent[0]?.idempotencyKey, provider.sent[2]?.idempotencyKey)
      const [row] = await here.execute(`SELECT audit FROM fleetcron_effect WHERE state = 'rejected'`)
      const [{ at, ...audit }] = JSON.parse(String(row?.audit))
      assert.ok(at > 0)
      assert.deepEqual(audit, { ...said, state: 'rejected' })
    }),
  )

  test(
    'what a person lets be sent again is sent once: how long its key is known counts from the first intent',
    withBench(async ({ site }) => {
      const here = await site({ clock: new CallClock() })
      await leaveUncertain(here, new Provider(), 'a')
      await here.effects.resolve('a', { by: 'ada', why: 'their outage is over', retry: true })
      const provider = new Provider()
      const charge = provider.options([lost, never], { keyValidFor: '100h' })
      for (const _ of [1, 2]) {
        const error = await refused('EFFECT_UNCERTAIN', () => here.attempt(1).call('a', charge))
        assert.match(error.message, /no longer honours its idempotency key/)
      }
      assert.equal(provider.sent.length, 1)
      assert.equal((await here.effects.uncertain())[0]?.tries, 2)
    }),
  )

  test(
    'a call that is asking sends as soon as a person lets it',
    withBench(async ({ site }) => {
      const here = await site({ clock: new CallClock() })
      const provider = new Provider()
      const find = async () => {
        await here.effects.resolve('a', { by: 'ada', why: 'their outage is over', retry: true })
        return { state: 'unknown' as const }
      }
      const charge = provider.options([lost, () => 'ch_1'], { find, keyValidFor: 1 })
      assert.equal(await here.attempt(1).call('a', charge), 'ch_1')
    }),
  )

  resolving(test, withBench)
}

function resolving<Tx>(test: Test, withBench: WithBench<Tx>): void {
  test(
    'only what is uncertain can be resolved, with one answer, by somebody, for a reason',
    withBench(async ({ site }) => {
      const here = await site({ clock: new CallClock() })
      const provider = new Provider()
      const said = { by: 'ada', why: 'looked it up' }
      await here.attempt(1).call('sure', provider.options([() => 1]))
      await refused('EFFECT_INVALID', () => here.effects.resolve('sure', { ...said, retry: true }))
      await refused('EFFECT_INVALID', () => here.effects.resolve('unheard of', { ...said, retry: true }))
      await leaveUncertain(here, new Provider(), 'a')
      await refused('EFFECT_INVALID', () =>
        here.effects.resolve('a', { ...said, retry: true, rejected: 'no' } as never),
      )
      await refused('EFFECT_INVALID', () => here.effects.resolve('a', { by: '', why: 'x', retry: true }))
      await refused('EFFECT_INVALID', () => here.effects.resolve('a', said as never))
      assert.equal((await here.effects.uncertain()).length, 1)
    }),
  )

  test(
    'a sending that may still be under way is not listed',
    withBench(async ({ site }) => {
      const here = await site({ clock: new CallClock() })
      const provider = new Provider()
      await here.attempt(1).call(
        'charge',
        provider.options([
          async () => {
            assert.deepEqual(await here.effects.uncertain(), [])
            const resolving = () => here.effects.resolve('charge', { by: 'ada', why: 'hasty', retry: true })
            assert.match((await refused('EFFECT_INVALID', resolving)).message, /may still be sending/)
            await here.execute('UPDATE fleetcron_effect SET sending_until = 0')
            assert.equal((await here.effects.uncertain())[0]?.state, 'intended')
          },
        ]),
      )
      await after(here.effects.uncertain(), (list) => assert.deepEqual(list, []))
    }),
  )
}
