import assert from 'node:assert/strict'
import { leaveOpen, never, refused, type Site, type TestApi, type WithBench } from './bench.js'
import { CallClock, deferred, lost, Provider, until } from './call-bench.js'

type Test = TestApi['test']

const NO_MORE = 'UPDATE fleetcron_effect SET sending_until = 0'

/** Sendings that go on: after their time-out, or while somebody else wants the same. */
export function waitsSuite<Tx>(test: Test, withBench: WithBench<Tx>): void {
  silent(test, withBench)
  secondCalls(test, withBench)
  takenOver(test, withBench)
}

/** A call that timed out while its request goes on; `answer` and `fail` end that. */
async function silentCall<Tx>(here: Site<Tx>, clock: CallClock, warn: (text: string) => void = () => {}) {
  const answer = deferred<string>()
  const charge = new Provider().options(
    [
      () => {
        setImmediate(() => clock.timeOut())
        return answer.promise
      },
    ],
    { retry: 0 },
  )
  const error = await refused('EFFECT_UNCERTAIN', () => here.attempt(1, { warn }).call('charge', charge))
  assert.match(error.message, /no answer within/)
  return answer
}

function silent<Tx>(test: Test, withBench: WithBench<Tx>): void {
  test(
    'a sending that goes on after its time-out is for people only when it cannot be going on any more',
    withBench(async ({ site }) => {
      const clock = new CallClock()
      const here = await site({ clock })
      const answer = await silentCall(here, clock)
      assert.deepEqual(await here.effects.uncertain(), [])
      const resolving = () => here.effects.resolve('charge', { by: 'ada', why: 'hasty', retry: true })
      assert.match((await refused('EFFECT_INVALID', resolving)).message, /may still be sending, until 20\d\d-.*Z\./)
      await here.execute(NO_MORE)
      const [listed] = await here.effects.uncertain()
      assert.equal(listed?.state, 'intended')
      assert.match(listed?.problem ?? '', /no answer within/)
      // A definite answer counts also then.
      answer.resolve('ch_1')
      await until(async () => (await here.effects.uncertain()).length === 0)
      assert.equal(await here.attempt(2).call('charge', new Provider().options([never])), 'ch_1')
    }),
  )

  test(
    'what fails after its time-out is uncertain from then on',
    withBench(async ({ site }) => {
      const clock = new CallClock()
      const here = await site({ clock })
      const answer = await silentCall(here, clock)
      answer.reject(new Error('reset'))
      await until(async () => (await here.effects.uncertain()).length > 0)
      assert.equal((await here.effects.uncertain())[0]?.state, 'uncertain')
    }),
  )

  test(
    'an answer that contradicts what a person said is kept beside it, and told',
    withBench(async ({ site }) => {
      const clock = new CallClock()
      const here = await site({ clock })
      const told = deferred<string>()
      const answer = await silentCall(here, clock, told.resolve)
      await here.execute(NO_MORE)
      await here.effects.resolve('charge', { by: 'ada', why: 'not in the dashboard', rejected: 'never arrived' })
      answer.resolve('ch_1')
      assert.match(await told.promise, /effect 'charge': the provider has confirmed it, after it was kept as rejected/)
      await refused('EFFECT_REJECTED', () => here.attempt(2).call('charge', new Provider().options([never])))
      const [row] = await here.execute('SELECT audit FROM fleetcron_effect')
      const [, late] = JSON.parse(String(row?.audit))
      assert.deepEqual(
        { ...late, at: 0, why: '' },
        { at: 0, by: 'the provider', why: '', state: 'confirmed', answer: 'ch_1' },
      )
    }),
  )
}

/** A first call that is sending, and a second one, of the same process or another, that waits for it. */
async function bothAtOnce<Tx>(first: Site<Tx>, second: Site<Tx>, clock: CallClock, signal?: AbortSignal) {
  const provider = new Provider()
  const answer = deferred<string>()
  const arrived = deferred<void>()
  const sends = [
    () => {
      arrived.resolve()
      return answer.promise
    },
    () => 'ch_2',
  ]
  const charge = provider.options<string>(sends, { keyValidFor: '100h' })
  const one = first.attempt(1).call('charge', charge)
  await arrived.promise
  const pauses = clock.nextPause()
  const other = second.attempt(1, signal && { signal }).call('charge', charge)
  other.catch(() => undefined)
  await pauses
  assert.equal(provider.sent.length, 1)
  return { provider, answer, one, other }
}

function secondCalls<Tx>(test: Test, withBench: WithBench<Tx>): void {
  for (const where of ['this process', 'another process']) {
    test(
      `while ${where} is sending nothing is sent: the second call has the answer of the first`,
      withBench(async ({ site }) => {
        const clock = new CallClock()
        const here = await site({ clock })
        const there = where === 'this process' ? here : await site()
        const { provider, answer, one, other } = await bothAtOnce(there, here, clock)
        answer.resolve('ch_1')
        assert.deepEqual(await Promise.all([one, other]), ['ch_1', 'ch_1'])
        assert.equal(provider.sent.length, 1)
      }),
    )
  }

  test(
    'who waits sends it again when the older sender cannot be sending any more, or is ended by its own signal',
    withBench(async ({ site }) => {
      const clock = new CallClock()
      const here = await site({ clock })
      const lease = new AbortController()
      const there = await site()
      const { provider, answer, one, other } = await bothAtOnce(there, here, clock, lease.signal)
      const reason = new Error('the lease has ended')
      lease.abort(reason)
      await assert.rejects(other, reason)
      await here.execute(NO_MORE)
      const charge = provider.options<string>([never, () => 'ch_2'], { keyValidFor: '100h' })
      assert.equal(await here.attempt(1).call('charge', charge), 'ch_2')
      answer.resolve('ch_1')
      // The first definite answer counts.
      assert.equal(await one, 'ch_2')
      assert.equal(provider.sent.length, 2)
      const [row] = await here.execute('SELECT audit FROM fleetcron_effect')
      assert.equal(JSON.parse(String(row?.audit))[0].answer, 'ch_1')
    }),
  )

  test(
    'a sending that fails while others wait is sent again by one of them',
    withBench(async ({ site }) => {
      const clock = new CallClock()
      const here = await site({ clock })
      const { provider, answer, one, other } = await bothAtOnce(await site({ clock: new CallClock() }), here, clock)
      answer.reject(new Error('reset'))
      assert.deepEqual(await Promise.all([one, other]), ['ch_2', 'ch_2'])
      assert.equal(provider.sent.length, 2)
    }),
  )
}

function takenOver<Tx>(test: Test, withBench: WithBench<Tx>): void {
  test(
    'a key that was committed open stands for nothing: one of two calls takes it over',
    withBench(async ({ site }) => {
      const sites = [await site({ clock: new CallClock() }), await site({ clock: new CallClock() })]
      const [here] = sites as [Site<Tx>]
      await leaveOpen(here, 'charge')
      const provider = new Provider()
      const charge = provider.options([() => 'ch_1'], { input: { amount: 1 } })
      const answers = await Promise.all(sites.map((each) => each.attempt(1).call('charge', charge)))
      assert.deepEqual(answers, ['ch_1', 'ch_1'])
      assert.deepEqual(
        provider.sent.map(({ input }) => input),
        [{ amount: 1 }],
      )
      await refused('KEY_CONFLICT', () => here.attempt(1).call('charge', provider.options([never])))
    }),
  )

  test(
    'a look-up that answers no word it knows leaves the outcome uncertain, and says which there are',
    withBench(async ({ site }) => {
      const here = await site({ clock: new CallClock() })
      for (const [key, known, said] of [
        ['word', { state: 'maybe' }, "with the state 'maybe'"],
        ['null', null, 'with null'],
        ['text', 'found', 'with string'],
      ] as const) {
        const find = () => known as never
        const charge = new Provider().options([lost], { find })
        const { message } = await refused('EFFECT_INVALID', () => here.attempt(1).call(key, charge))
        assert.ok(message.includes(said), message)
        assert.match(message, /\{ state: 'absent' \}.*stays uncertain/)
      }
      assert.deepEqual(
        new Set((await here.effects.uncertain()).map(({ key }) => key)),
        new Set(['word', 'null', 'text']),
      )
    }),
  )
}
