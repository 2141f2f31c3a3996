import type { AttendContext } from './context.js'
import type { Draft } from './draft.js'
import { UNCHARGED_REPEATS } from './limits.js'
import { endAttempt } from './settle.js'
import type { Reason } from './states.js'
import { stopReason } from './stop.js'
import type { EndedSession, Run } from './types.js'

/** A run whose session ended, and the node that held it. */
interface Loss {
  readonly key: string
  readonly node: string
}

/**
 * Takes up the runs of sessions that were marked as ended. Each goes back to the queue (and is granted in the same
 * change where this node has room), is given up after `recover` charged losses, or is cancelled if it was asked to stop.
 * A run whose earlier handler still runs in this process is left to another node.
 */
export function recover(draft: Draft, ctx: AttendContext): Loss[] {
  const lost: Loss[] = []
  for (const run of draft.held()) {
    if (run.state !== 'running' || run.session === null) continue
    // Who was asked to stop is cancelled, not started: no handler is in the way of that.
    if (ctx.busy.has(run.key) && run.stop === null) continue
    const ended = ctx.ended.get(run.session)
    if (ended === undefined) continue
    recoverOne(draft, ctx, run, ended)
    lost.push({ key: run.key, node: ended.node })
  }
  return lost
}

/** Records what `recover` took up, in one event. */
export function recordLosses(draft: Draft, ctx: AttendContext, lost: readonly Loss[]): void {
  if (lost.length > 0) draft.event('recovered', `${ctx.changeId}.recovered`, ctx.node, 'their sessions ended', lost)
}

function recoverOne(draft: Draft, ctx: AttendContext, run: Run, ended: EndedSession): void {
  const lost = endAttempt(run, 'lost', `${ended.node}: session ended`, draft.now)
  if (run.stop !== null) {
    const reason = stopReason(run.stop.kind)
    draft.step(run, 'stop', { ...lost, state: 'cancelled', reason, place: false, endedAt: draft.now })
    return
  }
  const excused = run.repeats < UNCHARGED_REPEATS && isExcused(ctx, ended)
  if (draft.definition.recover === 0 || (!excused && run.recoveries >= draft.definition.recover)) {
    draft.failures = 'count'
    draft.step(run, 'give-up', { ...lost, state: 'failed', reason: LOST, place: false, endedAt: draft.now })
    return
  }
  const charge = excused ? { repeats: run.repeats + 1 } : { recoveries: run.recoveries + 1 }
  draft.step(run, 'recover', { ...lost, ...charge, state: 'queued', readyAt: 0 })
}

const LOST: Reason<'failed'> = 'lost'

/** A loss is not the run's fault where its node lives on, or where this node could not reach the store either. */
function isExcused(ctx: AttendContext, ended: EndedSession): boolean {
  if (ended.returned) return true
  const trouble = ctx.ownTrouble
  return trouble !== null && trouble.from <= ended.leaseEnd && trouble.to >= ended.leaseEnd - TROUBLE_SLACK_MS
}

/** A beat may have failed this long before the lease of a session that failed with it ran out: the longest usual lease. */
const TROUBLE_SLACK_MS = 30_000
