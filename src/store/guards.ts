import type { Change, Expected, JobHeader, JobTally, Settlement } from '../ledger/types.js'
import type { CommitResult } from './port.js'

/**
 * What a store has to compare before it writes, said once for every store that can read its rows while it holds them.
 * Nothing here reads or writes anything.
 */

/** The rows that a change is held against, as they stand under the store's write lock. */
export interface Found {
  /** Of the job's row; null where there is none. */
  readonly version: string | null
  /** The settlements it counts; 0 where there is none. */
  readonly settled: number
  /** State and token of a run of this job, null where there is none. */
  run(key: string): Expected
  event(id: string): boolean
  /** Whether the job knows a definition with this hash. */
  definition(hash: string): boolean
  /** Key of the run of any job whose last attempt has this id, as `job` and `key`; null where there is none. */
  attempt(id: string): { readonly job: string; readonly key: string } | null
}

/** Judges a change against the rows: null where it may be applied, otherwise its result. */
export function judge(change: Change, found: Found): CommitResult | null {
  const { job } = change
  if (found.version === change.id) return { job, outcome: 'won' }
  if (found.version !== change.expect.version) return { job, outcome: 'stale' }
  // Settlements leave the version alone. Fewer of them than were read means that the store was set back in between.
  if (found.settled < change.expect.settled) return { job, outcome: 'stale' }
  const twice = repeated(change)
  if (twice !== null) return { job, outcome: 'refused', why: `The change names ${twice} twice.` }
  const keys = [
    ...change.runs
      .filter(({ run, expect }) => expect === null && found.run(run.key) !== null)
      .map(({ run }) => run.key),
    ...change.events.filter((event) => found.event(event.id)).map((event) => event.id),
  ]
  if (keys.length > 0) return { job, outcome: 'clash', keys }
  if (!change.runs.every(({ run, expect }) => expect === null || meets(expect, found.run(run.key)))) {
    return { job, outcome: 'stale' }
  }
  const why = missing(change, found)
  return why === null ? null : { job, outcome: 'refused', why }
}

function meets(expect: Exclude<Expected, null>, found: Expected): boolean {
  return found !== null && found.state === expect.state && found.token === expect.token
}

/** A key or id that stands twice in one change: the second would overwrite the first, unseen by any guard. */
export function repeated(change: Change): string | null {
  const groups = [
    ['run', change.runs.map(({ run }) => run.key)],
    ['event', change.events.map((event) => event.id)],
    ['attempt', change.runs.flatMap(({ run }) => run.attemptId ?? [])],
  ] as const
  for (const [what, names] of groups) {
    const seen = new Set<string>()
    for (const name of names) {
      if (seen.has(name)) return `the ${what} ${name}`
      seen.add(name)
    }
  }
  return null
}

function missing(change: Change, found: Found): string | null {
  const hash = change.header.definition
  if (change.definition?.hash !== hash && !found.definition(hash)) {
    return `The job ${change.job} would follow the definition ${hash}, which the store does not know.`
  }
  for (const { run } of change.runs) {
    const holder = run.attemptId === null ? null : found.attempt(run.attemptId)
    if (holder && (holder.job !== change.job || holder.key !== run.key)) {
      return `The attempt ${run.attemptId} already belongs to the run ${holder.key} of ${holder.job}.`
    }
  }
  return null
}

export const NO_TALLY: JobTally = { settled: 0, failures: 0, succeededUntil: null, tokenFloor: 0 }

/** When a committed job wakes: at once where a settlement came between the read and the commit. */
export function committedWakeAt(change: Change, tally: JobTally, now: number): number | null {
  return tally.settled === change.expect.settled ? change.header.wakeAt : now
}

export function committedTally(tally: JobTally, change: Change): JobTally {
  return change.failures === 'keep' ? tally : { ...tally, failures: counted(tally.failures, change.failures) }
}

export function settledTally(tally: JobTally, settlement: Settlement): JobTally {
  const { failures, succeededUntil, tokenFloor } = settlement
  return {
    settled: tally.settled + 1,
    failures: counted(tally.failures, failures),
    succeededUntil: latest(tally.succeededUntil, succeededUntil),
    tokenFloor: Math.max(tally.tokenFloor, tokenFloor ?? 0),
  }
}

/** When a job wakes after a settlement: at once where runs wait for the place, and never later than before. */
export function settledWakeAt(before: number | null, waiting: number, wakeAt: number | null, now: number) {
  return earliest(before, waiting > 0 ? now : wakeAt)
}

/** Queued runs without a place, all lanes together. */
export function waitingTotal(header: JobHeader): number {
  return header.waiting.schedule + header.waiting.manual + header.waiting.backlog
}

/** The earlier instant; null stands for never. */
export function earliest(a: number | null, b: number | null): number | null {
  return a === null ? b : b === null ? a : Math.min(a, b)
}

/** Whether `a` is before `b`; null stands for never. */
export function isEarlier(a: number | null, b: number | null): boolean {
  return a !== null && (b === null || a < b)
}

function latest(a: number | null, b: number | null): number | null {
  return a === null ? b : b === null ? a : Math.max(a, b)
}

function counted(failures: number, what: Settlement['failures']): number {
  return what === 'keep' ? failures : what === 'reset' ? 0 : failures + 1
}
