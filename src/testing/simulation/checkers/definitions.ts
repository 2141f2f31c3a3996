import type { CommitSeen } from '../observations.js'
import type { Checker, CheckerContext } from './checker.js'

/** A definition that nobody alive has carried for so long gives way (S13). */
const ABANDONED_MS = 60_000

/** What clocks of nodes and a beat on its way may make of that. */
const SLACK_MS = 1_000

/** By then every node has told what it carries, and looked. */
const SETTLED_MS = 85_000

/**
 * S13: which definition holds. One that the store sees for the first time holds at once; an earlier one returns only
 * when no live node has carried the current one for a minute, and then it is one that a live node carries.
 */
export function checkDefinitions({ truth, broken }: CheckerContext): Checker {
  /** Hashes that the store has known of a job. */
  const known = new Map<string, Set<string>>()
  /** What a session carries, by job; and when the store last heard of it, true time. */
  const carried = new Map<
    string,
    { readonly manifest: Readonly<Record<string, string>>; seenAt: number; ended: boolean }
  >()

  const commit = (seen: CommitSeen & { readonly at: number }): void => {
    for (const { job, before, after } of seen.jobs) {
      if (after === null) continue
      const hash = after.header.definition
      const all = known.get(job) ?? new Set()
      known.set(job, all)
      // A job that was out of service is brought back by the next node that starts and carries it.
      const wasInService = before !== null && !before.header.retired
      if (wasInService && before.header.definition !== hash) changed(job, before.header.definition, hash, all, seen)
      if (before === null && all.size > 0 && truth.restoredAt < 0) broken('S13', `${job} was registered twice`)
      all.add(hash)
    }
  }

  const changed = (
    job: string,
    from: string,
    to: string,
    all: ReadonlySet<string>,
    seen: CommitSeen & { readonly at: number },
  ): void => {
    const mine = carried.get(seen.session.id)
    if (mine && mine.manifest[job] !== to)
      broken('S13', `${seen.process} entered ${to} of ${job}, which it does not carry`)
    if (!all.has(to)) return
    // A store that was set back, or whose clock was set, cannot know who carried what.
    if (truth.now - Math.max(truth.steppedAt, truth.restoredAt) < 200_000) return
    for (const [session, one] of carried) {
      if (one.manifest[job] !== from || one.seenAt <= seen.at - ABANDONED_MS + SLACK_MS) continue
      broken(
        'S13',
        `${to} of ${job} returned ${seen.at - one.seenAt} ms after session ${session} was seen with ${from}`,
      )
      return
    }
  }

  /** When all is quiet, the definition in force is one that somebody carries. */
  const settled = (): void => {
    const { living, plan } = truth.world
    if (plan.calmMs < SETTLED_MS || truth.calmAt === null) return
    const alive = new Set([...living.values()].map((one) => one.process.name))
    for (const { header } of truth.ledger.jobs()) {
      const hashes = new Set<string>()
      for (const [session, one] of carried) {
        if (!one.ended && alive.has(truth.sessions.get(session)?.process ?? ''))
          hashes.add(one.manifest[header.job] ?? '')
      }
      hashes.delete('')
      if (hashes.size > 0 && !hashes.has(header.definition) && !header.retired) {
        broken('S13', `${header.job} follows ${header.definition}, which nobody alive carries`)
      }
    }
  }

  return {
    see(seen) {
      if (seen.kind === 'attend' || seen.kind === 'beat') {
        for (const row of truth.ledger.sessions()) {
          const one = carried.get(row.session)
          if (one) one.ended = row.endedAt !== null
          else carried.set(row.session, { manifest: row.hello.manifest, seenAt: seen.at, ended: row.endedAt !== null })
        }
        const one = carried.get(seen.session.id)
        if (one && seen.reply.alive) one.seenAt = seen.at
      }
      if (seen.kind === 'commit') commit(seen)
      if (seen.kind === 'world' && seen.what === 'wiped') {
        known.clear()
        carried.clear()
      }
    },
    end: settled,
  }
}
