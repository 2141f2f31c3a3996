import assert from 'node:assert/strict'
import type { Aggregate, Change, JobHeader, Run } from '../../ledger/types.js'
import type { Attendance, AttendQuery, Beat, BeatReply, Committed, SessionRef, Store } from '../../store/port.js'
import {
  buckets,
  change,
  creation,
  fresh,
  granted,
  header,
  hello,
  LEASE_MS,
  over,
  queued,
  SECOND,
  SERVICE,
  START,
  stored,
} from './builders.js'

/** An empty place for ledgers; each test of the suite opens one of its own. */
export interface StorePlace {
  /** A further client of this fleet's ledger, not opened yet. A store whose clients share one object may give it again. */
  connect(fleet: string): Store | Promise<Store>
  /** Closes what is open and removes the place. */
  close(): void | Promise<void>
  /**
   * For stores with a query planner: one line for each statement of the loop that would read a whole table of jobs or
   * runs. Asked with many rows in place; the suite wants none.
   */
  fullScans?(): readonly string[] | Promise<readonly string[]>
  /**
   * Spoils a row behind the store's back, as a hand in the database or half a restore does, with statements of its own:
   * - `definition`: removes the row of the job's definition in force;
   * - `header`: puts `{` in the place of the job's header, or `[]` where the engine takes nothing but JSON;
   * - `run`: the same in the place of what is kept of the job's run with the key `k`, its columns left as they are.
   * A place whose rows nobody can reach says `spoils: false` to the suite.
   */
  spoil?(fleet: string, job: string, row: SpoiltRow): void | Promise<void>
}

export type SpoiltRow = 'definition' | 'header' | 'run'

/** Opens a place whose stores go by this clock, epoch milliseconds. */
export type OpenPlace = (now: () => number) => StorePlace | Promise<StorePlace>

export type Case = (world: World) => Promise<void>
export type Cases = Readonly<Record<string, Case>>

const FLEET = 'billing-test'

/** Makes a test of a case: a world of its own, closed afterwards. */
export function inWorld(open: OpenPlace, run: Case): () => Promise<void> {
  return async () => {
    const clock = { now: START }
    const place = await open(() => clock.now)
    const stores: Store[] = []
    try {
      const connect = async (fleet = FLEET) => {
        const store = await place.connect(fleet)
        await store.open()
        stores.push(store)
        return store
      }
      await run(new World(clock, await connect(), connect, place))
    } finally {
      for (const store of stores) await store.close()
      await place.close()
    }
  }
}

/** A ledger with a turned clock, and short ways to bring it into a state. */
export class World {
  readonly clock: { now: number }
  readonly store: Store
  readonly connect: (fleet?: string) => Promise<Store>
  readonly place: StorePlace
  #ids = 0
  #founder: SessionRef | null = null

  constructor(clock: { now: number }, store: Store, connect: World['connect'], place: StorePlace) {
    this.clock = clock
    this.store = store
    this.connect = connect
    this.place = place
  }

  get now(): number {
    return this.clock.now
  }

  pass(ms: number): void {
    this.clock.now += ms
  }

  id(what = 'id'): string {
    return `${what}-${++this.#ids}`
  }

  /** Begins a session, by default of a node of its own. */
  async begin(said: Partial<SessionRef> & { label?: string } = {}): Promise<SessionRef> {
    const { label = 'host#1', id = this.id('session'), node = this.id('node'), leaseMs = LEASE_MS } = said
    const session = { id, node, leaseMs }
    const { alive } = await this.attend(session, { hello: hello({ label }) })
    assert.equal(alive, true, 'a session that has begun is alive')
    return session
  }

  attend(session: SessionRef, query: Partial<AttendQuery> = {}, store = this.store): Promise<Attendance> {
    return store.attend(session, { services: [SERVICE], buckets: buckets(), graceMs: SECOND, limit: 100, ...query })
  }

  beat(session: SessionRef, sent: Partial<Beat> = {}, store = this.store): Promise<BeatReply> {
    return store.beat(session, { services: [SERVICE], buckets: buckets(), attempts: [], room: true, ...sent })
  }

  /** A session that holds no run, and so never runs out. */
  async founder(): Promise<SessionRef> {
    this.#founder ??= await this.begin({ label: 'founder' })
    return this.#founder
  }

  async commit(session: SessionRef, ...changes: Change[]): Promise<Committed> {
    return this.store.commit(session, this.now, changes)
  }

  /** Commits as the founder; every change must be won. */
  async won(...changes: Change[]): Promise<void> {
    assert.deepEqual(
      outcomes(await this.commit(await this.founder(), ...changes)),
      changes.map(() => 'won'),
    )
  }

  /** Makes a job, with runs that wait. */
  async job(job: string, head: Partial<JobHeader> = {}, runs: readonly Run[] = []): Promise<Aggregate> {
    await this.won(creation(this.id('change'), job, { header: header(job, head), runs: runs.map(fresh) }))
    return this.read(job)
  }

  /** Makes a job with one queued run `k` and gives that run to a session. */
  async running(session: SessionRef, job: string, head: Partial<JobHeader> = {}): Promise<Run> {
    await this.job(job, head, [queued(job, 'k')])
    return this.grant(session, job, 'k')
  }

  /** Spoils a row of a job raw: see `StorePlace.spoil`. */
  async spoil(job: string, row: SpoiltRow): Promise<void> {
    assert.ok(this.place.spoil, 'a place gives the hook `spoil`, or the suite is told `spoils: false`')
    await this.place.spoil(FLEET, job, row)
  }

  async read(job: string, store = this.store): Promise<Aggregate> {
    const { jobs } = await store.load({ jobs: [job] })
    const found = jobs.get(job)
    assert.ok(found, `the job ${job} exists`)
    return found
  }

  /** Enters a further definition of a job; by default with a hash of its own. */
  async enter(job: string, seq: number, hash = `hash-${seq}`): Promise<void> {
    const head = { definition: hash, definitionSeq: seq }
    const definition = stored({ hash, seq, enteredAt: this.now })
    await this.won(change(this.id('change'), await this.read(job), { head, definition }))
  }

  /** Another session takes the founder's place. */
  async restart(): Promise<void> {
    this.#founder = null
    await this.founder()
  }

  async run(job: string, key: string, store = this.store): Promise<Run | undefined> {
    const { runs } = await store.load({ keys: [{ job, key }] })
    return runs[0]
  }

  /** Gives a run to a new attempt of a session. */
  async grant(session: SessionRef, job: string, key: string, head: Partial<JobHeader> = {}): Promise<Run> {
    const read = await this.read(job)
    const before = await this.run(job, key)
    assert.ok(before, `the run ${key} of ${job} exists`)
    const token = Math.max(read.header.lastToken + 1, this.now * 1_000, read.tally.tokenFloor)
    const id = this.id('change')
    const run = granted(before, { session: session.id, attemptId: `${id}.1`, token, at: this.now })
    const result = await this.commit(
      session,
      change(id, read, { head: { lastToken: token, ...head }, runs: [over(before, run)] }),
    )
    assert.deepEqual(outcomes(result), ['won'])
    return run
  }
}

/** The outcomes of a commit in order, or `expired`. */
export function outcomes(committed: Committed): string[] | 'expired' {
  return committed.expired ? 'expired' : committed.results.map((result) => result.outcome)
}
