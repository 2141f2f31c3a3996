import { enumerator } from '../enumerate.js'
import type { JobRow } from '../ledger-view.js'
import type { CommitSeen, SettleSeen } from '../observations.js'
import type { Checker, CheckerContext } from './checker.js'

/** How far ahead the next occurrence is looked for, the slow way. */
const HORIZON_MS = 90_000

/**
 * L3: wakeAt is never late. After every act it is at most the earliest of the next occurrence, a run that could start
 * now, a retry that comes due, and the end of a pause.
 */
export function checkWakes({ truth, broken }: CheckerContext): Checker {
  let latest = 0

  const look = (job: string, row: JobRow, seen: (CommitSeen | SettleSeen) & { readonly at: number }): void => {
    const { header } = row
    const definition = truth.definition(row)
    if (definition === null || header.retired) return
    // A clock that was set back under a decision leaves `now` in its future.
    const now = seen.kind === 'commit' ? Math.max(seen.storeNow, seen.read) : seen.storeNow
    const wanted: [string, number][] = []
    if (header.pause?.until != null) wanted.push(['the end of its pause', header.pause.until])
    if (header.pause === null && definition.schedule && !truth.world.plan.families.has('zones')) {
      const moments = enumerator(definition.schedule, header.anchor, truth.zones(seen.process))
      const next = moments.next(header.cursor, now + HORIZON_MS)
      if (next !== null) wanted.push(['its next occurrence', next])
    }
    let held = 0
    let waiting: [key: string, readyAt: number] | null = null
    for (const run of truth.ledger.live(job)) {
      if (run.place) held += 1
      if (run.state !== 'queued') continue
      if (run.place) wanted.push([`the repeat of ${run.key}`, Math.max(run.readyAt, now)])
      else if (header.pause === null || run.lane === 'manual') {
        if (waiting === null || run.readyAt < waiting[1]) waiting = [run.key, run.readyAt]
      }
    }
    if (waiting !== null && held < definition.concurrency) {
      wanted.push([`the waiting ${waiting[0]}`, Math.max(waiting[1], now)])
    }
    // What was due before the clock was set back is due when the clock has come there again.
    latest = Math.max(latest, now)
    if (header.wakeAt !== null && header.wakeAt <= latest) return
    for (const [what, instant] of wanted) {
      // What is overdue is due now.
      if (header.wakeAt !== null && header.wakeAt <= Math.max(instant, now)) continue
      broken('L3', `${job} wakes at ${header.wakeAt}; ${what} is due at ${instant}, after a ${seen.kind} at ${now}`)
    }
  }

  return {
    see(seen) {
      latest = Math.max(latest, truth.storeNow)
      if (seen.kind !== 'commit' && seen.kind !== 'settle') return
      for (const { job, after } of seen.jobs) if (after) look(job, after, seen)
    },
  }
}
