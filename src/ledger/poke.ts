import type { Context } from './context.js'
import { Draft } from './draft.js'
import { decideDue } from './due.js'
import { cancelStopped } from './stop.js'
import type { Aggregate, Change, Run } from './types.js'

/**
 * A door says that it is time: what waits for that may start now. It says no more, so that a second poke, a replayed one or one
 * that comes before anything is due changes nothing. Who attends next grants what was let go.
 */
export function poke(job: Aggregate, ctx: Context): Change | null {
  const draft = new Draft(job, ctx)
  cancelStopped(draft)
  decideDue(draft)
  letGo(draft)
  return draft.close()
}

/** Whoever awaits a poke waits no more. */
export function letGo(draft: Draft): void {
  for (const run of draft.runs()) if (awaitsPoke(run)) draft.step(run, 'poke', { ...run, readyAt: 0 })
}

/** Whether a run has been waiting for a poke since it was queued; a retry that waits holds a place. */
export function awaitsPoke(run: Run): boolean {
  return run.state === 'queued' && !run.place && run.readyAt > 0
}
