import type { Aggregate, Lane, Run } from '../../ledger/types.js'
import type { Unreadable } from '../port.js'
import { readOr } from '../readable.js'
import type { Ledger } from './ledger.js'
import { columnKey, name, nameColumn, named, namedAll } from './literal.js'
import { aggregateOf, bytesAt, integerAt, jobNameOf, numberAt, type Row, runOf, textAt, textOrNullAt } from './rows.js'
import type { Rows } from './server.js'
import { AGGREGATES, LETTERS, WAITING } from './shared-statements.js'

/** A job as one statement saw it; the rows are read when all of them are there. */
export interface Seen {
  readonly job: string
  readonly row: Row
  readonly runs: readonly Row[]
  /** Lanes in which runs wait. */
  readonly lanes: ReadonlySet<Lane>
  /** Where it stands on its page. */
  readonly at: number | null
}

const [JOB_AT, LANES_AT, PAGE_AT] = [1, 11, 12]

/** Jobs among the rows of a statement, by the keys of their names. */
export function jobsSeen(rows: Rows): Map<string, Seen> {
  const runs = new Map<string, Row[]>()
  for (const row of rows) {
    if (textAt(row, 0) !== 'p') continue
    const job = columnKey(bytesAt(row, JOB_AT))
    const list = runs.get(job)
    if (list) list.push(row)
    else runs.set(job, [row])
  }
  const seen = new Map<string, Seen>()
  for (const row of rows) {
    if (textAt(row, 0) !== 'j') continue
    const key = columnKey(bytesAt(row, JOB_AT))
    const lanes = new Set([...textAt(row, LANES_AT)].flatMap((letter) => LETTERS[letter] ?? []))
    seen.set(key, { job: jobNameOf(row, JOB_AT), row, runs: runs.get(key) ?? [], lanes, at: numberAt(row, PAGE_AT) })
  }
  return seen
}

/** The lanes to look for waiting runs in, by the keys of jobs. */
type Asked = ReadonlyMap<string, ReadonlySet<Lane>>

/**
 * Jobs with the runs that wait: what one statement saw without them is looked at again, by one that asks for the lanes in
 * which runs were seen. Where runs have come to another lane meanwhile, it asks for that too.
 */
export async function completed(ledger: Ledger, seen: ReadonlyMap<string, Seen>): Promise<Map<string, Seen>> {
  const whole = new Map(seen)
  let asked: Asked = lanesOf([...seen].filter(([, { lanes }]) => lanes.size > 0))
  while (asked.size > 0) {
    const found = await seenByKey(ledger, asked)
    for (const key of asked.keys()) {
      const now = found.get(key)
      if (now) whole.set(key, { ...now, at: whole.get(key)?.at ?? null })
      else whole.delete(key)
    }
    const before = asked
    asked = lanesOf([...found].filter(([key, { lanes }]) => [...lanes].some((lane) => !before.get(key)?.has(lane))))
  }
  return whole
}

function lanesOf(seen: Iterable<readonly [key: string, seen: Seen]>): Asked {
  return new Map([...seen].map(([key, { lanes }]) => [key, lanes]))
}

/** Jobs whole, by their keys. */
export async function wholeByKey(ledger: Ledger, keys: readonly string[]): Promise<Map<string, Seen>> {
  if (keys.length === 0) return new Map()
  const none: ReadonlySet<Lane> = new Set()
  return completed(ledger, await seenByKey(ledger, new Map(keys.map((key) => [key, none]))))
}

async function seenByKey(ledger: Ledger, asked: Asked): Promise<Map<string, Seen>> {
  const { rows } = await ledger.server.read([aggregatesSql(ledger, asked)])
  return jobsSeen(rows[0] ?? [])
}

/** Jobs with the runs of their places and of the lanes asked for. */
function aggregatesSql({ server, fleet }: Ledger, asked: Asked): string {
  const common = { fleet: name(fleet), jobs: namedAll(asked.keys()) }
  const waiting = [...asked].flatMap(([key, lanes]) =>
    [...lanes].map((lane) => server.sql(WAITING, { ...common, job: named(key), lane })),
  )
  return server.sql(AGGREGATES, common) + waiting.join('')
}

/** What was seen, in order, as aggregates; and the jobs of which a row cannot be read. */
export function readSeen(seen: Iterable<Seen>): { jobs: Aggregate[]; unreadable: Unreadable[] } {
  const jobs: Aggregate[] = []
  const unreadable: Unreadable[] = []
  for (const each of seen) {
    readOr(
      () => void jobs.push(aggregateOf(each.job, each.row, JOB_AT, each.runs.toSorted(inWindow).map(runOfRow))),
      (why) => void unreadable.push({ job: each.job, why }),
    )
  }
  return { jobs, unreadable }
}

const [KEY_AT, BODY_AT, STOP_AT, POSITION_AT, PART_AT] = [2, 3, 4, 5, 6]

/** From the job on, as in a part with the letter p. @throws UnreadableRow */
export function runOfRow(row: Row): Run {
  return runOf(nameColumn(bytesAt(row, KEY_AT)), textAt(row, BODY_AT), textOrNullAt(row, STOP_AT))
}

function inWindow(a: Row, b: Row): number {
  return (
    integerAt(a, PART_AT) - integerAt(b, PART_AT) ||
    integerAt(a, POSITION_AT) - integerAt(b, POSITION_AT) ||
    Buffer.compare(bytesAt(a, KEY_AT), bytesAt(b, KEY_AT))
  )
}
