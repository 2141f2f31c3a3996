import type { Outcome } from '../ledger/context.js'
import { settleRun } from '../ledger/index.js'
import type { AttemptOutcome, Settlement } from '../ledger/types.js'
import type { SettleResult } from '../store/port.js'
import type { AttemptRef } from './events.js'
import type { Grant, Parts } from './parts.js'
import { Backoff, Nap } from './pause.js'
import type { Session } from './session.js'

interface Waiting {
  readonly ref: AttemptRef
  readonly settlement: Settlement
  readonly session: Session | null
  readonly outcome: AttemptOutcome
}

/** Settlements of one call at most; each failed call halves it, so that one that the store chokes on ends up alone. */
const BATCH = 500

/** A retry that is so far away is worth a look whether the run was asked to stop. */
const LONG_MS = 2_000

/**
 * Keeps the outcome of every attempt until the store has answered for it, whether or not the session is still believed
 * in: what was done was done. Settling is recognised when it comes twice, so a doubtful answer is simply asked again.
 */
export class Settling {
  private readonly waiting = new Map<string, Waiting>()
  private batch = BATCH
  private busy = false
  private stopped = false
  private idle: (() => void)[] = []
  private readonly backoff: Backoff
  private readonly rest: Nap

  constructor(private readonly parts: Parts) {
    this.backoff = new Backoff(parts.facts.clock, 100, 5_000)
    this.rest = new Nap(parts.facts.clock)
  }

  /** Takes charge of an outcome. `session` null: the run was never this node's to run (a stray). */
  offer(
    grant: Omit<Grant, 'session' | 'anchor' | 'hash'> & { readonly session: Session | null },
    outcome: Outcome,
  ): void {
    const { run, definition, session } = grant
    const { job, key, attempt, token } = run
    const attemptId = run.attemptId ?? ''
    if (this.waiting.has(attemptId)) return
    const settlement = settleRun(run, definition, outcome, this.parts.link.storeNow())
    const word = settlement.run.attempts.find((one) => one.id === attemptId)?.outcome ?? 'handed-back'
    this.waiting.set(attemptId, {
      ref: { job, key, attempt, attemptId, token },
      settlement,
      session,
      outcome: word,
    })
    if (!this.busy) void this.flush()
  }

  holds(session: Session): boolean {
    for (const one of this.waiting.values()) if (one.session === session) return true
    return false
  }

  isKnown(attemptId: string): boolean {
    return this.waiting.has(attemptId)
  }

  /** Attempts of the session whose end the store has not confirmed: its beats still name them. */
  idsOf(session: Session): string[] {
    return [...this.waiting].flatMap(([id, one]) => (one.session === session ? [id] : []))
  }

  get size(): number {
    return this.waiting.size
  }

  /** Resolves when the store has answered for everything. */
  whenIdle(): Promise<void> {
    if (this.waiting.size === 0) return Promise.resolve()
    return new Promise((resolve) => this.idle.push(resolve))
  }

  /** The store answers again: no need to wait longer. */
  nudge(): void {
    this.rest.wake()
  }

  /** The store is about to be closed: what is left is left. */
  stop(): void {
    this.stopped = true
    this.nudge()
  }

  private async flush(): Promise<void> {
    this.busy = true
    while (this.waiting.size > 0 && !this.stopped) {
      // A round later: what ends in the same turn goes in the same call.
      await null
      const some = [...this.waiting.values()].slice(0, this.batch)
      try {
        const { reply } = await this.parts.link.call('settle', this.parts.facts.leaseMs, (store) =>
          store.settle(some.map(({ settlement }) => settlement)),
        )
        this.backoff.reset()
        this.batch = Math.min(BATCH, this.batch * 2)
        for (const [index, one] of some.entries()) this.settled(one, reply[index] ?? 'lost')
      } catch {
        this.batch = Math.max(1, Math.floor(this.batch / 2))
        this.moveBack(some.slice(0, this.batch))
        await this.rest.sleep(this.backoff.nextMs())
      }
    }
    this.busy = false
    const waiting = this.idle
    this.idle = []
    for (const resolve of waiting) resolve()
  }

  /** What failed goes behind the others. */
  private moveBack(some: readonly Waiting[]): void {
    for (const one of some) {
      this.waiting.delete(one.ref.attemptId)
      this.waiting.set(one.ref.attemptId, one)
    }
  }

  private settled(one: Waiting, result: SettleResult): void {
    const { events, log, looker, link, stopping } = this.parts
    this.waiting.delete(one.ref.attemptId)
    if (result === 'lost' && one.session !== null) {
      log.warn('run ended here but belongs to somebody else by now; this outcome was not recorded', {
        ...one.ref,
        outcome: one.outcome,
      })
    }
    events.emit('run-settled', { ...one.ref, outcome: one.outcome, result, run: one.settlement.run })
    const { wakeAt } = one.settlement
    if (wakeAt === null) looker.request()
    else looker.wakeBy(one.ref.job, wakeAt)
    const waitsMs = wakeAt === null ? 0 : wakeAt - link.storeNow()
    if (waitsMs > LONG_MS && !stopping.aborted) void looker.endIfStopped(one.ref.job)
  }
}
