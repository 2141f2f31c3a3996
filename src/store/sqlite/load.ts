import { WINDOW } from '../../ledger/limits.js'
import type { Aggregate, JobHeader, Lane, LedgerEvent, Run, StoredDefinition } from '../../ledger/types.js'
import { LANES } from '../../ledger/types.js'
import type { Loaded, LoadQuery, Unreadable } from '../port.js'
import { readJobs, readOr } from '../readable.js'
import { SEEN_MS } from '../retention.js'
import type { Ledger } from './ledger.js'
import {
  contentOf,
  type DefinitionColumns,
  definitionOf,
  eventOf,
  headerOf,
  type JobColumns,
  type NodeColumns,
  nodeOf,
  type RunColumns,
  runOf,
  tallyOf,
} from './rows.js'
import {
  LOAD_ATTEMPT,
  LOAD_DEFINITIONS,
  LOAD_EVENT,
  LOAD_JOB,
  LOAD_NODES,
  LOAD_PLACED,
  LOAD_RUN,
  LOAD_WAITING,
  LOAD_WAITING_BEHIND,
} from './statements.js'

/** Characters of one lane's waiting runs from which on no further ones are read: their data may have 64 kB each. */
const HEAVY = 262_144

/** So many of a lane are read in any case. */
const FIRST = 16

export function load(ledger: Ledger, query: LoadQuery, now: number): Loaded {
  const { connection, fleet } = ledger
  const definitions = new Map<string, readonly StoredDefinition[]>()
  const { jobs, unreadable } = readJobs(query.jobs ?? [], (job) => {
    const aggregate = loadJob(ledger, job)
    if (aggregate) definitions.set(job, definitionsOf(ledger, job))
    return aggregate
  })
  const found = loadRuns(ledger, query)
  const bad = new Map([...found.unreadable, ...unreadable].map((each) => [each.job, each]))
  return {
    now,
    jobs,
    definitions,
    runs: found.runs,
    unreadable: [...bad.values()],
    events: [...new Set(query.requests ?? [])].flatMap((id) => {
      const row = connection.get<LedgerEvent>(LOAD_EVENT, { fleet, id })
      return row ? [eventOf(row)] : []
    }),
    nodes: query.nodes
      ? connection.all<NodeColumns>(LOAD_NODES, { fleet, since: now - SEEN_MS }).flatMap((row) =>
          readOr(
            () => [nodeOf(row)],
            () => [],
          ),
        )
      : [],
  }
}

function definitionsOf(ledger: Ledger, job: string): StoredDefinition[] {
  const { connection, fleet } = ledger
  return connection.all<DefinitionColumns>(LOAD_DEFINITIONS, { fleet, job }).map(definitionOf)
}

interface LoadedJob extends JobColumns {
  /** 1 or 0: whether it has runs that hold a place, and runs that wait for one. */
  readonly has_placed: number
  readonly has_waiting: number
}

/** @throws UnreadableRow */
export function loadJob(ledger: Ledger, job: string): Aggregate | null {
  const { connection, fleet } = ledger
  const row = connection.get<LoadedJob>(LOAD_JOB, { fleet, job })
  return row ? aggregateOf(ledger, job, row) : null
}

function aggregateOf(ledger: Ledger, job: string, row: LoadedJob): Aggregate {
  const { connection, fleet } = ledger
  const header = headerOf(job, row)
  const definition = contentOf(row)
  // Most jobs that are due have no run: nothing more is asked for them.
  const placed = row.has_placed ? connection.all<RunColumns>(LOAD_PLACED, { fleet, job }) : []
  const waiting = row.has_waiting ? lanesOf(header).flatMap((lane) => waitingOf(ledger, job, lane)) : []
  return { header, tally: tallyOf(row), version: row.version, definition, runs: [...placed, ...waiting].map(runOf) }
}

/** Lanes in which somebody waits by the job's own count, or all where it counts nobody. */
function lanesOf({ waiting }: JobHeader): readonly Lane[] {
  const lanes = LANES.filter((lane) => waiting[lane] > 0)
  return lanes.length > 0 ? lanes : LANES
}

/** As many as the window has, and fewer of heavy ones, whose weight is only looked at where many wait. */
function waitingOf(ledger: Ledger, job: string, lane: Lane): RunColumns[] {
  const { connection, fleet } = ledger
  const parameters = { fleet, job, lane }
  const first = connection.all<WaitingColumns>(LOAD_WAITING, { ...parameters, limit: FIRST })
  let light = HEAVY
  const some = first.filter(({ body }) => {
    const isWanted = light > 0
    light -= body.length
    return isWanted
  })
  const last = some.at(-1)
  if (some.length < FIRST || light <= 0 || last === undefined) return some
  const { position, key } = last
  const behind = { ...parameters, position, key, limit: WINDOW - FIRST, light }
  return [...some, ...connection.all<RunColumns>(LOAD_WAITING_BEHIND, behind)]
}

interface WaitingColumns extends RunColumns {
  readonly position: number
}

/** By attempt or key, each run once. */
function loadRuns(ledger: Ledger, query: LoadQuery): { runs: Run[]; unreadable: Unreadable[] } {
  const { connection, fleet } = ledger
  const rows = [
    ...(query.attempts ?? []).map((attempt) => connection.get<RunColumns>(LOAD_ATTEMPT, { fleet, attempt })),
    ...(query.keys ?? []).map(({ job, key }) => connection.get<RunColumns>(LOAD_RUN, { fleet, job, key })),
  ]
  const runs = new Map<string, Run>()
  const unreadable: Unreadable[] = []
  for (const row of rows) {
    if (!row) continue
    readOr(
      () => void runs.set(JSON.stringify([row.job, row.key]), runOf(row)),
      (why) => void unreadable.push({ job: row.job, why }),
    )
  }
  return { runs: [...runs.values()], unreadable }
}
