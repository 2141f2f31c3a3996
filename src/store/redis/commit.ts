import type { Change, RunWrite } from '../../ledger/types.js'
import { repeated, waitingTotal } from '../guards.js'
import type { CommitResult, Committed, SessionRef } from '../port.js'
import { REQUEST_KINDS } from '../retention.js'
import { runText } from '../run-text.js'
import type { Ledger } from './ledger.js'
import { runArguments } from './rows.js'
import { COMMIT } from './scripts/commit.js'
import { type Argument, script } from './server.js'

const SCRIPT = script(COMMIT)

/** Rows that one script writes, about; others are served before the next one. A change is never cut. */
const PART_ROWS = 500

type Fate = readonly ['won' | 'stale'] | readonly ['clash', ...keys: string[]] | readonly ['refused', why: string]

type Answer = readonly [
  now: string,
  expired: number,
  incarnation: string,
  writes: number | string,
  /** Null: written. */
  fates?: readonly (Fate | null)[],
  woken?: readonly number[],
]

interface Item {
  readonly change: Change
  /** In the list that was handed in. */
  readonly place: number
}

export async function commit(
  ledger: Ledger,
  session: SessionRef,
  read: number,
  changes: readonly Change[],
): Promise<Committed> {
  const { server, main, line } = ledger
  const results: CommitResult[] = []
  const sound: Item[] = []
  for (const [place, change] of changes.entries()) {
    const why = oddity(change)
    if (why === null) sound.push({ change, place })
    else results[place] = { job: change.job, outcome: 'refused', why }
  }
  let first: Answer | null = null
  for (const part of inParts(sound)) {
    const args = [
      ...server.history(),
      line.channel,
      line.self,
      session.id,
      session.leaseMs,
      read,
      part.length,
      ...part.flatMap(({ change }) => changeArguments(change)),
    ]
    const answer = await server.run<Answer>(main, SCRIPT, args, keysOf(part, session))
    const [now, expired, incarnation, writes, fates = [], woken = []] = answer
    server.learn(incarnation, Number(writes))
    if (first === null && expired === 1) return { expired: true, now: Number(now) }
    first ??= answer
    line.wake(woken)
    for (const [index, { change, place }] of part.entries()) {
      // What was written before stays written: the rest has lost, as it would have one by one.
      results[place] = expired === 1 ? { job: change.job, outcome: 'stale' } : resultOf(change.job, fates[index])
    }
  }
  return { expired: false, now: Number(first?.[0]), results }
}

function resultOf(job: string, fate: Fate | null | undefined): CommitResult {
  if (!fate) return { job, outcome: 'won' }
  const [outcome, ...rest] = fate
  if (outcome === 'clash') return { job, outcome, keys: rest }
  return outcome === 'refused' ? { job, outcome, why: rest[0] ?? '' } : { job, outcome }
}

/** Parts of bounded size, at least one; a job that is changed more than once is so in one part after the other. */
function inParts(items: readonly Item[]): Item[][] {
  const parts: Item[][] = [[]]
  let jobs = new Set<string>()
  let rows = 0
  for (const item of items.toSorted(({ change: a }, { change: b }) => (a.job < b.job ? -1 : a.job > b.job ? 1 : 0))) {
    const { job, runs, events } = item.change
    const size = 1 + runs.length + events.length
    if (jobs.has(job) || (rows > 0 && rows + size > PART_ROWS)) {
      parts.push([])
      jobs = new Set()
      rows = 0
    }
    parts.at(-1)?.push(item)
    jobs.add(job)
    rows += size
  }
  return parts
}

function keysOf(part: readonly Item[], session: SessionRef): string[] {
  const keys = new Set([`session:${session.id}`])
  for (const { change } of part) {
    keys.add(`due:${change.header.service}`)
    if (change.runs.length > 0) keys.add(`runs:${change.job}`)
  }
  return [...keys]
}

function changeArguments(change: Change): Argument[] {
  const { header, definition, expect } = change
  const args: Argument[] = [
    change.id,
    change.job,
    expect.version ?? '',
    expect.settled,
    JSON.stringify(header),
    change.failures,
    header.wakeAt ?? '',
    waitingTotal(header),
    header.service,
    header.bucket.toString(16).padStart(2, '0'),
    header.definition,
    header.lastFate?.key ?? '',
    header.retired ? '1' : '0',
  ]
  if (definition === null) args.push('')
  else {
    const { hash, seq, enteredAt, content } = definition
    args.push(JSON.stringify(definition), hash, seq, enteredAt, content.handler === undefined ? '0' : '1')
  }
  args.push(change.runs.length)
  for (const write of change.runs) args.push(...writeArguments(write))
  args.push(change.events.length)
  for (const event of change.events) {
    args.push(event.id, event.at, event.job, REQUEST_KINDS.has(event.kind) ? '1' : '0', JSON.stringify(event))
  }
  return args
}

function writeArguments({ run, expect }: RunWrite): Argument[] {
  return [
    run.key,
    expect?.state ?? '',
    expect?.token ?? '',
    ...runArguments(run),
    run.stop === null ? '' : JSON.stringify(run.stop),
    runText(run),
  ]
}

/** What no script is to see: it would stop half-way. */
function oddity(change: Change): string | null {
  const twice = repeated(change)
  if (twice !== null) return `The change names ${twice} twice.`
  const { header, definition, runs, events } = change
  const numbers = [
    header.wakeAt ?? 0,
    waitingTotal(header),
    definition?.seq ?? 0,
    definition?.enteredAt ?? 0,
    ...runs.flatMap(({ run }) => [run.token, run.createdAt, run.endedAt ?? 0, run.position]),
    ...events.map((event) => event.at),
  ]
  if (!numbers.every(Number.isFinite)) return 'A number in it is none.'
  const names = [change.job, ...change.runs.map(({ run }) => run.key)]
  return names.some((name) => name.includes('\0')) ? 'The name of a job or a run has a NUL in it.' : null
}
