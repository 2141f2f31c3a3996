import type { Run } from '../../../ledger/types.js'
import type { CheckerContext } from './checker.js'
import type { Claim, Decided } from './decisions.js'

const HOUR = 3_600_000

/**
 * Whether each occurrence met the fate that the job's terms give it: overlap for what is fresh, catch-up for the rest,
 * within its age and its number; a pause for what fell into it. Nothing is skipped, missed or joined for another reason.
 */
export function checkFate(context: CheckerContext, d: Decided): void {
  for (const claim of d.claims) {
    const { after } = claim.row
    const fate = after.state === 'skipped' || after.state === 'missed' ? after.reason : after.cause
    FATES[fate ?? '']?.(context, d, claim)
  }
  waiting(context, d)
}

type Fate = (context: CheckerContext, d: Decided, claim: Claim) => void

const FATES: Readonly<Record<string, Fate>> = {
  overlap: ({ broken }, d, claim) => {
    const name = `${d.job}/${claim.row.key}`
    if (claim.keys.length !== 1)
      broken('S7', `${name}: ${claim.keys.length} occurrences at once were skipped for overlap`)
    if (!isFresh(d, claim.keys.at(-1))) broken('S7', `${name}: catch-up was skipped for overlap`)
    if (d.definition.overlap !== 'skip')
      broken('S7', `${name} was skipped for overlap; the policy is ${d.definition.overlap}`)
    if (hasWay(roomOf(d))) broken('S7', `${name} was skipped for overlap although nothing fresh was in its way`)
  },
  'queue-full': ({ broken }, d, claim) => {
    const name = `${d.job}/${claim.row.key}`
    if (!isFresh(d, claim.keys.at(-1))) broken('S7', `${name}: catch-up was skipped as queue-full`)
    const { waiting } = roomOf(d)
    if (waiting < d.definition.queue)
      broken('S7', `${name}: queue-full with ${waiting} of ${d.definition.queue} waiting`)
    if (d.definition.overlap !== 'wait' && d.definition.overlap !== 'merge')
      broken('S7', `${name}: queue-full under ${d.definition.overlap}`)
  },
  'too-old': ({ broken }, d, claim) => {
    const { withinMs } = d.definition.catchUp
    const newest = d.moments.instantOf(claim.keys.at(-1) ?? '') ?? d.now
    // The default is one period of the schedule, at least an hour: no less is sure to be wrong.
    if (d.now - newest < (withinMs ?? HOUR)) {
      broken('S7', `${d.job}/${claim.row.key}: ${claim.keys.at(-1)} is missed as too old after ${d.now - newest} ms`)
    }
  },
  policy: ({ broken }, d, claim) => {
    const name = `${d.job}/${claim.row.key}`
    if (d.definition.catchUp.policy !== 'skip')
      broken('S7', `${name} is missed by policy ${d.definition.catchUp.policy}`)
    const newest = claim.keys.at(-1)
    if (isFresh(d, newest) && isLatest(d, newest)) broken('S7', `${name}: the fresh ${newest} is missed by policy`)
  },
  'too-many': ({ broken }, d, claim) => {
    const { backlog } = roomOf(d)
    const queued = d.claims.filter((one) => one.row.before === null && one.row.after.cause === 'catch-up').length
    if (backlog + queued < d.definition.catchUp.most) {
      broken(
        'S7',
        `${d.job}/${claim.row.key}: too many, with ${backlog + queued} of ${d.definition.catchUp.most} waiting`,
      )
    }
  },
  paused: ({ broken, truth }, d, claim) => {
    const { pause } = d.before.header
    const name = `${d.job}/${claim.row.key}`
    const byItself =
      d.definition.pauseAfter !== null && Math.max(d.failures, d.after.tally.failures) >= d.definition.pauseAfter
    if (pause === null) {
      if (!byItself) broken('S7', `${name} is missed as paused, and there is no pause`)
      return
    }
    const oldest = d.moments.instantOf(claim.keys[0] ?? '')
    const newest = d.moments.instantOf(claim.keys.at(-1) ?? '')
    // Nodes with other zone data do not agree on what was due when the pause began.
    const { families } = truth.world.plan
    // Nor does a clock or a cursor that was set back, or a job that was given another zone while it was paused.
    const skewed = families.has('zones') || families.has('deploys') || truth.steppedBackAt > 0 || truth.restoredAt > 0
    if (oldest !== null && oldest <= pause.since && pause.by !== 'fleetcron' && !skewed) {
      broken('S7', `${name}: ${claim.keys[0]} was due at ${oldest}, before the pause began at ${pause.since}`)
    }
    if (newest !== null && pause.until !== null && newest > pause.until) {
      broken('S7', `${name}: ${claim.keys.at(-1)} was due at ${newest}, after the pause had ended at ${pause.until}`)
    }
  },
  superseded: ({ broken }, d, claim) => {
    if (d.after.header.definition === d.before.header.definition)
      broken('S7', `${d.job}/${claim.row.key} is superseded by nothing`)
  },
  schedule: ({ broken }, d, claim) => {
    const name = `${d.job}/${claim.row.key}`
    const newest = claim.keys.at(-1)
    if (claim.row.before === null && claim.keys.length !== 1)
      broken('S7', `${name} covers ${claim.keys.length} and is no catch-up`)
    if (claim.row.before !== null && d.definition.overlap !== 'merge')
      broken('S7', `${name} absorbed ${newest} under ${d.definition.overlap}`)
    overlapped({ broken }, d, claim, name)
    if (!isFresh(d, newest) || !isLatest(d, newest)) broken('S7', `${name}: ${newest} is queued as fresh at ${d.now}`)
    pausedStarts(broken, d, name, newest)
  },
  'catch-up': ({ broken }, d, claim) => {
    const name = `${d.job}/${claim.row.key}`
    const { policy, withinMs } = d.definition.catchUp
    const newest = claim.keys.at(-1)
    if (policy === 'skip') broken('S7', `${name} is caught up under skip`)
    if (policy === 'each' && claim.keys.length !== 1) broken('S7', `${name} joins ${claim.keys.length} under each`)
    if (claim.row.before === null && claim.keys.length === 1 && isFresh(d, newest) && isLatest(d, newest)) {
      broken('S7', `${name}: the fresh ${newest} alone is caught up`)
    }
    const oldest = d.moments.instantOf(claim.row.after.covers?.from ?? '')
    const age = oldest === null ? 0 : d.now - oldest
    if (withinMs !== null && age > withinMs && claim.row.before === null)
      broken('S7', `${name} is caught up ${age} ms late, within is ${withinMs}`)
    pausedStarts(broken, d, name, newest)
  },
}

function pausedStarts(broken: CheckerContext['broken'], d: Decided, name: string, key: string | undefined): void {
  const { pause } = d.before.header
  const due = d.moments.instantOf(key ?? '')
  if (pause === null || due === null) return
  if (due > pause.since && (pause.until === null || due <= pause.until))
    broken('S7', `${name}: ${key} was queued although the job was paused`)
}

/** What a fresh occurrence may do that finds every place held or awaited by fresh ones. */
function overlapped({ broken }: Pick<CheckerContext, 'broken'>, d: Decided, { row }: Claim, name: string): void {
  const room = roomOf(d)
  const { overlap, queue, concurrency } = d.definition
  if (hasWay(room)) return
  if (overlap === 'skip') broken('S7', `${name} is queued behind ${room.fresh} fresh runs, the policy is skip`)
  if (row.before === null && (overlap === 'wait' || overlap === 'merge') && room.waiting >= queue) {
    broken('S7', `${name} is queued behind ${room.waiting} waiting runs, queue is ${queue}`)
  }
  if (overlap !== 'replace') return
  const changed = new Map(d.rows.map((one) => [one.key, one.after]))
  const left = d.read
    .map((run) => changed.get(run.key) ?? run)
    .filter((run) => {
      return run.cause === 'schedule' && run.stop === null && (run.state === 'queued' || run.state === 'running')
    })
  if (left.length + 1 > concurrency)
    broken('S7', `${name} replaces, and ${left.length} fresh runs go on; there are ${concurrency} places`)
}

/** No more catch-up runs wait than the job allows; what is merged is one run. */
function waiting({ broken, truth }: CheckerContext, d: Decided): void {
  const added = d.claims.filter(({ row }) => row.before === null && isBacklog(row.after)).length
  const made = d.claims.filter(({ row }) => row.before === null && row.after.cause === 'catch-up').length
  if (made > 1 && d.definition.catchUp.policy === 'merge')
    broken('S7', `${d.job}: ${made} catch-up runs were made under merge`)
  if (added === 0) return
  let count = 0
  for (const run of truth.ledger.live(d.job)) if (isBacklog(run) && run.cause === 'catch-up') count += 1
  if (count > d.definition.catchUp.most) {
    broken('S7', `${d.job}: ${count} catch-up runs wait, at most ${d.definition.catchUp.most} may`)
  }
}

function isBacklog(run: Run | null): boolean {
  return run !== null && run.state === 'queued' && !run.place && (run.cause === 'catch-up' || run.cause === 'backfill')
}

/** Attended within its grace. */
function isFresh(d: Decided, key: string | undefined): boolean {
  const due = key === undefined ? null : d.moments.instantOf(key)
  return due !== null && d.now - due <= d.definition.graceMs
}

/** Whether nothing after it is due yet. */
function isLatest(d: Decided, key: string | undefined): boolean {
  const due = key === undefined ? null : d.moments.instantOf(key)
  if (due === null || key === undefined) return false
  return d.moments.keys(key, d.moments.keyAt(d.now)).every((later) => {
    const instant = d.moments.instantOf(later)
    return instant === null || instant === due || instant > d.now
  })
}

interface Room {
  /** Fresh runs that hold a place or wait for one: only they are in the way of a fresh occurrence. */
  readonly fresh: number
  readonly waiting: number
  readonly backlog: number
  readonly concurrency: number
}

/** How the job's places stood as they were read, less what recovery ended in this commit. */
function roomOf(d: Decided): Room {
  const changed = new Map(d.rows.map((row) => [row.key, row.after]))
  const before = d.read.filter((run) => {
    const after = changed.get(run.key)
    // Who asks somebody to stop decides first what is due: the run is in its way as yet.
    if (after?.state === 'cancelled' && run.stop === null) return true
    return !(run.place && after && after.state !== 'queued' && after.state !== 'running')
  })
  const waiting = before.filter((run) => run.state === 'queued' && !run.place && run.cause === 'schedule').length
  return {
    fresh: before.filter((run) => run.place && run.cause === 'schedule').length + waiting,
    waiting,
    backlog: before.filter(isBacklog).length,
    concurrency: d.definition.concurrency,
  }
}

/** Whether a fresh occurrence finds a place, or only what must not be in its way. */
function hasWay({ fresh, concurrency }: Room): boolean {
  return fresh < concurrency
}
