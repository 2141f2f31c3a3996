import type { Run } from '../../../ledger/types.js'
import type { Checker, CheckerContext } from './checker.js'

/** Sessions that faults have ended, their recoveries and their backlog are over by then. */
const SETTLING_MS = 15_000

/** An occurrence is decided within the grace of the nodes that look after the jobs of others, and a beat of four seconds. */
const LATE_MS = 4_500

/**
 * L1, L2, L4, L5, S9 while nothing is in the way: after the faults, or in a seed without any. A killed node's runs are
 * taken over within a lease and a second; what is due is decided at once; who is asked to stop hears of it at the next
 * beat; and no session ends without a reason.
 */
export function checkCalm({ truth, broken }: CheckerContext): Checker {
  const quiet = truth.world.plan.families.size === 0
  const calmSince = (): number => (quiet ? truth.world.plan.start : (truth.calmAt ?? Number.POSITIVE_INFINITY))
  /** What has to happen, by when, and what is broken if it does not. */
  const due = new Map<string, { by(): number; readonly rule: string; readonly what: string }>()

  /** Attempts whose handlers were called, and those whose handlers have been told to end, or have ended. */
  const called = new Set<string>()
  const over = new Set<string>()

  const died = (process: string): void => {
    if (truth.now < calmSince() || truth.world.living.size === 0) return
    for (const { header } of truth.ledger.jobs()) {
      for (const run of truth.ledger.live(header.job)) {
        const session = truth.sessions.get(run.session ?? '')
        if (run.state !== 'running' || session?.process !== process || !someoneCarries(header.job)) continue
        const name = `${run.job}/${run.key}#${run.token}`
        const diedAt = truth.now
        // A request that was on its way may still renew the session of a node that is dead.
        // Where a node that does not carry the job notices the end first, the others hear of it at their beats.
        const beatMs = everyoneCarries(header.job) ? 0 : session.leaseMs
        // A decision that somebody else's overtook is made again: a look and a commit, there and back, over a slow way.
        const againMs = 5 * Math.max(...[...truth.world.living.values()].map(({ plan }) => plan.latencyMs[1]))
        const latestMs = session.leaseMs + beatMs + againMs + 1_000
        const by = () => Math.max(diedAt, session.renewedAt, setBackUntil(run.session)) + latestMs
        due.set(`taken ${name}`, { by, rule: 'L1', what: `${name}: its node was killed, and nobody has taken it over` })
      }
    }
  }

  /** A lease that was given before the store's clock was set back ends by that clock: so much later by true time. */
  const setBackUntil = (session: string | null): number => {
    const row = truth.ledger.session(session ?? '')
    const isOlder = truth.steppedBackAt > (truth.sessions.get(session ?? '')?.renewedAt ?? 0)
    return row !== null && isOlder ? row.leaseEnd - truth.world.storeOffsetMs : 0
  }

  /** A node that is able to take a job's runs. One whose first request was lost in the outage still waits for its answer. */
  const someoneCarries = (job: string): boolean => {
    const { living } = truth.world
    const begun = truth.begun()
    return [...living.values()].some((one) => {
      return !one.stopping && one.process.state === 'running' && begun.has(one.process.name) && carries(one, job)
    })
  }

  const everyoneCarries = (job: string): boolean => [...truth.world.living.values()].every((one) => carries(one, job))

  const carries = ({ release }: { readonly release: number }, job: string): boolean => {
    return truth.world.plan.jobs.some(({ id, releases }) => job.endsWith(`:${id}`) && releases[release])
  }

  const changed = (before: Run | null, after: Run | null): void => {
    if (before === null) return
    const name = `${before.job}/${before.key}#${before.token}`
    if (after?.token !== before.token || after?.state !== 'running') {
      due.delete(`taken ${name}`)
      due.delete(`stopped ${name}`)
    }
    const asked = after?.stop && before.stop === null && after.state === 'running' && after.token === before.token
    if (!asked || truth.now < calmSince()) return
    const session = truth.sessions.get(after.session ?? '')
    const process = truth.process(session?.process ?? '')
    if (!session || process?.state !== 'running' || !called.has(name) || over.has(name)) return
    const latest = truth.now + session.leaseMs / 3 + 1_500
    const by = () => latest
    due.set(`stopped ${name}`, {
      by,
      rule: 'L4',
      what: `${name} was asked to stop, and its handler has not heard of it`,
    })
  }

  const late = (rows: readonly { readonly before: Run | null; readonly after: Run | null }[]): void => {
    const { families } = truth.world.plan
    // Other terms, other zone data and cursors that were set back make occurrences due that have passed.
    if (families.has('zones') || families.has('deploys') || families.has('restore')) return
    const quietAt = calmSince() + SETTLING_MS
    for (const { before, after } of rows) {
      if (before !== null || after?.cause !== 'schedule' || after.reason === 'paused' || !someoneCarries(after.job))
        continue
      const since = after.createdAt - after.scheduledAt
      if (truth.now - since < quietAt) continue
      if (since > LATE_MS) broken('L2', `${after.job}/${after.key} was decided ${since} ms after it was due`)
    }
  }

  const lost = (process: string, why: string): void => {
    const one = truth.process(process)
    if (!one || why === 'refused') return
    const { leaseMs, families } = truth.world.plan
    const since = truth.now - leaseMs
    const asleep = Math.max(one.resumedAt, one.suspendedAt) >= since
    const disturbed = Math.max(truth.steppedAt, truth.restoredAt) >= since
    if (asleep || disturbed || one.failedAt >= since || families.has('wall')) return
    broken('L5', `${process} lost its session (${why}) although nothing was in its way`)
  }

  return {
    see(seen) {
      for (const [name, { by, rule, what }] of due) {
        if (seen.at <= by()) continue
        due.delete(name)
        broken(rule, what)
      }
      if (seen.kind === 'process' && seen.what === 'killed') died(seen.process)
      if (seen.kind === 'process' && seen.what !== 'started') {
        for (const name of due.keys()) if (name.startsWith('stopped')) due.delete(name)
      }
      if (seen.kind === 'commit' || seen.kind === 'settle')
        for (const { before, after } of seen.rows) changed(before, after)
      if (seen.kind === 'commit') late(seen.rows)
      if (seen.kind === 'handler-started') called.add(`${seen.job}/${seen.key}#${seen.token}`)
      if (seen.kind === 'handler-aborted' || seen.kind === 'handler-ended') {
        over.add(`${seen.job}/${seen.key}#${seen.token}`)
        due.delete(`stopped ${seen.job}/${seen.key}#${seen.token}`)
      }
      if (seen.kind === 'parked') broken('L3', `${seen.process} leaves ${seen.job} alone: ${seen.error}`)
      if (seen.kind === 'session-lost') lost(seen.process, seen.why)
    },
  }
}
