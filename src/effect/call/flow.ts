import { parseDuration } from '../../duration.js'
import { hasCode } from '../../errors.js'
import { effectInvalid, messageOf, Rejected } from '../errors.js'
import type { EffectSettings } from '../options.js'
import { playOwn } from '../play.js'
import type { EffectAdapter, EffectClock } from '../port.js'
import { repeating } from '../retry.js'
import type { Effect, Script } from '../script.js'
import { encodeAnswer, encodeInput, encodeResult } from '../values.js'
import type { CallOptions, Found, ProviderCall } from './face.js'
import {
  type Answer,
  againScript,
  answerScript,
  intendScript,
  type Next,
  type OpenCall,
  silentScript,
  uncertain,
  uncertainScript,
  type Window,
} from './scripts.js'
import { askedOften, foundNothingKnown, idempotencyKeyOf, problemOf } from './texts.js'
import { type Outcome, outcomeOf, pause, type UnderWay, within } from './under-way.js'

const DEFAULTS = { keyValidFor: '24h', timeout: '30s', retry: 5 } as const

/** Outside runs nobody says how long a sender may be silent. */
const LEASE_MS = 10_000

/** Pauses before an uncertain outcome is looked at again: 1, 2, 4 … seconds, at most this. */
const LONGEST_PAUSE_MS = 30_000

/** How often another sending is looked at while it is under way; one of this process tells its end by itself. */
const LOOK_MS = 500

/** What obeys its signal has ended by then. */
const ENDING_MS = 100

type AnyOptions = CallOptions<unknown, unknown>

/**
 * One call of a provider, from intent to answer. What happens in the database is in scripts.ts; here is what happens
 * between: sending, asking, waiting.
 */
export class CallFlow<Tx> {
  readonly #adapter: EffectAdapter<Tx>
  readonly #settings: EffectSettings
  readonly #effect: Effect
  readonly #options: AnyOptions
  readonly #timeoutMs: number
  readonly #leaseMs: number
  readonly #retry: number
  readonly #window: Window
  readonly #underWay: UnderWay
  #askedAtMs = 0

  constructor(
    adapter: EffectAdapter<Tx>,
    settings: EffectSettings,
    effect: Effect,
    options: AnyOptions,
    underWay: UnderWay,
  ) {
    this.#underWay = underWay
    this.#adapter = adapter
    this.#settings = settings
    this.#effect = effect
    this.#options = options
    this.#timeoutMs = parseDuration(options.timeout ?? DEFAULTS.timeout, `${effect.what}: timeout`)
    this.#leaseMs = effect.origin?.leaseMs ?? LEASE_MS
    this.#retry = checkRetry(effect, options.retry ?? DEFAULTS.retry)
    this.#window = {
      sendingMs: this.#timeoutMs + this.#leaseMs,
      validMs: parseDuration(options.keyValidFor ?? DEFAULTS.keyValidFor, `${effect.what}: keyValidFor`),
    }
  }

  async run(): Promise<unknown> {
    const intent = {
      idempotencyKey: idempotencyKeyOf(this.#effect.kept),
      input: encodeInput(this.#options.input, this.#effect.what),
    }
    let next = await this.#claim(() => intendScript(this.#adapter.statements, this.#effect, intent, this.#window))
    // What an earlier attempt left open is asked for once before that counts as repeated.
    const most = next.do === 'ask' ? this.#retry + 1 : this.#retry
    let asked = 0
    let pauseMs = 0
    for (;;) {
      if (next.do === 'answer') return next.answer()
      if (next.do === 'send') {
        next = await this.#send(next.row)
        pauseMs = pauseOf(asked)
        continue
      }
      if (asked >= most) {
        throw uncertain(this.#effect, next.row, askedOften(asked))
      }
      asked += 1
      await this.#pause(pauseMs)
      pauseMs = pauseOf(asked)
      next = await this.#ask(next.row)
      // Who said `absent` while the older sender may still be sending is asked again when it cannot.
      if (next.do === 'ask' && this.#options.find) pauseMs = Math.max(pauseMs, next.row.sendingMs)
    }
  }

  async #ask(row: OpenCall): Promise<Next> {
    const { find } = this.#options
    if (!find) return this.#sendAgainWhileValid(row)
    const known = await this.#found(find, row)
    if (known.state === 'found') return this.#confirm(known.result, null)
    const mayNotSendAnyMore = (seen: OpenCall) => known.state === 'absent' && seen.sendingMs <= 0
    const next = await this.#again(row, mayNotSendAnyMore)
    return next.do === 'ask' ? this.#waitWhileUnderWay(next.row) : next
  }

  /** Without a look-up the provider's memory of the key is all that guards: within it the same request is sent again. */
  async #sendAgainWhileValid(row: OpenCall): Promise<Next> {
    const allows = (seen: OpenCall) => !seen.isUnderWay && seen.validMs > this.#timeoutMs
    for (let seen = row; ; ) {
      const waited = await this.#waitWhileUnderWay(seen)
      if (waited.do !== 'ask') return waited
      const next = await this.#again(waited.row, allows)
      if (next.do !== 'ask') return next
      if (next.row.tries === waited.row.tries) {
        throw uncertain(this.#effect, next.row, 'the provider no longer honours its idempotency key')
      }
      if (!next.row.isUnderWay) return next
      // Somebody else was first to send again.
      seen = next.row
    }
  }

  /** Another sending of the same may still end well, here or in another process: until then nothing is sent. */
  async #waitWhileUnderWay(row: OpenCall): Promise<Next> {
    let next: Next = { do: 'ask', row }
    while (next.do === 'ask' && next.row.isUnderWay) {
      const ending = this.#underWay.of(this.#effect.kept)
      await this.#pause(Math.min(LOOK_MS, next.row.sendingMs), ending)
      next = await this.#again(next.row, () => false)
    }
    return next
  }

  #again(row: OpenCall, allows: (row: OpenCall) => boolean): Promise<Next> {
    return this.#claim(() => againScript(this.#adapter.statements, this.#effect, row.tries, this.#window, allows))
  }

  /** What may give the right to send, which counts from here. */
  #claim(script: () => Script<Next>): Promise<Next> {
    return this.#own(() => {
      this.#askedAtMs = this.#clock.monotonic()
      return script()
    })
  }

  async #found(find: NonNullable<AnyOptions['find']>, row: OpenCall): Promise<Found<unknown>> {
    let known: Found<unknown>
    try {
      known = await this.#within((call) => find.call(this.#options, call), row)
      if (known?.state === 'found' || known?.state === 'absent' || known?.state === 'unknown') return known
    } catch (error) {
      this.#effect.origin?.signal.throwIfAborted()
      if (isRefusal(error)) throw error
      return { state: 'unknown' }
    }
    throw foundNothingKnown(this.#effect.what, known)
  }

  async #send(row: OpenCall): Promise<Next> {
    // A process that was paused since it asked for the right to send has lost it: another may be allowed by now.
    if (this.#clock.monotonic() - this.#askedAtMs > this.#leaseMs * 0.9) {
      return this.#leave(row, 'the process was paused before it could send')
    }
    let sending: Sending | null = null
    const answered = async (call: ProviderCall<unknown>) => {
      const begun = this.#begin(row, call)
      sending = begun
      await begun.sent
      return begun
    }
    const inTime = await outcomeOf(this.#within(answered, row))
    const next = await ('error' in inTime ? this.#silent(row, sending, problemOf(inTime.error)) : inTime.result.ending)
    if (next.do === 'ask') this.#effect.origin?.signal.throwIfAborted()
    return next
  }

  /** What comes of it is kept whenever it comes: a late answer is as definite as any. */
  #begin(row: OpenCall, call: ProviderCall<unknown>): Sending {
    const sent = outcomeOf((async () => this.#options.send(call))())
    const ending = sent.then((outcome): Promise<Next> => {
      if ('result' in outcome) return this.#confirm(outcome.result, row.tries)
      if (outcome.error instanceof Rejected) return this.#reject(outcome.error, row.tries)
      return this.#leave(row, problemOf(call.signal.aborted ? call.signal.reason : outcome.error))
    })
    return { sent, ending: this.#underWay.add(this.#effect.kept, ending) }
  }

  /** The wait for an answer has ended. A sending that goes on stays on record as under way. */
  async #silent(row: OpenCall, sending: Sending | null, problem: string): Promise<Next> {
    if (sending === null) return this.#leave(row, problem)
    let hasEnded = false
    const ended = sending.sent.then(() => {
      hasEnded = true
    })
    await pause(this.#clock, ENDING_MS, undefined, ended)
    if (hasEnded) return sending.ending
    sending.ending.catch((error) => this.#warn(`what came of it late could not be kept: ${messageOf(error)}`))
    return this.#own(() => silentScript(this.#adapter.statements, this.#effect, row.tries, problem))
  }

  /** The sending of this attempt is over, or has never begun, and nobody knows more. */
  #leave(row: OpenCall, problem: string): Promise<Next> {
    return this.#own(() => uncertainScript(this.#adapter.statements, this.#effect, row.tries, problem))
  }

  /** What cannot be kept was nevertheless confirmed. */
  async #confirm(result: unknown, tries: number | null): Promise<Next> {
    const answer = encodeAnswer(result)
    const problem = answer.problem === null ? null : problemOf(answer.problem)
    return this.#keep({ state: 'confirmed', result: answer.result, problem, tries })
  }

  #reject({ message, details }: Rejected, tries: number): Promise<Next> {
    let result = JSON.stringify({ message })
    try {
      result = encodeResult({ message, details }, this.#effect.what) ?? result
    } catch {
      // Details that JSON cannot carry are left out: the answer is what counts.
    }
    return this.#keep({ state: 'rejected', result, problem: null, tries })
  }

  /** An answer is kept also by a node that has lost its lease. One that contradicts what is kept is told. */
  async #keep(answer: Answer): Promise<Next> {
    const next = await this.#own(() => answerScript(this.#adapter.statements, this.#effect, answer))
    if (next.do === 'answer' && next.contradicted) this.#warn(next.contradicted)
    return next
  }

  /** One transaction; no signal ends its repeats, since what is known has to be kept. */
  #own(script: () => Script<Next>): Promise<Next> {
    const { what } = this.#effect
    return repeating(
      this.#adapter,
      this.#settings,
      what,
      () => playOwn(this.#adapter, what, script, this.#leaseMs),
      null,
    )
  }

  get #clock(): EffectClock {
    return this.#settings.clock
  }

  #within<R>(act: (call: ProviderCall<unknown>) => Promise<R> | R, { idempotencyKey, input }: OpenCall): Promise<R> {
    const signal = this.#effect.origin?.signal
    return within(this.#clock, this.#timeoutMs, signal, (signal) => act({ idempotencyKey, input, signal }))
  }

  #pause(ms: number, early: Promise<unknown> | null = null): Promise<void> {
    return pause(this.#clock, ms, this.#effect.origin?.signal, early)
  }

  #warn(text: string): void {
    this.#effect.origin?.warn?.(`${this.#effect.what}: ${text}`)
  }
}

/** A sending that has begun: how it ends, and what was made of that in the database. */
interface Sending {
  readonly sent: Promise<Outcome<unknown>>
  readonly ending: Promise<Next>
}

/** A mistake of the caller is no answer of the provider. */
function isRefusal(error: unknown): boolean {
  return hasCode(error, 'EFFECT_INVALID')
}

function pauseOf(tries: number): number {
  return Math.min(LONGEST_PAUSE_MS, 1_000 * 2 ** tries)
}

function checkRetry(effect: Effect, retry: unknown): number {
  if (Number.isInteger(retry) && (retry as number) >= 0 && (retry as number) <= 100) return retry as number
  throw effectInvalid(effect.what, `its retry is ${String(retry)}; it is a whole number from 0 to 100.`)
}
