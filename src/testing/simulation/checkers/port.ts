import type { Change, Settlement } from '../../../ledger/types.js'
import type { CommitSeen, RowChange, SettleSeen } from '../observations.js'
import { DISTURBED } from '../truth.js'
import type { Checker, CheckerContext } from './checker.js'

type Seen<T> = T & { readonly at: number }

/**
 * The store's own contract, on which everything else rests: what is applied was guarded, what is refused had a reason,
 * and what comes twice counts once (S2, S6, S8, S10). `stale` without a reason would starve grants (L3).
 */
export function checkPort({ truth, broken }: CheckerContext): Checker {
  /** The version that the last change of a job gave it: settlements must leave it alone. */
  const versions = new Map<string, string>()
  const applied = new Set<string>()
  /** What a settlement was answered with, by attempt. */
  const answers = new Map<string, string>()

  const commit = (seen: Seen<CommitSeen>): void => {
    const { committed, session, storeNow } = seen
    const about = `a commit of ${seen.process}`
    if (committed.expired) {
      if (seen.rows.length + seen.jobs.length > 0) broken('S8', `${about} is expired and changed something`)
      return
    }
    if (storeNow > seen.read + session.leaseMs / 10) {
      broken('S8', `${about} was taken ${storeNow - seen.read} ms after the instant it is based on`)
    }
    sessionAlive(seen, about)
    const results = new Map(committed.results.map((result) => [result.job, result]))
    for (const change of seen.changes) {
      const result = results.get(change.job)
      const version =
        seen.jobs.find((one) => one.job === change.job)?.before?.version ?? truth.ledger.job(change.job)?.version
      if (version === change.id && result?.outcome !== 'won') {
        broken('S10', `${about} on ${change.job} came again and was answered with ${result?.outcome}`)
      }
      if (result?.outcome === 'won') won(change, seen)
      else untouched(change.job, seen, result?.outcome ?? 'no result')
      if (result?.outcome === 'stale' && !mayBeStale(change)) {
        broken('L3', `${about} on ${change.job} is stale although nobody had decided anything since`)
      }
      if (result?.outcome === 'clash') clashed(change, result.keys)
    }
    const named = new Set(seen.changes.map((change) => change.job))
    for (const { job } of seen.jobs)
      if (!named.has(job)) broken('port', `${about} changed ${job}, which it does not name`)
  }

  /** A session that is marked, or has run out while it held runs, decides nothing any more. */
  const sessionAlive = (seen: Seen<CommitSeen>, about: string): void => {
    const row = truth.ledger.session(seen.session.id)
    const known = truth.sessions.get(seen.session.id)
    if (row === null) broken('S8', `${about} was taken from a session that the store does not know`)
    else if (row.endedAt !== null) broken('S8', `${about} was taken although its session had ended`)
    const held = [...holding(seen.session.id, seen.rows)]
    if (
      known &&
      truth.restoredAt < known.leaseEnd - known.leaseMs &&
      held.length > 0 &&
      seen.storeNow > known.leaseEnd
    ) {
      broken('S8', `${about} was taken ${seen.storeNow - known.leaseEnd} ms after its session had run out`)
    }
  }

  /** Runs that a session held before an act. */
  function* holding(session: string, rows: readonly RowChange[]): Iterable<string> {
    const changed = new Map(rows.map((row) => [`${row.job}/${row.key}`, row.before]))
    for (const { header } of truth.ledger.jobs()) {
      for (const run of truth.ledger.live(header.job)) {
        const name = `${run.job}/${run.key}`
        const before = changed.has(name) ? changed.get(name) : run
        if (before?.state === 'running' && before.session === session) yield name
      }
    }
  }

  const won = (change: Change, seen: Seen<CommitSeen>): void => {
    const { job } = change
    if (applied.has(change.id)) {
      // Recognised: it may have been applied before the store was set back, and then it is applied again.
      if (truth.restoredAt < 0) untouched(job, seen, 'won again')
      return
    }
    applied.add(change.id)
    const before = seen.jobs.find((one) => one.job === job)?.before ?? null
    const version = before?.version ?? null
    if (version !== change.expect.version)
      broken('S2', `a change of ${job} was taken although it had been decided on since`)
    if (before === null && change.expect.version !== null)
      broken('S2', `a change of ${job}, which does not exist, was taken`)
    const rows = new Map(seen.rows.filter((row) => row.job === job).map((row) => [row.key, row]))
    for (const { run, expect } of change.runs) {
      const row = rows.get(run.key)
      const found = row ? row.before : truth.ledger.run(job, run.key)
      if (expect === null ? found !== null : found?.state !== expect.state || found.token !== expect.token) {
        broken(
          expect === null ? 'S1' : 'S6',
          `${job}/${run.key} was written over ${found?.state} ${found?.token ?? ''}`,
        )
      }
      if (!sameFields(truth.ledger.run(job, run.key), run)) {
        broken('S7', `${job}/${run.key} is not what the commit said`)
      }
    }
    for (const key of rows.keys()) {
      if (!change.runs.some(({ run }) => run.key === key))
        broken('S6', `a commit changed ${job}/${key}, which it does not name`)
    }
    headerAsSaid(change, seen)
    versions.set(job, change.id)
  }

  const headerAsSaid = (change: Change, seen: Seen<CommitSeen>): void => {
    const after = truth.ledger.job(change.job)
    const before = seen.jobs.find((one) => one.job === change.job)?.before
    if (before && after && before.tally.settled !== after.tally.settled)
      broken('L3', `a commit on ${change.job} changed its count of settlements`)
    if (after?.version !== change.id) broken('S10', `the version of ${change.job} is not the id of its change`)
    if (!sameFields(after?.header ?? null, change.header, 'wakeAt')) {
      broken('S7', `the header of ${change.job} is not what the commit said`)
    }
    const [was, is] = [before?.header.cursor, after?.header.cursor]
    // A definition that enters while no row was ever made, or of another single date, takes the clock of its zone; what that
    // repeats or loses is seen elsewhere.
    const entered = change.definition?.content.schedule
    const isFree = entered && (before?.header.position === 1 || 'at' in entered)
    if (was && is && (is.instant < was.instant || (is.label < was.label && !isFree))) {
      broken('S7', `the cursor of ${change.job} moved back`)
    }
  }

  const untouched = (job: string, seen: Seen<CommitSeen>, how: string): void => {
    const touched = seen.rows.filter((row) => row.job === job)
    if (touched.length > 0)
      broken('S10', `a commit on ${job} that is ${how} changed ${touched.map((row) => row.key).join()}`)
    if (seen.jobs.some((one) => one.job === job)) broken('S10', `a commit on ${job} that is ${how} changed the job`)
  }

  const mayBeStale = (change: Change): boolean => {
    const row = truth.ledger.job(change.job)
    if (versions.get(change.job) !== change.expect.version || row === null) return true
    // The store was set back since the reading: settlements that were counted then are not there.
    if (row.tally.settled < change.expect.settled) return true
    return change.runs.some(({ run, expect }) => {
      const found = truth.ledger.run(change.job, run.key)
      return expect !== null && (found?.state !== expect.state || found.token !== expect.token)
    })
  }

  const clashed = (change: Change, keys: readonly string[]): void => {
    const wanted = new Set([...change.runs.flatMap(({ run, expect }) => (expect === null ? run.key : []))])
    for (const key of keys) {
      if (wanted.has(key) && truth.ledger.run(change.job, key) === null) {
        broken('port', `${change.job}/${key} is said to exist and does not`)
      }
    }
  }

  const settle = (seen: Seen<SettleSeen>): void => {
    for (const [index, settlement] of seen.settlements.entries()) {
      const row = seen.rows.find((one) => one.job === settlement.job && one.key === settlement.key)
      // Several attempts of one run may be settled in one call: the change belongs to the one that ran.
      const others = seen.settlements.filter((one) => one.key === settlement.key && one.job === settlement.job)
      const isIts = others.length === 1 || row?.before?.attemptId === settlement.attemptId
      settled(settlement, seen.results[index] ?? 'lost', isIts ? (row ?? null) : null)
    }
    for (const { job, key } of seen.rows) {
      if (!seen.settlements.some((one) => one.job === job && one.key === key)) {
        broken('S6', `a settlement changed ${job}/${key}, which it does not name`)
      }
    }
    for (const { job, before, after } of seen.jobs) {
      const count = seen.rows.filter((row) => row.job === job).length
      if (before && after && after.tally.settled !== before.tally.settled + count)
        broken('L3', `${count} settlements of ${job} count from ${before.tally.settled} to ${after.tally.settled}`)
      if (before && after && before.version !== after.version)
        broken('L3', `a settlement changed the version of ${job}`)
      const [was, is] = [before?.header.wakeAt ?? null, after?.header.wakeAt ?? null]
      if (was !== null && (is === null || is > was))
        broken('L3', `a settlement moved wakeAt of ${job} from ${was} to ${is}`)
      if (!sameFields(before?.header ?? null, after?.header ?? null, 'wakeAt'))
        broken('S6', `a settlement changed the header of ${job}`)
    }
  }

  const settled = (settlement: Settlement, result: string, row: RowChange | null): void => {
    const { job, key, token, attemptId } = settlement
    const name = `${job}/${key}`
    if (row?.before) {
      const { before } = row
      if (before.state !== 'running') broken('S6', `${name} was settled although it was ${before.state}`)
      else if (before.token !== token)
        broken('S6', `${name} runs with token ${before.token} and was settled with ${token}`)
      else if (before.attemptId !== attemptId) broken('S6', `${name} was settled by another attempt`)
      answers.set(attemptId, result)
      if (result === 'lost') broken('S10', `${name} was settled, and its holder was told that it was lost`)
      if (!sameFields(row.after, settlement.run, 'stop')) broken('S6', `${name} is not what its settlement said`)
      const ended = before.session !== null && truth.ledger.session(before.session)?.endedAt === null
      if ((result === 'settled') !== ended) broken('S6', `${name} was settled as '${result}'`)
      return
    }
    const first = answers.get(attemptId)
    if (first !== undefined && first !== result) {
      broken('S10', `${name} was settled as '${first}', and when it came again as '${result}'`)
    }
    const current = truth.ledger.run(job, key)
    if (current?.state === 'running' && current.token === token && current.attemptId === attemptId) {
      broken('S6', `${name} runs with token ${token}; its settlement was refused as '${result}'`)
    }
  }

  return {
    see(seen) {
      if (seen.kind === 'commit') commit(seen)
      if (seen.kind === 'settle') settle(seen)
      if (seen.kind === 'world' && DISTURBED.has(seen.what)) {
        versions.clear()
        answers.clear()
        for (const row of truth.ledger.jobs()) versions.set(row.header.job, row.version)
      }
    },
  }
}

/** Whether two rows say the same, one field left aside. */
function sameFields<T extends object>(a: T | null, b: T | null, aside?: keyof T): boolean {
  if (a === b) return true
  if (a === null || b === null) return false
  const names = new Set([...Object.keys(a), ...Object.keys(b)]) as Set<keyof T & string>
  for (const name of names) {
    if (name !== aside && a[name] !== b[name] && JSON.stringify(a[name]) !== JSON.stringify(b[name])) return false
  }
  return true
}
