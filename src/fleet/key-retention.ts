import { formatDuration } from '../duration.js'
import type { Definition, Retry } from '../ledger/types.js'
import type { NodeSummary } from '../store/port.js'
import { optionInvalid } from './option-values.js'
import type { Parts } from './parts.js'
import { pause } from './pause.js'
import { isFirst } from './sweeper.js'

/** The age limit of a catch-up that names none is this at most. */
const LONGEST_DEFAULT_WITHIN_MS = 7 * 86_400_000

/**
 * A key that is gone lets its effect be made again. So it has to outlive the oldest run that may still begin an attempt:
 * one that is caught up with, with all its retries.
 *
 * @throws FleetcronError `OPTION_INVALID`
 */
export function checkKeysKept(what: string, { catchUp, retry }: Definition, keptMs: number | null): void {
  if (keptMs === null) return
  const within = catchUp.policy === 'skip' ? 0 : (catchUp.withinMs ?? LONGEST_DEFAULT_WITHIN_MS)
  const retries = delaysOf(retry)
  if (within + retries <= keptMs) return
  const [option, reach] = within > keptMs ? ['catchUp.within', within] : ['retry', within + retries]
  throw optionInvalid(
    `${what}: ${option}`,
    `a run may begin up to ${formatDuration(reach)} after it was due, and effects: retention forgets keys after ` +
      `${formatDuration(keptMs)}: it would make its effects again. Keep keys longer, or let the job reach back less.`,
  )
}

function delaysOf({ limit, delayMs, factor, maxDelayMs }: Retry): number {
  let sum = 0
  for (let tries = 0; tries < limit; tries++) sum += Math.min(maxDelayMs, delayMs * factor ** tries)
  return Math.ceil(sum)
}

/** From one walk through the table to the next. The first comes within an hour of the start. */
const EVERY_MS = 86_400_000
const HOUR_MS = 3_600_000
const FIRST_MS = HOUR_MS / 12

/** Keys looked at by one call, and the rest after one that removed some; the others go on sooner. */
const PAGE = 200
const REST_MS = 1_000
const SHORT_REST_MS = 50

/**
 * Lets the business database forget keys and fences that are older than its effects say: once a day, by one of the live nodes of the
 * service, page by page. Two nodes that both take themselves for the one do no harm.
 */
export class KeyRetention {
  private readonly isOff: boolean
  private dueAt: number
  private walking = false

  constructor(private readonly parts: Parts) {
    const { clock, effects } = parts.facts
    this.isOff = (effects?.keptMs ?? null) === null
    // Chance is asked for where it is needed: nodes without this replay as they did before there was any.
    this.dueAt = this.isOff ? 0 : clock.monotonic() + FIRST_MS + clock.random() * (HOUR_MS - FIRST_MS)
  }

  /** What a beat said of the nodes; a walk begins here when one is due. */
  saw(nodes: readonly NodeSummary[], now: number): void {
    const { id, clock, attends, service } = this.parts.facts
    if (this.isOff || this.walking || !attends || clock.monotonic() < this.dueAt) return
    this.dueAt = clock.monotonic() + HOUR_MS
    const likeMine = nodes.filter((node) => node.attends && node.services.includes(service))
    if (isFirst('keys', id, likeMine, now)) void this.walk()
  }

  private async walk(): Promise<void> {
    const { facts, log, stopping } = this.parts
    const { clock, effects } = facts
    let removed = 0
    let after: string | null = null
    this.walking = true
    try {
      while (effects !== null && !stopping.aborted) {
        const page = await effects.prune({ after, limit: PAGE, fleet: facts.fleet })
        removed += page.removed
        after = page.next
        if (after === null) {
          this.dueAt = clock.monotonic() + EVERY_MS
          break
        }
        await pause(clock, page.removed > 0 ? REST_MS : SHORT_REST_MS, stopping)
      }
    } catch (error) {
      // Nothing depends on it: another walk begins in an hour.
      log.warn('old keys and fences of effects could not be removed', { error: String(error) })
    } finally {
      this.walking = false
    }
    if (removed > 0) log.info('removed old keys and fences of effects', { rows: removed })
  }
}
