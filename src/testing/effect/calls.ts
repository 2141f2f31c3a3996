import assert from 'node:assert/strict'
import type { CallOptions, ProviderCall } from '../../effect/call/face.js'
import { Rejected } from '../../effect/errors.js'
import type { EffectClock } from '../../effect/port.js'
import { after, never, refused, type Site, type TestApi, type WithBench } from './bench.js'

type Test = TestApi['test']

/** No pause is this long, so the clock below can tell a time-out from a pause. */
const TIMEOUT_MS = 7_777_000

/** Pauses end at once; time-outs fire when they are told to. */
class CallClock implements EffectClock {
  readonly #timeouts = new Set<() => void>()

  monotonic(): number {
    return 0
  }

  random(): number {
    return 0.5
  }

  after(delayMs: number, fn: () => void): { cancel(): void } {
    if (delayMs === TIMEOUT_MS) {
      this.#timeouts.add(fn)
      return { cancel: () => void this.#timeouts.delete(fn) }
    }
    const turn = setImmediate(fn)
    return { cancel: () => clearImmediate(turn) }
  }

  timeOut(): void {
    for (const fn of this.#timeouts) fn()
  }
}

/** A provider that remembers what it was sent, and does with each sending what it is told. */
class Provider {
  readonly sent: { readonly idempotencyKey: string; readonly input: unknown }[] = []

  options<R>(
    answers: readonly (() => R | Promise<R>)[],
    more: Partial<CallOptions<R, unknown>> = {},
  ): CallOptions<R, unknown> {
    return {
      timeout: TIMEOUT_MS,
      ...more,
      send: async ({ idempotencyKey, input }: ProviderCall<unknown>) => {
        const answer = answers[this.sent.length] ?? never
        this.sent.push({ idempotencyKey, input })
        return answer()
      },
    }
  }
}

const lost = (): never => {
  throw new Error('socket hang up')
}

export function callsSuite<Tx>(test: Test, withBench: WithBench<Tx>): void {
  definite(test, withBench)
  uncertain(test, withBench)
  withoutLookUp(test, withBench)
  leases(test, withBench)
  refusals(test, withBench)
  people(test, withBench)
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

function uncertain<Tx>(test: Test, withBench: WithBench<Tx>): void {
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
      const charge = provider.options([lost], { find, input: { amount: 1 }, retry: 2 })
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

function leases<Tx>(test: Test, withBench: WithBench<Tx>): void {
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
      assert.equal((await here.effects.uncertain())[0]?.problem, reason.message)
      answer('ch_1')
      const asked = { ...provider.options([never]), find: () => ({ state: 'unknown' as const }), retry: 100 }
      assert.equal(await here.attempt(2).call('charge', asked), 'ch_1')
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

function refusals<Tx>(test: Test, withBench: WithBench<Tx>): void {
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
      const huge = provider.options([() => 'x'.repeat(70_000)])
      for (const _ of [1, 2]) {
        const error = await refused('EFFECT_INVALID', () => here.attempt(1).call('charge', huge))
        assert.match(error.message, /has confirmed it, but its answer could not be kept/)
      }
      assert.equal(provider.sent.length, 1)
    }),
  )
}

function people<Tx>(test: Test, withBench: WithBench<Tx>): void {
  const leaveUncertain = async (here: Site<Tx>, provider: Provider, key: string) => {
    const charge = provider.options([lost, lost, lost], { keyValidFor: 1 })
    await refused('EFFECT_UNCERTAIN', () => here.attempt(1).call(key, charge))
  }

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
