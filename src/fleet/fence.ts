import type { Outcome } from '../ledger/context.js'
import type { Run } from '../ledger/types.js'
import { describeError } from './attempt-error.js'
import type { Clock } from './clock.js'
import type { NodeFacts } from './parts.js'
import { Backoff, pause } from './pause.js'

/** How long a start waits for a business database that is away before the run is handed back. */
const PATIENCE_MS = 30_000
/** A single try: a half-open connection answers never. */
const TRY_MS = 10_000

/**
 * Prepares the business database for one attempt: the tables exist, and no older attempt of the resource can write any
 * more. Null: the handler may be called. While the database is away this is tried again, and then the run is handed
 * back uncharged: it is never the handler's failure.
 */
export async function prepareEffects(
  facts: NodeFacts,
  ensured: EffectTables,
  grant: { readonly run: Run; readonly definition: { readonly fence: boolean } },
  signal: AbortSignal,
): Promise<Outcome | null> {
  const { clock, effects } = facts
  if (effects === null) return null
  const { resource, token } = grant.run
  const backoff = new Backoff(clock, 100, 2_000)
  const giveUpAt = clock.monotonic() + PATIENCE_MS
  for (;;) {
    try {
      await ensured.ready()
      if (!grant.definition.fence) return null
      const raised = await within(clock, TRY_MS, effects.raise(resource, token))
      return raised.raised ? null : { kind: 'refused-by-fence', token: raised.token, called: false }
    } catch (error) {
      // A database that was wiped or restored has lost the tables as well.
      ensured.forget()
      const { message } = describeError(error)
      const why = `the business database is away: ${message}`
      if (signal.aborted || clock.monotonic() >= giveUpAt) return { kind: 'handed-back', why, called: false }
    }
    await pause(clock, backoff.nextMs(), signal)
    if (signal.aborted)
      return { kind: 'handed-back', why: 'the signal fired before the handler was called', called: false }
  }
}

/**
 * Shuts out a handler that has not returned although its run is over: it raises the fence above the run's token. Tried
 * for `patienceMs`; a database that is away all that time leaves the effect keys as the only guard.
 */
export async function shutOut(facts: NodeFacts, run: Run, patienceMs: number): Promise<boolean> {
  const { clock, effects } = facts
  if (effects === null) return true
  const backoff = new Backoff(clock, 100, 1_000)
  const giveUpAt = clock.monotonic() + patienceMs
  for (;;) {
    try {
      await within(clock, Math.max(1, giveUpAt - clock.monotonic()), effects.raise(run.resource, run.token + 1))
      return true
    } catch {
      if (clock.monotonic() >= giveUpAt) return false
    }
    await pause(clock, backoff.nextMs())
  }
}

/** The two tables of effects, made once per node; a failure is tried again by whoever needs them next. */
export class EffectTables {
  private made: Promise<unknown> | null = null

  constructor(private readonly facts: NodeFacts) {}

  ready(): Promise<unknown> {
    const { clock, effects } = this.facts
    if (effects === null) return Promise.resolve()
    this.made ??= within(clock, TRY_MS, effects.ensure()).catch((error) => {
      this.made = null
      throw error
    })
    return this.made
  }

  /** They are looked for again by whoever needs them next. */
  forget(): void {
    this.made = null
  }
}

function within<T>(clock: Clock, ms: number, answer: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = clock.after(ms, () => reject(new Error(`no answer within ${Math.round(ms)} ms`)))
    answer.then(
      (value) => {
        timer.cancel()
        resolve(value)
      },
      (error) => {
        timer.cancel()
        reject(error)
      },
    )
  })
}
