import type { Definition, JobHeader, Run } from '../../../ledger/types.js'
import { type Enumerator, enumerator } from '../enumerate.js'
import type { JobRow } from '../ledger-view.js'
import type { CommitSeen, RowChange } from '../observations.js'
import type { Checker, CheckerContext } from './checker.js'
import { checkFate } from './fates.js'

/** What one commit newly claims of a job's occurrences. */
export interface Claim {
  readonly row: RowChange & { readonly after: Run }
  /** Keys of the occurrences that the row did not cover before. */
  readonly keys: readonly string[]
}

/** One commit on one job, as the checkers of its decisions see it. */
export interface Decided {
  readonly job: string
  readonly before: JobRow
  readonly after: JobRow
  /** The terms that were in force. */
  readonly definition: Definition
  /** The store's clock that the decision is based on. */
  readonly now: number
  readonly moments: Enumerator
  readonly claims: readonly Claim[]
  readonly rows: readonly RowChange[]
  /** Live runs as the committer had read them: settlements may have come in between. */
  readonly read: readonly Run[]
  /** Failures in a row as the committer had read them. */
  readonly failures: number
}

/**
 * S7, S12, S1: every occurrence between the old cursor and the new one is claimed by exactly one row of the same commit,
 * with exact counts, under its own key. What is due is found anew, by trying every moment (enumerate.ts).
 */
export function checkDecisions(context: CheckerContext): Checker {
  const { truth, broken } = context

  const commit = (seen: CommitSeen): void => {
    for (const { job, before, after } of seen.jobs) {
      if (after === null) continue
      if (before === null) {
        registered(job, after.header, seen)
        continue
      }
      const definition = truth.definition(before)
      const rows = seen.rows.filter((row) => row.job === job)
      changed = new Map(rows.map((row) => [row.key, row.before]))
      if (definition?.schedule == null) {
        for (const { key, before: was, after: is } of rows) {
          if (was === null && is?.cause !== 'manual')
            broken('S7', `${job}/${key} was made although there is no schedule`)
        }
        continue
      }
      const moments = enumerator(definition.schedule, before.header.anchor, truth.zones(seen.process))
      const claims = rows.flatMap((row) => claimOf(row, moments, before.header))
      const { settled } = seen.changes.find((change) => change.job === job)?.expect ?? before.tally
      const view = views.get(`${job}|${before.version}|${settled}`)
      const { read, failures } = view ?? { read: [], failures: before.tally.failures }
      decided({ job, before, after, definition, now: seen.read, moments, claims, rows, read, failures })
      if (after.header.definition !== before.header.definition) redefined(job, moments, before, after, claims, seen)
    }
  }

  /** Terms that change with their zone must not lose what the new clock already shows as passed. */
  const redefined = (
    job: string,
    old: Enumerator,
    before: JobRow,
    after: JobRow,
    claims: readonly Claim[],
    seen: CommitSeen,
  ): void => {
    const schedule = truth.definition(after)?.schedule
    if (!schedule || old.kind !== 'labels') return
    const moments = enumerator(schedule, after.header.anchor, truth.zones(seen.process))
    if (moments.kind !== 'labels') return
    const from = [before.header.cursor.label, old.keyAt(seen.read)].sort().at(-1) ?? ''
    accounted(job, moments, from, after.header.cursor.label, claims)
  }

  const registered = (job: string, header: JobHeader, seen: CommitSeen): void => {
    // A clock that was set back between the look and the commit makes the look the later of the two.
    if (header.cursor.instant > Math.max(seen.storeNow, seen.read) || header.cursor.instant < seen.read - 1) {
      broken('S7', `${job} was registered with the cursor ${header.cursor.instant} at ${seen.read}`)
    }
    if (seen.rows.some((row) => row.job === job)) broken('S7', `registering ${job} made runs`)
  }

  const claimOf = (row: RowChange, moments: Enumerator, header: JobHeader): Claim[] => {
    const { before, after } = row
    if (after === null || after.covers === null) return []
    if (after.cause !== 'schedule' && after.cause !== 'catch-up') return []
    const by = after.covers.count - (before?.covers?.count ?? 0)
    if (before !== null && by === 0 && before.covers?.to === after.covers.to) return []
    const name = `${row.job}/${row.key}`
    const from = before?.covers
      ? follows(name, before.covers.to, moments, header)
      : justBefore(after.covers.from, moments)
    const keys = within(moments, from, after.covers.to).filter((key) => !isAnothers(key, row))
    if (before === null && after.covers.from !== after.key) broken('S1', `${name} covers from ${after.covers.from}`)
    const groups = grouped(moments, keys)
    if (groups.length !== by) {
      broken('S7', `${name} counts ${by} from ${from} to ${after.covers.to}; there are ${groups.length}`)
    }
    return [{ row: { ...row, after }, keys: groups }]
  }

  /**
   * Where nodes have other zone data a label of one may stand for later ones at another: a run then goes on behind labels
   * that were decided otherwise in the same commit.
   */
  const isAnothers = (key: string, row: RowChange): boolean => {
    if (row.before === null || !truth.world.plan.families.has('zones')) return false
    return [...changed].some(([other, before]) => other === key && before === null)
  }

  /** What extends a row begins where the cursor stands, and nothing else was decided since the row's last occurrence. */
  const follows = (name: string, to: string, moments: Enumerator, header: JobHeader): string => {
    const cursor = position(moments, header)
    if (!sameKind(to, cursor) || moments.upTo(cursor, to)) return to
    const due = moments.instantOf(to)
    const between = within(moments, to, cursor).find((key) => ![due, null].includes(moments.instantOf(key)))
    const skewed = truth.world.plan.families.has('zones')
    if (between !== undefined && !skewed) broken('S1', `${name} goes on after ${to} over ${between}, which is decided`)
    return cursor
  }

  const decided = (d: Decided): void => {
    const { job, moments, before, after, claims } = d
    for (const { row, keys } of claims) {
      const name = `${job}/${row.key}`
      for (const key of [row.after.covers?.from ?? '', row.after.covers?.to ?? '']) {
        if (row.before === null && !moments.owns(key))
          broken('S12', `${name}: ${key} is no occurrence of this schedule`)
      }
      const due = moments.instantOf(row.after.covers?.to ?? '')
      if (due === null || due > d.now) broken('S7', `${name} was decided at ${d.now}, due at ${due}`)
      if (due !== null && row.after.scheduledAt !== due)
        broken('S7', `${name} is scheduled at ${row.after.scheduledAt}, due at ${due}`)
      for (const key of keys) {
        if (moments.upTo(key, position(moments, before.header)))
          broken('S7', `${name} claims ${key}, which had been decided`)
      }
    }
    const seen = new Map<string, string>()
    for (const { row, keys } of claims) {
      for (const key of keys) {
        const other = seen.get(key)
        if (other !== undefined) broken('S1', `${key} of ${job} is claimed by ${other} and by ${row.key}`)
        seen.set(key, row.key)
        // A store whose cursors alone were set back knows by its keys, not by what its rows cover.
        const earlier = rewound ? null : coveredBefore(job, key, row.key, moments, false)
        if (earlier !== null) broken('S1', `${key} of ${job} is claimed by ${row.key} and was covered by ${earlier}`)
      }
    }
    const from = position(moments, before.header)
    const passed = position(moments, after.header)
    // Under other terms the cursor goes on by another clock: the old one accounts for what it shows.
    const isRedefined = after.header.definition !== before.header.definition
    accounted(job, moments, from, isRedefined ? moments.keyAt(d.now) : passed, claims)
    checkFate(context, d)
  }

  /** Every occurrence that the cursor passes is claimed now, or is in the ledger already. */
  const accounted = (job: string, moments: Enumerator, from: string, to: string, claims: readonly Claim[]): void => {
    // Nothing is due of a job that is out of service.
    if (moments.upTo(to, from) || retired.has(job)) return
    const claimed = new Set(claims.flatMap((claim) => claim.keys))
    const instants = new Set([...claimed].map((key) => moments.instantOf(key)))
    for (const key of moments.keys(from, to)) {
      const instant = moments.instantOf(key)
      if (instant === null || claimed.has(key) || instants.has(instant)) continue
      if (coveredBefore(job, key, null, moments, true) === null) {
        broken('S7', `${job}: the cursor passed ${key} (from ${from} to ${to}) and no row counts it`)
        return
      }
    }
  }

  /** The row, other than one, that covered a key before this commit. */
  const coveredBefore = (
    job: string,
    key: string,
    except: string | null,
    moments: Enumerator,
    /** Whether a label counts as covered by another one that falls on its instant (a gap). */
    byInstant: boolean,
  ): string | null => {
    for (const now of truth.ledger.runs(job)) {
      const run = changed.has(now.key) ? changed.get(now.key) : now
      if (run == null || run.key === except || run.covers === null) continue
      if (run.cause === 'backfill' || run.cause === 'manual' || !sameKind(run.covers.from, key)) continue
      if (moments.upTo(run.covers.from, key) && moments.upTo(key, run.covers.to)) return run.key
      if (byInstant && moments.instantOf(run.covers.to) === moments.instantOf(key)) return run.key
    }
    return null
  }

  let rewound = false
  /** Rows that this commit writes, as they were before. */
  let changed: ReadonlyMap<string, Run | null> = new Map()
  let retired: ReadonlySet<string> = new Set()

  /** Live runs by what identifies a reading: the job's version and its count of settlements. */
  const views = new Map<string, Pick<Decided, 'read' | 'failures'>>()
  const remember = (job: string, row: JobRow | null) => {
    if (row === null) return
    const { failures, settled } = row.tally
    views.set(`${job}|${row.version}|${settled}`, { read: [...truth.ledger.live(job)], failures })
  }

  return {
    see(seen) {
      if (seen.kind === 'settle') for (const { job, after } of seen.jobs) remember(job, after)
      if (seen.kind === 'world' && seen.what === 'rewound') rewound = true
      if (seen.kind === 'world') for (const row of truth.ledger.jobs()) remember(row.header.job, row)
      if (seen.kind !== 'commit') return
      retired = new Set(seen.jobs.flatMap(({ job, before }) => (before?.header.retired ? [job] : [])))
      commit(seen)
      for (const { job, after } of seen.jobs) remember(job, after)
    },
  }
}

/** Where a schedule's cursor stands, in the words of its keys. */
function position(moments: Enumerator, header: JobHeader): string {
  return moments.kind === 'labels'
    ? header.cursor.label
    : `${new Date(header.cursor.instant).toISOString().slice(0, -1)}Z`
}

/** Occurrences: labels of a gap that fall on one instant are one, known by the first; what a gap leaves out is none. */
function grouped(moments: Enumerator, keys: readonly string[]): string[] {
  const instants = new Set<number>()
  return keys.filter((key) => {
    const instant = moments.instantOf(key)
    if (instant === null || instants.has(instant)) return false
    instants.add(instant)
    return true
  })
}

function within(moments: Enumerator, from: string, to: string): string[] {
  if (!sameKind(from, to) || (moments.kind === 'instants') !== to.endsWith('Z')) return []
  return moments.keys(from, to)
}

/** A key that is just before the first, so that the first is counted. */
function justBefore(first: string, moments: Enumerator): string {
  const bare = first.endsWith('Z') ? first.slice(0, -1) : first
  const text = new Date(Date.parse(`${bare.length === 16 ? `${bare}:00` : bare}Z`) - 1).toISOString().slice(0, 23)
  return moments.kind === 'instants' ? `${text}Z` : text
}

function sameKind(a: string, b: string): boolean {
  return a.endsWith('Z') === b.endsWith('Z')
}
