import type { NodeSummary } from '../store/port.js'
import { isUnavailable } from './link.js'
import type { Parts } from './parts.js'
import { pause } from './pause.js'
import { isFirst } from './sweeper.js'

/** From one sweep to the next. The first comes within this time of the start, and not before a twelfth of it. */
const EVERY_MS = 3_600_000
const FIRST_MS = EVERY_MS / 12

/** Rows of one call, and the rest between two calls: a backlog of years goes by itself, and nobody waits for it. */
const BATCH = 500
const REST_MS = 1_000

/** So long one call may take. */
const DEADLINE_MS = 30_000

/**
 * Lets the store remove what is older than the fleet keeps: once an hour, by one of the live nodes, in small batches, and
 * never while the store is away. Two nodes that both take themselves for the one do no harm.
 */
export class Retention {
  private dueAt: number
  private sweeping = false

  constructor(private readonly parts: Parts) {
    const { clock } = parts.facts
    this.dueAt = clock.monotonic() + FIRST_MS + clock.random() * (EVERY_MS - FIRST_MS)
  }

  /** What a beat said of the nodes; a sweep begins here when one is due. */
  saw(nodes: readonly NodeSummary[], now: number): void {
    const { clock } = this.parts.facts
    if (this.sweeping || clock.monotonic() < this.dueAt) return
    this.dueAt = clock.monotonic() + EVERY_MS
    if (isFirst('prune', this.parts.facts.id, nodes, now)) void this.sweep(now)
  }

  private async sweep(now: number): Promise<void> {
    const { facts, link, log, events, stopping } = this.parts
    const { retentionMs } = facts
    // Without an end to what is kept, sessions and definitions that nobody needs go all the same.
    const before = retentionMs === null ? 0 : now - retentionMs
    let rows = 0
    this.sweeping = true
    try {
      while (!stopping.aborted && link.awaySince() === null) {
        const { reply } = await link.call('prune', DEADLINE_MS, (store) => store.prune({ before, limit: BATCH }))
        rows += reply
        if (reply < BATCH) break
        await pause(facts.clock, REST_MS, stopping)
      }
    } catch (error) {
      // Nothing depends on it: the next sweep goes on where this one ended.
      if (!isUnavailable(error)) log.error('old rows could not be removed', { error: String(error) })
    } finally {
      this.sweeping = false
    }
    if (rows === 0) return
    events.emit('pruned', { rows, before })
    log.info('removed old rows', { rows, before: new Date(before).toISOString() })
  }
}
