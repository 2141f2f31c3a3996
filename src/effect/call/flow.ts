import { createHash } from 'node:crypto'
import { parseDuration } from '../../duration.js'
import { hasCode } from '../../errors.js'
import { effectInvalid, messageOf, Rejected } from '../errors.js'
import type { EffectSettings } from '../options.js'
import { playOwn } from '../play.js'
import type { EffectAdapter, EffectClock } from '../port.js'
import { repeating } from '../retry.js'
import type { Effect, Script } from '../script.js'
import { encodeInput, encodeResult, OF_SEND } from '../values.js'
import type { CallOptions, Found, ProviderCall } from './face.js'
import {
  againScript,
  answerScript,
  intendScript,
  type Next,
  type OpenCall,
  uncertain,
  uncertainScript,
  type Window,
} from './scripts.js'

const DEFAULTS = { keyValidFor: '24h', timeout: '30s', retry: 5 } as const

/** Outside runs nobody says how long a sender may be silent. */
const LEASE_MS = 10_000

/** Pauses before an uncertain outcome is looked at again: 1, 2, 4 … seconds, at most this. */
const LONGEST_PAUSE_MS = 30_000

/** Longest text of what `send` threw. */
const PROBLEM_CHARACTERS = 2_000

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

  constructor(adapter: EffectAdapter<Tx>, settings: EffectSettings, effect: Effect, options: AnyOptions) {
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
    let askedAt = this.#clock.monotonic()
    let next = await this.#own(() => intendScript(this.#adapter.statements, this.#effect, intent, this.#window))
    // What an earlier attempt left open is asked for once before that counts as repeated.
    const most = next.do === 'ask' ? this.#retry + 1 : this.#retry
    let asked = 0
    let pauseMs = 0
    for (;;) {
      if (next.do === 'answer') return next.answer()
      if (next.do === 'send') {
        next = await this.#send(next.row, askedAt)
        pauseMs = pauseOf(asked)
        continue
      }
      if (asked >= most) {
        throw uncertain(this.#effect, next.row, askedOften(asked))
      }
      asked += 1
      await this.#pause(pauseMs)
      pauseMs = pauseOf(asked)
      askedAt = this.#clock.monotonic()
      next = await this.#ask(next.row)
      // Who said `absent` while the older sender may still be sending is asked again when it cannot.
      if (next.do === 'ask' && this.#options.find) pauseMs = Math.max(pauseMs, next.row.sendingMs)
    }
  }

  async #ask(row: OpenCall): Promise<Next> {
    const { find } = this.#options
    if (!find) return this.#sendAgainWhileValid(row)
    const known = await this.#found(find, row)
    if (known.state === 'found') return this.#confirm(known.result)
    const mayNotSendAnyMore = (seen: OpenCall) => known.state === 'absent' && seen.sendingMs <= 0
    return this.#again(row, mayNotSendAnyMore)
  }

  /** Without a look-up the provider's memory of the key is all that guards: within it the same request is sent again. */
  async #sendAgainWhileValid(row: OpenCall): Promise<Next> {
    const next = await this.#again(row, (seen) => seen.validMs > this.#timeoutMs)
    if (next.do === 'ask' && next.row.tries === row.tries) {
      throw uncertain(this.#effect, next.row, 'the provider no longer honours its idempotency key')
    }
    return next
  }

  #again(row: OpenCall, allows: (row: OpenCall) => boolean): Promise<Next> {
    return this.#own(() => againScript(this.#adapter.statements, this.#effect, row.tries, this.#window, allows))
  }

  async #found(find: NonNullable<AnyOptions['find']>, row: OpenCall): Promise<Found<unknown>> {
    try {
      const known = await this.#within((call) => find.call(this.#options, call), row)
      if (known?.state === 'found' || known?.state === 'absent' || known?.state === 'unknown') return known
    } catch (error) {
      this.#effect.origin?.signal.throwIfAborted()
      if (isRefusal(error)) throw error
      return { state: 'unknown' }
    }
    throw effectInvalid(this.#effect.what, "its find() answers with state 'found', 'absent' or 'unknown'.")
  }

  async #send(row: OpenCall, askedAtMs: number): Promise<Next> {
    // A process that was paused since it asked for the right to send has lost it: another may be allowed by now.
    if (this.#clock.monotonic() - askedAtMs > this.#leaseMs * 0.9) return { do: 'ask', row }
    const outcome = await outcomeOf(this.#within((call) => this.#sendOnce(call), row))
    if ('result' in outcome) return this.#confirm(outcome.result)
    if (outcome.error instanceof Rejected) return this.#reject(outcome.error)
    const problem = problemOf(outcome.error)
    const next = await this.#own(() => uncertainScript(this.#adapter.statements, this.#effect, row.tries, problem))
    this.#effect.origin?.signal.throwIfAborted()
    return next
  }

  /** An answer that comes after the time-out is as definite as one in time. */
  async #sendOnce(call: ProviderCall<unknown>): Promise<unknown> {
    const outcome = await outcomeOf((async () => this.#options.send(call))())
    if ('result' in outcome) {
      if (call.signal.aborted) this.#confirm(outcome.result).catch(() => undefined)
      return outcome.result
    }
    if (call.signal.aborted && outcome.error instanceof Rejected) this.#reject(outcome.error).catch(() => undefined)
    throw outcome.error
  }

  /** What cannot be kept was nevertheless confirmed. */
  async #confirm(result: unknown): Promise<Next> {
    let kept: string | null = null
    let problem: string | null = null
    try {
      kept = encodeResult(result, this.#effect.what, OF_SEND)
    } catch (error) {
      problem = messageOf(error)
    }
    return this.#keep({ state: 'confirmed', result: kept, problem })
  }

  #reject({ message, details }: Rejected): Promise<Next> {
    let result = JSON.stringify({ message })
    try {
      result = encodeResult({ message, details }, this.#effect.what) ?? result
    } catch {
      // Details that JSON cannot carry are left out: the answer is what counts.
    }
    return this.#keep({ state: 'rejected', result, problem: null })
  }

  /** An answer is kept also by a node that has lost its lease. */
  #keep(answer: Parameters<typeof answerScript>[2]): Promise<Next> {
    return this.#own(() => answerScript(this.#adapter.statements, this.#effect, answer))
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

  /** Calls `act` with a signal that fires at the time-out and with the run's; ends then, even if `act` does not. */
  async #within<R>(
    act: (call: ProviderCall<unknown>) => Promise<R> | R,
    { idempotencyKey, input }: OpenCall,
  ): Promise<R> {
    const runs = this.#effect.origin?.signal
    runs?.throwIfAborted()
    const controller = new AbortController()
    const { signal } = controller
    const onAbort = () => controller.abort(runs?.reason)
    const late = () => controller.abort(new Error(`no answer within ${this.#timeoutMs} ms`))
    const timer = this.#clock.after(this.#timeoutMs, late)
    runs?.addEventListener('abort', onAbort, { once: true })
    try {
      const ended = new Promise<never>((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason), { once: true })
      })
      return await Promise.race([act({ idempotencyKey, input, signal }), ended])
    } finally {
      timer.cancel()
      runs?.removeEventListener('abort', onAbort)
    }
  }

  async #pause(ms: number): Promise<void> {
    const signal = this.#effect.origin?.signal
    signal?.throwIfAborted()
    if (ms <= 0) return
    await new Promise<void>((resolve) => {
      const end = () => {
        timer.cancel()
        signal?.removeEventListener('abort', end)
        resolve()
      }
      const timer = this.#clock.after(ms, end)
      signal?.addEventListener('abort', end)
    })
    signal?.throwIfAborted()
  }
}

function askedOften(asked: number): string {
  if (asked === 0) return 'there was no answer'
  return asked === 1 ? 'asked once' : `asked ${asked} times`
}

type SendOutcome = { readonly result: unknown } | { readonly error: unknown }

async function outcomeOf(act: Promise<unknown>): Promise<SendOutcome> {
  try {
    return { result: await act }
  } catch (error) {
    return { error }
  }
}

/** A mistake of the caller is no answer of the provider. */
function isRefusal(error: unknown): boolean {
  return hasCode(error, 'EFFECT_INVALID')
}

function pauseOf(tries: number): number {
  return Math.min(LONGEST_PAUSE_MS, 1_000 * 2 ** tries)
}

function problemOf(error: unknown): string {
  const text = messageOf(error)
    .replaceAll('\0', '')
    .replaceAll(/\p{Surrogate}/gu, '?')
  return [...text].slice(0, PROBLEM_CHARACTERS).join('')
}

function checkRetry(effect: Effect, retry: unknown): number {
  if (Number.isInteger(retry) && (retry as number) >= 0 && (retry as number) <= 100) return retry as number
  throw effectInvalid(effect.what, `its retry is ${String(retry)}; it is a whole number from 0 to 100.`)
}

/** The same for every attempt on every node, in a form that every provider takes: a UUID of version 8. */
export function idempotencyKeyOf(kept: string): string {
  const hex = createHash('sha256').update(`fleetcron:${kept}`).digest('hex')
  const variant = ((Number.parseInt(hex.slice(16, 17), 16) & 0x3) | 0x8).toString(16)
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `${variant}${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join('-')
}
