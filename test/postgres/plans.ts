import { randomUUID } from 'node:crypto'
import pg from 'pg'
import type { Store } from '../../src/store/port.js'
import type { PostgresClient, PostgresPool } from '../../src/store/postgres/index.js'
import {
  change,
  creation,
  event,
  fresh,
  granted,
  hello,
  over,
  queued,
  settlement,
} from '../../src/testing/store/builders.js'
import type { PostgresPlace } from './place.js'

/** A step of a plan as the server tells it, with what it did. */
interface Step {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Index Name'?: string
  readonly 'Index Cond'?: string
  readonly 'Actual Rows'?: number
  readonly 'Actual Loops'?: number
  readonly 'Rows Removed by Filter'?: number
  readonly 'Rows Removed by Index Recheck'?: number
  readonly Plans?: readonly Step[]
}

/** What one statement did: its text, and its plan. */
interface Told {
  readonly sql: string
  readonly plan: Step
}

/** Rows that a statement of the loop may look at in one table, however many there are. */
const FEW = 1_000

/** Fleet of the suite's worlds, whose rows are there when the plans are asked for. */
const FLEET = 'billing-test'

/** One line for each step of a loop's work that reads many rows of `job` or `run`, or goes by no more than the fleet. */
export async function scans(place: PostgresPlace, url: string): Promise<string[]> {
  const explained = await explaining(url)
  const found = await scansOn(explained, place)
  await explained.end()
  return found
}

/** The same on connections that are kept, and with them the plans that were made on them before. */
export async function scansOn({ pool, told }: Explained, place: PostgresPlace): Promise<string[]> {
  const store = place.storeOn(pool, FLEET)
  await store.open()
  await work(store)
  await store.close()
  return badSteps(told.splice(0))
}

export function badSteps(told: readonly Told[]): string[] {
  return told.flatMap(({ sql, plan }) =>
    steps(plan)
      .filter((step) => step['Relation Name'] === 'job' || step['Relation Name'] === 'run')
      .filter((step) => step['Node Type'] === 'Seq Scan' || rowsSeen(step) > FEW || isWide(step))
      .map((step) => {
        const how = `${step['Node Type']} of ${step['Relation Name']} by ${step['Index Name']} ${step['Index Cond']}`
        return `${how}, ${rowsSeen(step)} rows, in: ${sql.trim().replace(/\s+/g, ' ').slice(0, 100)}`
      }),
  )
}

/** By an index, but by nothing more of it than the fleet. */
function isWide(step: Step): boolean {
  return (
    /Index/.test(step['Node Type']) && !/\b(job|live_job|service|holder|attempt_id)\b/.test(step['Index Cond'] ?? '')
  )
}

function rowsSeen(step: Step): number {
  const removed = (step['Rows Removed by Filter'] ?? 0) + (step['Rows Removed by Index Recheck'] ?? 0)
  return ((step['Actual Rows'] ?? 0) + removed) * (step['Actual Loops'] ?? 1)
}

function steps(step: Step): Step[] {
  return [step, ...(step.Plans ?? []).flatMap(steps)]
}

/** A pool whose server tells the plan of every statement, those inside functions too. */
export interface Explained {
  readonly pool: PostgresPool
  readonly told: Told[]
  end(): Promise<void>
}

export async function explaining(url: string): Promise<Explained> {
  const told: Told[] = []
  const clients: pg.Client[] = []
  const connect = async () => {
    const client = new pg.Client(url)
    clients.push(client)
    await client.connect()
    client.on('notice', ({ message = '' }) => {
      const [, json] = /plan:\n(\{[\s\S]*\})\s*$/.exec(message) ?? []
      if (json === undefined) return
      const { 'Query Text': sql, Plan: plan } = JSON.parse(json) as { 'Query Text': string; Plan: Step }
      told.push({ sql, plan })
    })
    await client.query(`
      LOAD 'auto_explain'; SET auto_explain.log_min_duration = 0; SET auto_explain.log_nested_statements = on;
      SET auto_explain.log_analyze = on; SET auto_explain.log_format = json; SET client_min_messages = log`)
    return Object.assign(client, { release: () => {} }) as unknown as PostgresClient
  }
  const free: Promise<PostgresClient>[] = []
  const pool = {
    connect: async () => {
      const client = await (free.pop() ?? connect())
      return Object.assign(client, { release: () => void free.push(Promise.resolve(client)) })
    },
  }
  return { pool, told, end: async () => void (await Promise.all(clients.map((client) => client.end()))) }
}

/** Everything that a node does with its store, once. */
export async function work(store: Store): Promise<void> {
  const tag = randomUUID().slice(0, 8)
  const session = { id: `session ${tag}`, node: `node ${tag}`, leaseMs: 600_000 }
  const buckets = new Set(Array.from({ length: 128 }, (_, i) => i))
  const query = { services: ['billing'], buckets, graceMs: 1_000, limit: 10 }
  const { now } = await store.attend(session, { ...query, hello: hello() })
  const job = 'billing:planned'
  const run = queued(job, tag, { createdAt: now })
  const parts = { runs: [fresh(run)], events: [event(tag, job)] }
  const read = async () => (await store.load({ jobs: [job], keys: [{ job, key: tag }], requests: [tag] })).jobs.get(job)
  const before = await read()
  const made = before ? change(`made ${tag}`, before, parts) : creation(`made ${tag}`, job, parts)
  await store.commit(session, now, [made])
  const after = await read()
  if (!after) throw new Error('the job was made just now')
  const mine = granted(run, { session: session.id, attemptId: `${tag}.1`, token: 1, at: now })
  const grant = change(`grant ${tag}`, after, { runs: [over(run, mine)] })
  const late = change(`late ${tag}`, after, { runs: [over(run, mine)] })
  const clash = change(`clash ${tag}`, { ...after, version: grant.id }, { runs: [fresh(run)] })
  const results: string[] = []
  for (const one of [grant, late, clash]) {
    const committed = await store.commit(session, now, [one])
    results.push(committed.expired ? 'expired' : (committed.results[0]?.outcome ?? ''))
  }
  await store.beat(session, { ...query, attempts: [`${tag}.1`], room: true })
  const page = await store.attend(session, query)
  if (page.after !== null) await store.attend(session, { ...query, after: page.after })
  await store.load({ attempts: [`${tag}.1`] })
  results.push(...(await store.settle([settlement(mine, now)])), ...(await store.settle([settlement(mine, now)])))
  await store.beat(session, { ...query, attempts: [], room: true, end: true })
  const expected = ['won', 'stale', 'clash', 'settled', 'settled']
  if (results.join() !== expected.join()) throw new Error(`The work came out as ${results}.`)
}
