import type { Draft } from './draft.js'
import type { Reason } from './states.js'
import type { Run, Stop } from './types.js'

/** Asks a run to stop: its holder where somebody works on it, who learns it from the next beat; else it ends at once. */
export function askToStop(draft: Draft, run: Run, stop: Stop): void {
  const asked = { ...run, stop }
  if (run.state === 'running') draft.step(run, 'ask-to-stop', asked)
  else cancelQueued(draft, asked, stopReason(stop.kind))
}

/** A run that was asked to stop and came back to the queue (its holder settled first) is not started again. */
export function cancelStopped(draft: Draft): void {
  for (const run of draft.runs()) {
    if (run.state === 'queued' && run.stop !== null) cancelQueued(draft, run, stopReason(run.stop.kind))
  }
}

/** What a retired job still has in its queue, as much of it as was loaded; the rest follows at the next attendance. */
export function cancelRetired(draft: Draft): void {
  for (const run of draft.runs()) if (run.state === 'queued') cancelQueued(draft, run, 'retired')
}

/** The reason of a run that ended because it was asked to. */
export function stopReason(kind: Stop['kind']): Reason<'cancelled'> {
  return kind === 'replace' ? 'replaced' : 'cancelled'
}

function cancelQueued(draft: Draft, run: Run, reason: Reason<'cancelled'>): void {
  draft.step(run, 'cancel', { ...run, state: 'cancelled', reason, place: false, endedAt: draft.now })
}
