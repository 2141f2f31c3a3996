import type { Change, Run, RunWrite } from '../src/ledger/types.js'
import { createMemoryStore, type MemoryStore } from '../src/store/memory/index.js'
import type { Committed, SessionRef, Store } from '../src/store/port.js'
import { hello } from '../src/testing/store/builders.js'

/** A store with one fault, and how the title of a case begins that must notice it. */
export interface BrokenStore {
  readonly name: string
  readonly noticed: string
  make(now: () => number): Store
}

type Fault = (store: MemoryStore) => Partial<Store>

const SURE: SessionRef = { id: 'sure', node: 'sure', leaseMs: 1e12 }

export const BROKEN_STORES: readonly BrokenStore[] = [
  broken('commits whatever has become of the session', 'a commit of a session that is unknown, ended or run out', {
    with: (store) => ({
      commit: async (_, read, changes) => {
        await store.attend(SURE, { hello: hello(), services: [], buckets: new Set(), graceMs: 0, limit: 1 })
        return store.commit(SURE, read, changes)
      },
    }),
  }),
  broken('commits however late it is', 'a commit is in time until a tenth of the lease', {
    with: (store) => ({ commit: (session, _, changes) => store.commit(session, 1e15, changes) }),
  }),
  broken('overwrites a run whose key is taken', 'a key that is taken by a terminal row is a clash', {
    with: (store) => ({
      commit: async (session, read, changes) =>
        store.commit(session, read, await Promise.all(changes.map((change) => expectWhatIsThere(store, change)))),
    }),
  }),
  broken('does not look at the version', 'of two changes of one reading the second is stale', {
    with: (store) => ({
      commit: async (session, read, changes) =>
        store.commit(session, read, await Promise.all(changes.map((change) => expectVersion(store, change)))),
    }),
  }),
  broken('does not look at what was settled meanwhile', 'a settlement between reading and commit makes the job due', {
    with: (store) => ({
      commit: async (session, read, changes) => {
        const { jobs } = await store.load({ jobs: changes.map((change) => change.job) })
        const settled = (change: Change) => jobs.get(change.job)?.tally.settled ?? 0
        const blind = changes.map((change) => ({ ...change, expect: { ...change.expect, settled: settled(change) } }))
        return store.commit(session, read, blind)
      },
    }),
  }),
  broken('calls a change that it has already applied stale', 'a change that comes again counts as won', {
    with: (store) => {
      const seen = new Set<string>()
      return {
        commit: async (session, read, changes) => {
          const committed = await store.commit(session, read, changes)
          const again = new Set(changes.filter((change) => seen.has(change.id)).map((change) => change.job))
          for (const change of changes) seen.add(change.id)
          return relabelled(committed, (job) => again.has(job))
        },
      }
    },
  }),
  broken('settles whatever the token', 'a settlement with another token, attempt, key or job is lost', {
    with: (store) => ({
      settle: async (settlements) => {
        const { runs } = await store.load({ keys: settlements })
        const token = (job: string, key: string) => runs.find((run) => run.job === job && run.key === key)?.token ?? 0
        return store.settle(settlements.map((each) => ({ ...each, token: token(each.job, each.key) })))
      },
    }),
  }),
  broken('settles whatever the attempt', 'the same token with another attempt is not the same attempt', {
    with: (store) => ({
      settle: async (settlements) => {
        const { runs } = await store.load({ keys: settlements })
        const last = (job: string, key: string) => runs.find((run) => run.job === job && run.key === key)?.attemptId
        return store.settle(settlements.map((each) => ({ ...each, attemptId: last(each.job, each.key) ?? '' })))
      },
    }),
  }),
  broken('gives a job another version when it settles', 'grants and a far pause are committed while', {
    with: (store) => ({
      settle: async (settlements) => {
        const results = await store.settle(settlements)
        rewriteJobs(store, (row) => ({ ...row, version: `${row.version}+` }))
        return results
      },
    }),
  }),
  broken('forgets who asked a run to stop', 'a stop that was asked for while the handler ran stays', {
    with: (store) => ({
      settle: async (settlements) => {
        const results = await store.settle(settlements)
        rewriteRuns(store, (run) => (run.state === 'running' ? run : { ...run, stop: null }))
        return results
      },
    }),
  }),
  broken('calls a late settlement an ordinary one', 'a settlement after the session ended, before anybody', {
    with: (store) => ({
      settle: async (settlements) =>
        (await store.settle(settlements)).map((result) => (result === 'late' ? 'settled' : result)),
    }),
  }),
  broken('tells of no strays', 'runs are compared both ways', {
    with: (store) => ({ beat: async (session, beat) => ({ ...(await store.beat(session, beat)), strays: [] }) }),
  }),
  broken('tells of nothing that is gone', 'an attempt whose run was recovered is gone', {
    with: (store) => ({ beat: async (session, beat) => ({ ...(await store.beat(session, beat)), gone: [] }) }),
  }),
  broken('begins a session that it does not know', 'a session that the store does not know is not alive', {
    with: (store) => ({ attend: (session, query) => store.attend(session, { hello: hello(), ...query }) }),
  }),
  broken('ends a page without saying that there is another', 'rows left alone on one page do not hide those', {
    with: (store) => ({ attend: async (session, query) => ({ ...(await store.attend(session, query)), after: null }) }),
  }),
  broken('looks after others’ jobs without grace', 'due jobs come in the order of their instants', {
    with: (store) => ({ attend: (session, query) => store.attend(session, { ...query, graceMs: 0 }) }),
  }),
  broken('does not see that a node came back', 'a node that has begun another session since', {
    with: (store) => ({
      attend: async (session, query) => {
        const seen = await store.attend(session, query)
        const ended = new Map([...seen.ended].map(([id, end]) => [id, { ...end, returned: false }]))
        return { ...seen, ended }
      },
    }),
  }),
  broken('keeps fourteen digits of a number', 'tokens are kept to the last digit', {
    with: (store) => ({
      commit: (session, read, changes) =>
        store.commit(
          session,
          read,
          changes.map((change) => mapRuns(change, (run) => ({ ...run, token: short(run.token) }))),
        ),
    }),
  }),
  broken('writes text in another normal form', 'jobs and keys of any name are different jobs', {
    with: (store) => ({
      commit: (session, read, changes) =>
        store.commit(
          session,
          read,
          changes.map((change) => mapRuns(change, (run) => ({ ...run, key: run.key.normalize('NFC') }))),
        ),
    }),
  }),
  broken('prunes whatever ended', 'manual and backfill runs and requests stay', {
    with: (store) => ({
      prune: async (query) => {
        const gone = rewriteRuns(store, (run) => (run.endedAt !== null && run.endedAt < query.before ? null : run))
        return gone + (await store.prune(query))
      },
    }),
  }),
  broken('pages runs by their instant alone', 'runs are paged from the newest, also where many', {
    with: (store) => ({
      runs: ({ before, ...query }) =>
        store.runs({ ...query, ...(before && { before: { createdAt: before.createdAt, key: '', job: '' } }) }),
    }),
  }),
  {
    name: 'renews a session that has run out',
    noticed: 'a beat after the lease has passed renews nothing',
    make: (now) => {
      // For the length of a beat the store's clock is set back so far that no session has run out.
      const back = 1e9
      let shift = 0
      const store = createMemoryStore({ now: () => now() - shift })
      const beat: Store['beat'] = async (session, sent) => {
        shift = back
        const reply = store.beat({ ...session, leaseMs: session.leaseMs + back }, sent)
        shift = 0
        return { ...(await reply), now: now() }
      }
      return { ...store, beat }
    },
  },
]

function broken(name: string, noticed: string, { with: fault }: { with: Fault }): BrokenStore {
  return {
    name,
    noticed,
    make: (now) => {
      const store = createMemoryStore({ now })
      return { ...store, ...fault(store) }
    },
  }
}

function mapRuns(change: Change, map: (run: Run) => Run): Change {
  return { ...change, runs: change.runs.map((write) => ({ ...write, run: map(write.run) })) }
}

function short(value: number): number {
  return Number(value.toPrecision(14))
}

async function expectWhatIsThere(store: Store, change: Change): Promise<Change> {
  const { runs } = await store.load({ keys: change.runs.map(({ run }) => run) })
  const there = (write: RunWrite): RunWrite => {
    const found = runs.find((run) => run.key === write.run.key)
    return write.expect === null && found ? { ...write, expect: { state: found.state, token: found.token } } : write
  }
  return { ...change, runs: change.runs.map(there) }
}

async function expectVersion(store: Store, change: Change): Promise<Change> {
  const version = (await store.load({ jobs: [change.job] })).jobs.get(change.job)?.version ?? null
  return { ...change, expect: { ...change.expect, version } }
}

function relabelled(committed: Committed, isStale: (job: string) => boolean): Committed {
  if (committed.expired) return committed
  const results = committed.results.map((result) =>
    isStale(result.job) ? { job: result.job, outcome: 'stale' as const } : result,
  )
  return { ...committed, results }
}

type Jobs = ReturnType<MemoryStore['snapshot']>['tables']['jobs']

function rewriteJobs(store: MemoryStore, map: (row: Jobs[number]['row']) => Jobs[number]['row']): void {
  const { tables } = store.snapshot()
  store.restore({ tables: { ...tables, jobs: tables.jobs.map((job) => ({ ...job, row: map(job.row) })) } })
}

/** Changes or removes runs behind the store's back; gives how many were removed. */
function rewriteRuns(store: MemoryStore, map: (run: Run) => Run | null): number {
  const { tables } = store.snapshot()
  let removed = 0
  const jobs = tables.jobs.map((job) => ({
    ...job,
    runs: job.runs.flatMap((row) => {
      const run = map(row.run)
      if (run === null) removed++
      return run === null ? [] : [{ ...row, run }]
    }),
  }))
  store.restore({ tables: { ...tables, jobs } })
  return removed
}
