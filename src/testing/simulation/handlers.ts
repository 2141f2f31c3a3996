import type { Run as HandlerRun } from '../../fleet/run.js'
import type { VirtualClock, VirtualProcess } from '../clock.js'
import { Random } from '../random.js'
import type { BusinessDatabase, BusinessTx } from './business.js'
import { type Attempt, attemptOf, type HandlerPlan } from './handler-plan.js'
import type { Observation } from './observations.js'
import type { Tally } from './tally.js'

/** What handlers need of the world around them. */
export interface Surroundings {
  readonly clock: VirtualClock
  readonly seed: number
  readonly business: BusinessDatabase
  readonly tally: Tally
  /** In the calm that follows the faults every handler works, and is quick. */
  isCalm(): boolean
  nextHandler(): number
  kill(process: VirtualProcess): void
  report(observation: Observation): void
}

/** More occurrences of one run are not given an effect each: the first and the last few stand for all. */
const EFFECTS_EACH = 2

/** A handler that does not obey is given up by then. */
const GIVEN_UP_MS = 5_500

/** A handler as one process has it. */
export function handlerOf(job: string, plan: HandlerPlan, process: VirtualProcess, world: Surroundings) {
  return (run: HandlerRun): unknown => {
    const random = new Random(`${world.seed}/${job}/${run.key}/${run.token}`)
    const attempt: Attempt = world.isCalm() ? calmAttempt(run) : attemptOf(plan, random)
    return new Work(job, run, attempt, process, world, random, world.nextHandler()).begin()
  }
}

/** Quick, unless whoever asked for the run wants it to take its time. */
function calmAttempt({ data }: HandlerRun): Attempt {
  const linger = (data as { readonly linger?: unknown } | null)?.linger
  return typeof linger === 'number'
    ? { mode: 'works', steps: linger, stepMs: 500 }
    : { mode: 'works', steps: 2, stepMs: 20 }
}

class Work {
  readonly #about: { process: string; job: string; key: string; token: number; handler: number }
  readonly #signal: AbortSignal | null

  constructor(
    readonly job: string,
    readonly run: HandlerRun,
    readonly attempt: Attempt,
    readonly process: VirtualProcess,
    readonly world: Surroundings,
    readonly random: Random,
    handler: number,
  ) {
    this.#about = { process: process.name, job, key: run.key, token: run.token, handler }
    // Some handlers ask the run for its signal each time, some keep it.
    this.#signal = random.chance(0.5) ? run.signal : null
  }

  /** Not an asynchronous function: what it throws at once is thrown, not rejected. */
  begin(): Promise<unknown> {
    const { run, world } = this
    const { covers, date, attempt } = run
    const scheduledAt = run.scheduledAt.getTime()
    const since = run.since?.getTime() ?? null
    const { mode } = this.attempt
    this.#tell({ kind: 'handler-started', attempt, covers, date, scheduledAt, since, aborted: run.signal.aborted })
    world.tally.count(`handler ${mode}`)
    run.signal.addEventListener('abort', () => {
      const { reason } = run.signal
      this.#tell({ kind: 'handler-aborted', why: String((reason as { why?: unknown }).why ?? reason) })
    })
    if (mode === 'throws-at-once') {
      this.#ended('threw')
      throw new Error('thrown at once')
    }
    return this.#go().then(
      (result) => {
        this.#ended('returned')
        return result
      },
      (error) => {
        this.#ended(run.signal.aborted && error === run.signal.reason ? 'obeyed' : 'threw')
        throw error
      },
    )
  }

  async #go(): Promise<unknown> {
    const { mode, steps, stepMs } = this.attempt
    if (mode === 'hangs' || mode === 'hangs-deaf') return this.#hang(mode === 'hangs')
    const effects = this.#effects()
    let ignores = mode === 'deaf'
    let left = this.random.int(1, 4)
    for (let step = 0; step < steps || effects.length > 0; step += 1) {
      const aborted = await this.#step(stepMs)
      if (aborted && mode === 'returns-early') return 'early'
      if (aborted && ignores) {
        ignores = false
        await this.#step(GIVEN_UP_MS)
      }
      if (aborted && mode === 'outlives') left -= 1
      if (aborted && (mode !== 'outlives' || left <= 0) && mode !== 'deaf') throw this.run.signal.reason
      if (mode === 'kills' && step >= steps / 2) {
        this.world.kill(this.process)
        await new Promise(() => {})
      }
      if (step >= steps / 2 && mode === 'throws') throw new Error('thrown in the middle')
      if (step >= steps / 2 && mode === 'throws-oddly') throw this.random.pick([undefined, null, 'text', { odd: true }])
      const key = effects.shift()
      if (key !== undefined) await this.#effect(key, mode === 'deaf' || mode === 'outlives')
    }
    // Who pays no attention writes once more long after it has been given up.
    if (mode === 'deaf') await this.#effect(`${this.job}/${this.run.key}/late`, true)
    return { steps }
  }

  /** Time passes; says whether the signal has fired by then. */
  async #step(ms: number): Promise<boolean> {
    await new Promise<void>((resolve) => this.process.after(ms, resolve))
    const { aborted } = this.#signal ?? this.run.signal
    this.#tell({ kind: 'handler-step', aborted })
    return aborted
  }

  async #effect(key: string, goesOn: boolean): Promise<void> {
    const { business, tally } = this.world
    const about = { kind: 'once', process: this.process.name, job: this.job, runKey: this.run.key } as const
    const { token } = this.run
    try {
      const result = await this.run.once(key, async (tx) => {
        await business.invoice(this.process, tx as BusinessTx, {
          key,
          attemptId: `${this.job}/${this.run.key}/${token}`,
        })
        return `by ${token}`
      })
      this.world.report({ ...about, at: this.world.clock.now, token, key, result: String(result), error: null })
    } catch (error) {
      const { code: known, name } = (error ?? {}) as { readonly code?: string; readonly name?: string }
      const code = known ?? name ?? 'unknown'
      tally.count(`effect refused ${code}`)
      this.world.report({ ...about, at: this.world.clock.now, token, key, result: null, error: code })
      if (!goesOn) throw error
    }
  }

  /** Until the signal, or for ever. */
  #hang(obeys: boolean): Promise<never> {
    const { signal } = this.run
    return new Promise((_, reject) => {
      if (!obeys) return
      if (signal.aborted) reject(signal.reason)
      signal.addEventListener('abort', () => reject(signal.reason))
    })
  }

  /** Business keys: one for each occurrence, so that whoever works on it makes the same effect. */
  #effects(): string[] {
    if (this.run.covers === null) return [`${this.job}/${this.run.key}`]
    const all = this.run.occurrences().map((occurrence) => `${this.job}/${occurrence.key}`)
    return [...new Set([...all.slice(0, EFFECTS_EACH), ...all.slice(-EFFECTS_EACH)])]
  }

  #ended(how: 'returned' | 'threw' | 'obeyed'): void {
    this.#tell({ kind: 'handler-ended', how, aborted: this.run.signal.aborted })
  }

  // biome-ignore lint/suspicious/noExplicitAny: the parts of an observation that differ are added to the common ones.
  #tell(what: any): void {
    this.world.report({ ...this.#about, at: this.world.clock.now, ...what })
  }
}
