import { type Duration, durationMs } from './option-values.js'
import type { Parts } from './parts.js'
import { pause } from './pause.js'

/** How long outcomes may take to reach the store before the node leaves them to its session's end. */
const SETTLE_MS = 10_000

/** What a stop was asked to wait. Whoever stops a fleet wants it stopped: what is wrong with the grace is said afterwards. */
export function graceOf(grace: Duration | undefined): { readonly graceMs?: number; readonly error?: unknown } {
  try {
    return grace === undefined ? {} : { graceMs: durationMs('stop: grace', grace, 0) }
  } catch (error) {
    return { error }
  }
}

/**
 * Ends a node: nothing new is taken (the stopping signal has fired) → handlers end, the session is kept → after the grace
 * their signals fire → what ended is settled, the rest handed back → the session is marked as ended, so that others take
 * over at once → the store is closed last.
 */
export async function shutDown(
  parts: Parts,
  graceMs: number,
  unsubscribe: (() => Promise<void>) | null,
  hasStore: boolean,
): Promise<void> {
  const { facts, attempts, settling, looker, beats, sessions, link, log, outage } = parts
  const grace = facts.clock.after(graceMs, () => {
    attempts.fireAll('stop')
    outage.stop()
  })
  void unsubscribe?.().catch(() => undefined)
  if (attempts.list().length > 0) {
    log.info('stopping: waiting for handlers', { runs: attempts.list().length, graceMs })
    beats.soon()
  }
  await looker.whenStopped()
  await attempts.whenIdle()
  await outage.whenIdle()
  grace.cancel()
  const enough = new AbortController()
  const told = Promise.all([settling.whenIdle(), outage.record()])
  await Promise.race([told, pause(facts.clock, SETTLE_MS, enough.signal)])
  enough.abort()
  if (settling.size > 0) {
    log.error('stopping with outcomes that the store has not taken; their runs are repeated elsewhere', {
      runs: settling.size,
    })
  }
  beats.stop()
  sessions.stopWatching()
  try {
    if (hasStore) await beats.end()
  } catch (error) {
    log.warn('the end of the session could not be told; it runs out by itself', { error: String(error) })
  }
  settling.stop()
  try {
    if (hasStore) await link.call('close', SETTLE_MS, (store) => store.close())
  } catch (error) {
    log.warn('the store could not be closed', { error: String(error) })
  }
  log.info('stopped')
}
