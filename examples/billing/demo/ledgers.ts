import Database from 'better-sqlite3'
import type { RunRecord, RunState, Store } from 'fleetcron'
import { resolveStore } from '../../../dist/store/resolve.js'

/** A run as the reckoning counts it. */
export interface RunRow {
  readonly period: string
  readonly state: string
  /** `host#pid outcome`, in order. */
  readonly attempts: string
}

export interface DefinitionInForce {
  readonly hash: string
  /** How often one was entered so far. */
  readonly entered: number
}

/** What the demonstration wants to know of a ledger. */
export interface LedgerReader {
  /** What was worked on, or is to be. */
  runs(): Promise<readonly RunRow[]>
  runsIn(state: 'queued' | 'running'): Promise<number>
  /** When an attempt of a period began, epoch milliseconds of the ledger's clock; null where it did not. */
  beganAt(period: string, attempt: number): Promise<number | null>
  definition(): Promise<DefinitionInForce>
  close(): Promise<void>
}

/** What the two applications keep differently in a SQLite file: a ledger of runs, or a log of work. */
const RUNS = {
  fleet: `
    SELECT run.key AS period, run.state AS state,
      coalesce((SELECT group_concat(attempt.value ->> 'node' || ' ' || coalesce(attempt.value ->> 'outcome', 'running'), ' → ')
       FROM json_each(run.body, '$.attempts') AS attempt), '') AS attempts
    FROM run WHERE run.job LIKE '%:invoices' AND run.state <> 'missed'`,
  plain: `
    SELECT period, min(iif(ended_at IS NULL, 'unfinished', 'succeeded')) AS state,
      group_concat(node || iif(ended_at IS NULL, ' unfinished', ' succeeded'), ' → ') AS attempts
    FROM (SELECT * FROM work ORDER BY attempt) GROUP BY period`,
} as const

const BEGAN = {
  fleet: `SELECT json_extract(body, '$.attempts[' || (CAST(? AS INTEGER) - 1) || '].startedAt') AS at FROM run WHERE key = ?`,
  plain: 'SELECT began_at AS at FROM work WHERE attempt = ? AND period = ?',
} as const

const DEFINITION = `
  SELECT job.definition AS hash,
    (SELECT count(*) FROM event WHERE event.job = job.job AND kind IN ('defined', 'redefined')) AS entered
  FROM job WHERE job.job LIKE '%:invoices'`

/** Reads a file with plain SQL, as anybody could. */
export function sqliteReader(path: string, kind: keyof typeof RUNS): LedgerReader {
  const database = new Database(path, { timeout: 5_000 })
  return {
    runs: async () => database.prepare(RUNS[kind]).all() as RunRow[],
    runsIn: async (state) => {
      const sql = 'SELECT count(*) AS count FROM run WHERE state = ?'
      return (database.prepare(sql).get(state) as { count: number }).count
    },
    beganAt: async (period, attempt) =>
      (database.prepare(BEGAN[kind]).get(attempt, period) as { at: number | null } | undefined)?.at ?? null,
    definition: async () => database.prepare(DEFINITION).get() as DefinitionInForce,
    close: async () => void database.close(),
  }
}

const JOB = 'billing:invoices'
/** More than a demonstration has periods. */
const MANY = 1_000
/** A server that is being started again is waited for. */
const PATIENCE_MS = 20_000

/** Asks any other store by its port, as a node does. */
export async function storeReader(url: string, fleet: string): Promise<LedgerReader> {
  const store = await resolveStore(url, fleet)
  await patiently(() => store.open())
  const runs = (states?: RunState[]): Promise<readonly RunRecord[]> =>
    patiently(() => store.runs({ job: JOB, limit: MANY, ...(states && { states }) }))
  return {
    runs: async () => {
      const found = await runs()
      return found.filter((run) => run.state !== 'missed').map(rowOf)
    },
    runsIn: async (state) => (await runs([state])).length,
    beganAt: async (period, attempt) => {
      const run = (await runs()).find(({ key }) => key === period)
      return run?.attempts[attempt - 1]?.startedAt ?? null
    },
    definition: () => patiently(() => definitionIn(store)),
    close: () => store.close(),
  }
}

function rowOf({ key, state, attempts }: RunRecord): RunRow {
  const worked = attempts.map(({ node, outcome }) => `${node} ${outcome ?? 'running'}`)
  return { period: key, state, attempts: worked.join(' → ') }
}

async function definitionIn(store: Store): Promise<DefinitionInForce> {
  const { jobs } = await store.load({ jobs: [JOB] })
  const events = await store.events({ job: JOB, limit: MANY })
  const entered = events.filter(({ kind }) => kind === 'defined' || kind === 'redefined').length
  return { hash: jobs.get(JOB)?.header.definition ?? '', entered }
}

async function patiently<T>(act: () => Promise<T>): Promise<T> {
  const giveUpAt = performance.now() + PATIENCE_MS
  for (;;) {
    try {
      return await act()
    } catch (error) {
      if ((error as { code?: unknown }).code !== 'STORE_UNAVAILABLE' || performance.now() > giveUpAt) throw error
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }
}
