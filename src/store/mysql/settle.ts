import { createHash } from 'node:crypto'
import type { Settlement } from '../../ledger/types.js'
import type { SettleResult } from '../port.js'
import { causeOf, isGuard } from './driver.js'
import type { Ledger } from './ledger.js'
import { joined, name, nameKey, names, type Sql, rows as sqlRows } from './literal.js'
import { columnKeyAt, integerAt, type Row, RUN_COLUMNS, runColumns, textAt } from './rows.js'
import {
  ANSWERS,
  SETTLE_ANSWERS,
  SETTLE_DEMAND,
  SETTLE_JOBS,
  SETTLE_LOCK,
  SETTLE_RUNS,
  SETTLE_STAND,
} from './settle-statements.js'

export async function settle(ledger: Ledger, settlements: readonly Settlement[]): Promise<readonly SettleResult[]> {
  const results = new Map<Settlement, SettleResult>()
  for (const part of inParts(settlements, ledger.packetBytes)) {
    let open = part
    while (open.length > 0) {
      const answers = await settleAll(ledger, open)
      for (const each of open) {
        const answer = answers.get(each)
        if (answer !== undefined) results.set(each, answer)
      }
      open = open.filter((each) => !answers.has(each))
    }
  }
  return settlements.map((each) => results.get(each) ?? 'lost')
}

type Answers = ReadonlyMap<Settlement, SettleResult>

/** All of them in one message; or, where some cannot be settled, only what has become of those. */
async function settleAll(ledger: Ledger, part: readonly Settlement[]): Promise<Answers> {
  const { server } = ledger
  const about = parametersOf(ledger, part)
  try {
    const { rows } = await server.write([
      server.sql(SETTLE_LOCK, about),
      server.sql(SETTLE_DEMAND, about),
      server.sql(SETTLE_RUNS, { ...about, rows: joined(part.map((each) => runRow(ledger, each))) }),
      server.sql(SETTLE_JOBS, { rows: joined(byJob(part).map((each) => jobRow(ledger, each))) }),
      server.sql(SETTLE_ANSWERS, about),
    ])
    const given = new Map(
      (rows.at(-1) ?? []).map((row) => [`${columnKeyAt(row, 0)} ${columnKeyAt(row, 1)}`, textAt(row, 2)]),
    )
    return new Map(part.map((each) => [each, answerIn(given.get(runKey(each)) ?? '', each.attemptId) ?? 'lost']))
  } catch (error) {
    if (!isGuard(causeOf(error))) throw error
    return answered(ledger, part, about)
  }
}

/** The answers of those that cannot be settled: a run that is not its attempt's any more will never be again. */
async function answered(
  { server }: Ledger,
  part: readonly Settlement[],
  about: ReturnType<typeof parametersOf>,
): Promise<Answers> {
  const { rows } = await server.read([server.sql(SETTLE_STAND, about)])
  const found = rows[0] ?? []
  const jobs = new Set(found.filter((row) => textAt(row, 0) === 'J').map((row) => columnKeyAt(row, 1)))
  const runs = new Map(
    found.filter((row) => textAt(row, 0) === 'R').map((row) => [`${columnKeyAt(row, 1)} ${columnKeyAt(row, 2)}`, row]),
  )
  const lost = part.flatMap((each): [Settlement, SettleResult][] => {
    const row = runs.get(runKey(each))
    if (row === undefined || !jobs.has(nameKey(each.job))) return [[each, 'lost']]
    return isOpen(row, each) ? [] : [[each, answerIn(textAt(row, 6), each.attemptId) ?? 'lost']]
  })
  return new Map(lost)
}

function isOpen(row: Row, { token, attemptId }: Settlement): boolean {
  return textAt(row, 3) === 'running' && integerAt(row, 4) === token && columnKeyAt(row, 5) === nameKey(attemptId)
}

function parametersOf({ fleet }: Ledger, part: readonly Settlement[]) {
  const jobs = new Set(part.map(({ job }) => job))
  return {
    fleet: name(fleet),
    jobs: names(jobs),
    jobcount: jobs.size,
    runs: sqlRows(part.map(({ job, key }) => [name(job), name(key)])),
    expected: sqlRows(part.map(({ job, key, token, attemptId }) => [name(job), name(key), token, name(attemptId)])),
    count: part.length,
  }
}

function runRow({ fleet }: Ledger, { job, key, attemptId, run }: Settlement): Sql {
  const columns = runColumns(run)
  const first = [name(fleet), name(job), name(key), digest(attemptId), run.cause, run.lane, run.createdAt]
  return sqlRows([[...first, ...RUN_COLUMNS.map((column) => columns[column])]])
}

interface JobTotal {
  readonly job: string
  settled: number
  failures: number
  isReset: boolean
  wakeAt: number | null
  succeededUntil: number | null
  tokenFloor: number
}

/** What the settlements of each job come to, in their order. */
function byJob(part: readonly Settlement[]): JobTotal[] {
  const totals = new Map<string, JobTotal>()
  for (const { job, failures, wakeAt, succeededUntil, tokenFloor } of part) {
    const none = { job, settled: 0, failures: 0, isReset: false, wakeAt: null, succeededUntil: null, tokenFloor: 0 }
    const total: JobTotal = totals.get(job) ?? none
    totals.set(job, total)
    total.settled++
    if (failures === 'reset') Object.assign(total, { isReset: true, failures: 0 })
    else if (failures === 'count') total.failures++
    total.wakeAt = least(total.wakeAt, wakeAt)
    total.succeededUntil =
      succeededUntil === null ? total.succeededUntil : Math.max(total.succeededUntil ?? succeededUntil, succeededUntil)
    total.tokenFloor = Math.max(total.tokenFloor, tokenFloor ?? 0)
  }
  return [...totals.values()].sort((a, b) => (nameKey(a.job) < nameKey(b.job) ? -1 : 1))
}

function least(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.min(a, b)
}

/** The columns that no settlement writes are there for the sake of the form. */
function jobRow({ fleet }: Ledger, total: JobTotal): Sql {
  const { job, settled, failures, isReset, wakeAt, succeededUntil, tokenFloor } = total
  const first = [
    name(fleet),
    name(job),
    '',
    0,
    '',
    '',
    wakeAt,
    0,
    isReset,
    settled,
    failures,
    succeededUntil,
    tokenFloor,
    '',
  ]
  return sqlRows([first])
}

/** What stands for an attempt among the answers: always as long. */
function digest(attemptId: string): string {
  return createHash('sha256').update(attemptId).digest('hex').slice(0, ANSWERS.attemptBytes)
}

/** The answer that an attempt was given, among those that its run remembers; the last one comes first. */
function answerIn(answers: string, attemptId: string): SettleResult | null {
  const wanted = digest(attemptId)
  const length = ANSWERS.wordBytes + ANSWERS.attemptBytes
  for (let at = 0; at + length <= answers.length; at += length) {
    if (answers.slice(at + ANSWERS.wordBytes, at + length) !== wanted) continue
    return answers[at] === 's' ? 'settled' : answers[at] === 'l' ? 'late' : null
  }
  return null
}

function runKey({ job, key }: Settlement): string {
  return `${nameKey(job)} ${nameKey(key)}`
}

/** A run that is settled more than once is so in one part after the other; no part is larger than a message may be. */
function inParts(settlements: readonly Settlement[], most: number): Settlement[][] {
  const parts: Settlement[][] = []
  const at = new Map<string, number>()
  const room: number[] = []
  for (const each of new Set(settlements)) {
    const key = runKey(each)
    // Twice its text: what is not plain goes as digits.
    const bytes = 2 * JSON.stringify(each.run).length + 1_000
    let index = at.get(key) ?? 0
    while ((room[index] ?? most) < bytes && (parts[index]?.length ?? 0) > 0) index++
    at.set(key, index + 1)
    room[index] = (room[index] ?? most) - bytes
    const part = parts[index] ?? []
    parts[index] = part
    part.push(each)
  }
  return parts.filter((part) => part !== undefined)
}
