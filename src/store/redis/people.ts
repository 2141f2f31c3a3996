import type { Aggregate, LedgerEvent, Run } from '../../ledger/types.js'
import type { EventsQuery, JobsQuery, PruneQuery, RunsQuery } from '../port.js'
import { readOr } from '../readable.js'
import { readAggregates } from './attend.js'
import type { Ledger } from './ledger.js'
import { type AggregateRow, eventOf, listArguments, runOf } from './rows.js'
import { EVENTS, JOBS, RUNS } from './scripts/people.js'
import { PRUNE } from './scripts/prune.js'
import { type Argument, script } from './server.js'

const JOBS_SCRIPT = script(JOBS)
const RUNS_SCRIPT = script(RUNS)
const EVENTS_SCRIPT = script(EVENTS)
const PRUNE_SCRIPT = script(PRUNE)

/** Rows that one script removes; others are served before the next one. */
const PRUNED_AT_ONCE = 500

export async function jobs({ server, main }: Ledger, query: JobsQuery): Promise<readonly Aggregate[]> {
  const found: Aggregate[] = []
  for (let after: string | null = query.after ?? ''; after !== null && found.length < query.limit; ) {
    const args: Argument[] = [query.service ?? '', after, query.limit - found.length]
    const [rows, last] = await server.run<readonly [AggregateRow[], string | null]>(main, JOBS_SCRIPT, args)
    readAggregates(rows, (aggregate) => found.push(aggregate))
    after = last
  }
  return found
}

type Position = readonly [createdAt: string | number, key: string, job: string]

export async function runs({ server, main }: Ledger, query: RunsQuery): Promise<readonly Run[]> {
  const { job = '', states, before } = query
  const found: Run[] = []
  let position: Position | null = before ? [before.createdAt, before.key, before.job] : ['', '', '']
  while (position !== null && found.length < query.limit) {
    const args: Argument[] = [job, query.limit - found.length, ...position, ...listArguments(states ?? [])]
    if (states?.length === 0) return []
    type Answer = readonly [(readonly [string, string | null])[], Position | null]
    const [rows, last]: Answer = await server.run<Answer>(main, RUNS_SCRIPT, args)
    for (const [body, stop] of rows) {
      readOr(
        () => void found.push(runOf(body, stop)),
        () => {},
      )
    }
    position = last
  }
  return found
}

export async function events({ server, main }: Ledger, query: EventsQuery): Promise<readonly LedgerEvent[]> {
  const { job = '', before, limit } = query
  const args = [job, limit, before?.at ?? '', before?.id ?? '']
  const texts = await server.run<readonly string[]>(main, EVENTS_SCRIPT, args)
  return texts
    .map(eventOf)
    .sort((a, b) => b.at - a.at || compareBytes(b.id, a.id))
    .slice(0, limit)
}

/** As the server orders its members. */
function compareBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}

export async function prune({ server, main }: Ledger, { before, limit }: PruneQuery): Promise<number> {
  let removed = 0
  let after: string | null = ''
  while (removed < limit) {
    const most = Math.min(PRUNED_AT_ONCE, limit - removed)
    type Answer = readonly [removed: number, after: string | null]
    const [count, next]: Answer = await server.run<Answer>(main, PRUNE_SCRIPT, [before, most, after])
    removed += count
    // A full part may have left rows of any kind behind: begin again. Otherwise go on with the jobs not looked at yet.
    if (count === most) after = ''
    else if (next === null) return removed
    else after = next
  }
  return removed
}
