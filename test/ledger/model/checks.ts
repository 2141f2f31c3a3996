import assert from 'node:assert/strict'
import { isLive, isReachable, REASONS } from '../../../src/ledger/index.js'
import type { Aggregate, Run } from '../../../src/ledger/types.js'
import type { ZoneData } from '../../../src/schedule/types.js'
import { due, isFixed, type Moment, next } from './oracle.js'
import type { Applied, World } from './world.js'

const DAY = 86_400_000

/** What must hold of every write, whoever made it: promises.md S1–S3, S6, S7, S12–S14, and wakeAt. */
export class Checks {
  /** Every label or instant that was ever decided. */
  readonly decided = new Set<string>()
  /** False once the cursor alone was set back: then a label may be covered twice, but no row is lost or changed. */
  isWhole = true
  private lastToken = 0
  private readonly attemptIds = new Set<string>()
  /** How many occurrences were decided, and how many attempts granted. */
  occurrences = 0
  grants = 0

  commit(applied: Applied, rows: ReadonlyMap<string, Run>, now: number): void {
    const { before, after, change, zones } = applied
    for (const { run } of change.runs) {
      this.row(applied.rows.get(run.key) ?? null, run)
      this.attempt(applied, run)
    }
    if (before !== null && this.isWhole) this.everyLabelOnce(applied, before)
    this.header(before, after, rows)
    const isHurried = before !== null && before.tally.settled !== change.expect.settled
    if (!isHurried) checkWake(after, zones, applied.readAt)
    else assert(after.header.wakeAt !== null && after.header.wakeAt <= now, 'a settlement in between makes it due')
  }

  settle(before: Run, after: Run, job: Aggregate, now: number): void {
    this.row(before, after)
    assert(before.state === 'running', 'S6: only what runs is settled')
    const { wakeAt, waiting } = job.header
    const waits = waiting.schedule + waiting.manual + waiting.backlog > 0
    if (waits) assert(wakeAt !== null && wakeAt <= now, 'a settlement wakes a job whose runs wait')
    if (after.state === 'queued')
      assert(wakeAt !== null && wakeAt <= Math.max(now, after.readyAt), 'a retry has its wake')
  }

  /** S6: terminal rows never change but to be extended; what is frozen stays; every step is in the table. */
  private row(before: Run | null, after: Run): void {
    assert(isReachable(before?.state ?? null, after.state), `S6: ${after.key} from ${before?.state} to ${after.state}`)
    assert.equal(after.endedAt === null, isLive(after.state), `${after.key} has ended when it has`)
    if (after.state === 'running') assert(after.place && after.session !== null && after.attemptId !== null)
    if (!isLive(after.state)) assert(!after.place, `${after.key} gave its place back`)
    const reasons = after.state in REASONS ? REASONS[after.state as keyof typeof REASONS] : [null]
    assert((reasons as readonly (string | null)[]).includes(after.reason), `${after.state} because of ${after.reason}`)
    if (before === null) return
    for (const field of FOR_EVER)
      assert.deepEqual(after[field], before[field], `${field} of ${after.key} never changes`)
    if (before.attempt > 0)
      for (const field of FROZEN) assert.deepEqual(after[field], before[field], `${field} is frozen`)
    if (!isLive(before.state)) {
      const { covers, scheduledAt, date, endedAt } = after
      assert.deepEqual(after, { ...before, covers, scheduledAt, date, endedAt }, `S6: ${after.key} is terminal`)
    }
    assert(after.token >= before.token && after.attempt >= before.attempt)
  }

  /** S2, S3: attempts of a job are ordered by token. */
  private attempt({ rows, change, before, readAt }: Applied, run: Run): void {
    const old = rows.get(run.key) ?? null
    if (run.attemptId === null || run.attemptId === old?.attemptId) return
    assert(run.readyAt <= readAt, `${run.key} starts before its retry is due, or unpoked`)
    this.grants += 1
    assert(!this.attemptIds.has(run.attemptId), 'attempt ids are unique')
    this.attemptIds.add(run.attemptId)
    assert(run.attemptId.startsWith(`${change.id}.`) && run.state === 'running')
    assert.equal(run.attempt, (old?.attempt ?? 0) + 1)
    // A floor that a settlement raised after the read is not known yet: the fence then shows it once more.
    const isKnown = before?.tally.settled === change.expect.settled
    const floor = Math.max(before?.header.lastToken ?? 0, isKnown ? before.tally.tokenFloor : 0)
    assert(run.token > floor && run.token > (old?.token ?? 0), 'S3: tokens grow')
    assert(run.token >= readAt * 1_000 && Number.isSafeInteger(run.token))
    assert(change.header.lastToken >= run.token)
    this.lastToken = Math.max(this.lastToken, run.token)
    assert(
      change.header.pause === null || run.lane === 'manual' || old?.place === true,
      'a paused job starts no such run',
    )
    assert(!change.header.retired, 'a retired job starts nothing')
  }

  /** S1, S7, S12: each label that came due since the cursor is in exactly one row of this change, and was in none before. */
  private everyLabelOnce({ change, rows, zones, readAt }: Applied, before: Aggregate): void {
    const { schedule } = before.definition
    const { cursor, anchor, retired } = before.header
    const moments = schedule === null || retired ? [] : due(schedule, anchor, zones, cursor, readAt)
    const owner = new Array<string | null>(moments.length).fill(null)
    for (const { run } of change.runs) {
      if (run.cause !== 'schedule' && run.cause !== 'catch-up') continue
      const old = rows.get(run.key) ?? null
      const count = (run.covers?.count ?? 0) - (old?.covers?.count ?? 0)
      if (count === 0) {
        assert.deepEqual(run.covers, old?.covers ?? null)
        continue
      }
      const last = moments.findIndex(({ key }) => key === run.covers?.to)
      const first = last - count + 1
      assert(last >= 0 && first >= 0, `S7: ${run.key} counts ${count} that are due, up to ${run.covers?.to}`)
      if (old === null) assert.equal(run.key, moments[first]?.key, 'a key is the first label')
      assert.equal(run.covers?.from, run.key)
      assert.equal(run.scheduledAt, moments[last]?.instant)
      for (let at = first; at <= last; at += 1) {
        assert.equal(owner[at], null, `S7: ${moments[at]?.key} is in ${owner[at]} and ${run.key}`)
        owner[at] = run.key
      }
    }
    assert.deepEqual(
      moments.filter((_, at) => owner[at] === null).map(({ key }) => key),
      [],
      'S7: lost',
    )
    this.markDecided(moments)
    if (schedule !== null && !retired) assertBehind(schedule, change.header.cursor, moments)
  }

  private markDecided(moments: readonly Moment[]): void {
    for (const label of moments.flatMap(({ labels }) => labels)) {
      assert(!this.decided.has(label), `S1: ${label} is decided twice`)
      this.decided.add(label)
    }
    this.occurrences += moments.length
  }

  private header(before: Aggregate | null, after: Aggregate, rows: ReadonlyMap<string, Run>): void {
    const { header } = after
    if (before !== null) {
      assert(header.cursor.instant >= before.header.cursor.instant, 'the cursor never moves back')
      // Where nothing was ever made, labels that another zone's clock alone has shown are to come.
      const isUntouched = before.header.position === 1 && header.definition !== before.header.definition
      assert(isUntouched || header.cursor.label >= before.header.cursor.label, 'the cursor never moves back')
      assert(header.lastToken >= before.header.lastToken && header.position >= before.header.position)
    }
    const live = [...rows.values()].filter(({ state }) => isLive(state))
    for (const lane of ['schedule', 'manual', 'backlog'] as const) {
      const waiting = live.filter((run) => run.lane === lane && run.state === 'queued' && !run.place).length
      assert.equal(header.waiting[lane], waiting, `the header counts what waits in ${lane}`)
    }
    const places = (runs: readonly Run[]) => runs.filter(({ place }) => place).length
    const most = Math.max(after.definition.concurrency, before === null ? 0 : places(before.runs))
    assert(places(live) <= most, 'no more places than concurrency')
  }
}

const FOR_EVER = [
  'job',
  'key',
  'cause',
  'lane',
  'resource',
  'definition',
  'data',
  'retryOf',
  'position',
  'createdAt',
] as const
const FROZEN = ['covers', 'scheduledAt', 'date', 'since', 'startedAt'] as const

function assertBehind(
  schedule: Parameters<typeof due>[0],
  cursor: Aggregate['header']['cursor'],
  all: readonly Moment[],
) {
  const last = all.at(-1)
  if (last === undefined) return
  if (isFixed(schedule)) assert(cursor.label >= (last.labels.at(-1) ?? ''), 'the cursor is behind what was decided')
  else assert(cursor.instant >= last.instant, 'the cursor is behind what was decided')
}

/** wakeAt is when something can be done next: never later, and earlier only where that is already due. */
function checkWake(job: Aggregate, zones: ZoneData, now: number): void {
  const { header, definition } = job
  const waiting = (['schedule', 'manual', 'backlog'] as const).filter((lane) => header.waiting[lane] > 0)
  const held = job.runs.filter(({ place }) => place)
  const at: number[] = []
  if (header.retired) {
    if (waiting.length > 0) at.push(now)
  } else {
    if (header.pause !== null && header.pause.until !== null) at.push(header.pause.until)
    const { schedule } = definition
    const occurrence =
      header.pause !== null || schedule === null
        ? null
        : next(schedule, header.anchor, zones, header.cursor, now + 4 * DAY)
    if (occurrence !== null) at.push(occurrence)
    for (const run of held) if (run.state === 'queued') at.push(run.readyAt)
    for (const lane of waiting.filter((one) => one === 'manual' || header.pause === null)) {
      // Those that await a poke are started when it has not come.
      const ready = job.runs.filter((run) => !run.place && run.lane === lane).map(({ readyAt }) => readyAt)
      if (held.length < definition.concurrency) at.push(Math.max(now, Math.min(...ready)))
    }
  }
  const earliest = at.length === 0 ? null : Math.min(...at)
  if (earliest === null)
    assert(header.wakeAt === null || header.wakeAt > now, 'nothing wakes a job that has nothing to do')
  else if (earliest <= now)
    assert(header.wakeAt !== null && header.wakeAt <= now, 'wakeAt is late: something is due now')
  else
    assert(
      header.wakeAt === earliest || (header.wakeAt !== null && header.wakeAt <= now),
      `wakeAt ${header.wakeAt} is not ${earliest}`,
    )
}

/** S1: no label is covered by two rows. */
export function checkCovers(world: World): void {
  for (const isInstant of [true, false]) {
    const spans = [...world.rows.values()]
      .filter(({ cause, key }) => (cause === 'schedule' || cause === 'catch-up') && key.endsWith('Z') === isInstant)
      .flatMap(({ covers }) => (covers === null ? [] : [[moment(covers.from), moment(covers.to)] as const]))
      .sort(([a], [b]) => a - b)
    for (const [at, [from]] of spans.entries()) {
      const before = spans[at - 1]
      if (before !== undefined) assert(before[1] < from, `S1: two rows cover ${new Date(from).toISOString()}`)
    }
  }
}

function moment(key: string): number {
  return Date.parse(key.endsWith('Z') ? key : `${key}Z`)
}
