import type { Change, Run } from '../../src/ledger/types.js'
import type { CommitResult, SessionRef, Store } from '../../src/store/port.js'
import { creation, fresh, granted, header, hello, queued, SERVICE } from '../../src/testing/store/builders.js'

/** A node's session with a store, as tests need it: by the server's real clock. */
export class TestSession {
  readonly ref: SessionRef
  readonly #store: Store

  private constructor(store: Store, ref: SessionRef) {
    this.#store = store
    this.ref = ref
  }

  static async begin(store: Store, id = 's', leaseMs = 60_000): Promise<TestSession> {
    const session = new TestSession(store, { id, node: `node of ${id}`, leaseMs })
    await session.attend({ hello: hello() })
    return session
  }

  attend(more: { readonly hello?: ReturnType<typeof hello> } = {}) {
    return this.#store.attend(this.ref, { ...QUERY, ...more })
  }

  beat(attempts: readonly string[] = []) {
    return this.#store.beat(this.ref, { ...QUERY, attempts, room: true })
  }

  /** Commits by what the store says is the time. */
  async commit(...changes: Change[]): Promise<readonly CommitResult[] | 'expired'> {
    const { now } = await this.#store.load({})
    const committed = await this.#store.commit(this.ref, now, changes)
    return committed.expired ? 'expired' : committed.results
  }

  async outcomes(...changes: Change[]): Promise<readonly string[]> {
    const results = await this.commit(...changes)
    return results === 'expired' ? ['expired'] : results.map((result) => result.outcome)
  }

  /** Makes jobs, each with runs that this session is running, all in one commit. */
  async running(jobs: readonly string[], runs = 1): Promise<Run[]> {
    const made = jobs.map((job) => {
      const rows = Array.from({ length: runs }, (_, i) => {
        const waiting = queued(job, `k${i}`, { position: i })
        return granted(waiting, { session: this.ref.id, attemptId: `${job}.${i}.1`, token: i + 1, at: 0 })
      })
      return creation(`made ${job}`, job, { header: header(job), runs: rows.map(fresh) })
    })
    await this.commit(...made)
    return made.flatMap((change) => change.runs.map((write) => write.run))
  }

  async read(job: string) {
    const found = (await this.#store.load({ jobs: [job] })).jobs.get(job)
    if (!found) throw new Error(`The job ${job} exists.`)
    return found
  }
}

const ALL = new Set(Array.from({ length: 256 }, (_, bucket) => bucket))
const QUERY = { services: [SERVICE], buckets: ALL, graceMs: 0, limit: 100 }
