import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import type { Change, Run } from '../../src/ledger/types.js'
import type { NodeHello, Store } from '../../src/store/port.js'
import { createSqliteStore } from '../../src/store/sqlite/index.js'
import {
  buckets,
  change,
  creation,
  event,
  fresh,
  granted,
  header,
  hello,
  queued,
  settlement,
} from '../../src/testing/store/builders.js'

export const FLEET = 'billing-test'

/** A ledger in a file, brought into a state by hand, under a clock that stands still unless it is turned. */
export class PreparedLedger {
  readonly folder = mkdtempSync(join(tmpdir(), 'prepared-'))
  readonly path = join(this.folder, 'ledger.db')
  readonly url = `sqlite:${this.path}`
  readonly store: Store
  now: number
  #ids = 0

  constructor(now: number) {
    this.now = now
    this.store = createSqliteStore({
      path: this.path,
      fleet: FLEET,
      now: () => this.now,
      driver: (file) => new Database(file),
    })
  }

  static async make(now: number): Promise<PreparedLedger> {
    const ledger = new PreparedLedger(now)
    await ledger.store.open()
    return ledger
  }

  async remove(): Promise<void> {
    await this.store.close()
    rmSync(this.folder, { recursive: true })
  }

  async node(label: string, said: Partial<NodeHello> = {}, leaseMs = 10_000) {
    const session = { id: `session-${label}`, node: `node-${label}`, leaseMs }
    const query = { services: [], buckets: buckets(), graceMs: 0, limit: 1 }
    await this.store.attend(session, { ...query, hello: hello({ label, ...said }) })
    return session
  }

  async job(job: string, over: Partial<Change> & { head?: Parameters<typeof header>[1] } = {}): Promise<void> {
    const { head, ...rest } = over
    const name = job.slice(job.indexOf(':') + 1)
    const service = job.slice(0, job.indexOf(':'))
    await this.#commit(creation(this.#id(), job, { header: header(job, { name, service, ...head }), ...rest }))
  }

  async change(job: string, over: Parameters<typeof change>[2]): Promise<void> {
    const read = (await this.store.load({ jobs: [job] })).jobs.get(job)
    if (!read) throw new Error(`There is no ${job}.`)
    await this.#commit(change(this.#id(), read, over))
  }

  /** A run that a node holds. */
  async running(session: { id: string }, job: string, key: string, over: Partial<Run> = {}): Promise<Run> {
    const waiting = queued(job, key, { createdAt: this.now, scheduledAt: this.now, ...over })
    const run = granted(waiting, { session: session.id, attemptId: `${job} ${key}.1`, token: 7, at: this.now })
    await this.change(job, { runs: [fresh({ ...run, ...over })] })
    return { ...run, ...over }
  }

  async settled(run: Run, over: Partial<Run> = {}): Promise<void> {
    const ended: Run = { ...run, state: 'succeeded', place: false, endedAt: this.now, result: '{"made":3}', ...over }
    const failures = ended.state === 'failed' ? 'count' : 'reset'
    await this.store.settle([settlement(run, this.now, { run: ended, failures })])
  }

  /** Spoils the job's header behind the store's back. */
  spoil(job: string): void {
    const database = new Database(this.path)
    database.prepare(`UPDATE job SET header = '{' WHERE job = ?`).run(job)
    database.close()
  }

  async #commit(made: Change): Promise<void> {
    const session = await this.node('founder', { attends: false, services: [] })
    const committed = await this.store.commit(session, this.now, [made])
    const result = committed.expired ? null : committed.results[0]
    if (result?.outcome !== 'won') throw new Error(`not prepared: ${JSON.stringify(result)}`)
  }

  #id(): string {
    return `change-${++this.#ids}`
  }
}

export { event, queued }
