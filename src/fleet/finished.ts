import { isLive } from '../ledger/index.js'
import type { Run } from '../ledger/types.js'
import type { Clock } from './clock.js'
import type { RunRef } from './commands.js'
import type { Events } from './events.js'
import { pause } from './pause.js'

/**
 * Resolves with a run when it has ended: at once where this node ends it, and otherwise it is asked for at longer intervals.
 * After `withinMs` it gives the run as it stands then.
 */
export async function untilEnded(
  ref: RunRef,
  look: () => Promise<Run>,
  events: Events,
  clock: Clock,
  withinMs = Number.POSITIVE_INFINITY,
): Promise<Run> {
  const until = clock.monotonic() + withinMs
  for (let waitMs = 20; ; waitMs = Math.min(1_000, waitMs * 2)) {
    const found = await look()
    const leftMs = until - clock.monotonic()
    if (!isLive(found.state) || leftMs <= 0) return found
    const stop = new AbortController()
    const off = events.on('run-settled', ({ job, key }) => {
      if (job === ref.job && key === ref.key) stop.abort()
    })
    await pause(clock, Math.min(waitMs, leftMs), stop.signal)
    off()
  }
}
