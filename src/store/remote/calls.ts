import type {
  AttendQuery,
  Beat,
  EventsQuery,
  JobsQuery,
  LoadQuery,
  NodeHello,
  PruneQuery,
  RunsQuery,
  SessionRef,
  Store,
} from '../port.js'
import {
  type Check,
  finite,
  flag,
  list,
  Malformed,
  optional,
  orNull,
  record,
  shape,
  text,
  whole,
  wholeFrom,
  word,
} from './checks.js'
import { change, settlement } from './shapes.js'

/** One method of the port: what its body has to be, and how it is carried out. Its result is plain JSON. */
export interface Call {
  readonly check: Check
  readonly act: (store: Store, body: never) => Promise<unknown>
}

const BUCKETS = list(wholeFrom(0, 255))
const LIMIT = wholeFrom(0, 100_000)
const TEXTS = list(text)

const session = shape<SessionRef>({ id: text, node: text, leaseMs: wholeFrom(1, 86_400_000) })

const hello = shape<NodeHello>({
  label: text,
  services: TEXTS,
  attends: flag,
  manifest: record(text),
  zoneData: text,
  release: orNull(text),
})

const attendQuery = shape<AttendQuery>({
  hello: optional(hello),
  services: TEXTS,
  buckets: BUCKETS,
  graceMs: finite,
  limit: LIMIT,
  after: optional(text),
})

const beat = shape<Beat>({
  services: TEXTS,
  buckets: BUCKETS,
  attempts: TEXTS,
  room: flag,
  end: optional(flag),
})

const loadQuery = shape<LoadQuery>({
  jobs: optional(TEXTS),
  attempts: optional(TEXTS),
  keys: optional(list(shape<{ job: string; key: string }>({ job: text, key: text }))),
  requests: optional(TEXTS),
  nodes: optional(flag),
})

const beforeRun = shape<NonNullable<RunsQuery['before']>>({ createdAt: whole, key: text, job: text })
const beforeEvent = shape<NonNullable<EventsQuery['before']>>({ at: whole, id: text })

const runsQuery = shape<RunsQuery>({
  job: optional(text),
  states: optional(list(word)),
  before: optional(beforeRun),
  limit: LIMIT,
})
const jobsQuery = shape<JobsQuery>({ service: optional(text), after: optional(text), limit: LIMIT })
const eventsQuery = shape<EventsQuery>({ job: optional(text), before: optional(beforeEvent), limit: LIMIT })
const pruneQuery = shape<PruneQuery>({ before: whole, limit: LIMIT })

interface Asked<Query> {
  readonly query: Query
}

/** A query as it is sent: its Set is a list. */
type Sent<Query> = Omit<Query, 'buckets'> & { readonly buckets: readonly number[] }

/** Every method but `close` and `subscribe`. */
export const CALLS: ReadonlyMap<string, Call> = new Map<string, Call>([
  ['open', call<object>({}, opened)],
  [
    'attend',
    call<{ session: SessionRef; query: Sent<AttendQuery> }>({ session, query: attendQuery }, async (store, body) => {
      const attend = () => store.attend(body.session, { ...body.query, buckets: new Set(body.query.buckets) })
      const seen = await (body.query.after === undefined ? attend() : attend().catch(notAMark))
      return { ...seen, ended: [...seen.ended] }
    }),
  ],
  [
    'load',
    call<Asked<LoadQuery>>({ query: loadQuery }, async (store, { query }) => {
      const loaded = await store.load(query)
      return { ...loaded, jobs: [...loaded.jobs], definitions: [...loaded.definitions] }
    }),
  ],
  [
    'commit',
    call<{ session: SessionRef; now: number; changes: Parameters<Store['commit']>[2] }>(
      { session, now: whole, changes: list(change) },
      (store, body) => store.commit(body.session, body.now, body.changes),
    ),
  ],
  [
    'settle',
    call<{ settlements: Parameters<Store['settle']>[0] }>({ settlements: list(settlement) }, (store, body) =>
      store.settle(body.settlements),
    ),
  ],
  [
    'beat',
    call<{ session: SessionRef; beat: Sent<Beat> }>({ session, beat }, (store, body) =>
      store.beat(body.session, { ...body.beat, buckets: new Set(body.beat.buckets) }),
    ),
  ],
  ['jobs', call<Asked<JobsQuery>>({ query: jobsQuery }, (store, { query }) => store.jobs(query))],
  ['runs', call<Asked<RunsQuery>>({ query: runsQuery }, (store, { query }) => store.runs(query))],
  ['events', call<Asked<EventsQuery>>({ query: eventsQuery }, (store, { query }) => store.events(query))],
  ['prune', call<Asked<PruneQuery>>({ query: pruneQuery }, (store, { query }) => store.prune(query))],
])

function call<Body>(
  checks: Parameters<typeof shape<Body>>[0],
  act: (store: Store, body: Body) => Promise<unknown>,
): Call {
  return { check: shape<Body>(checks), act }
}

/** Asks again what the store is: it may have been wiped or restored since it was opened first. */
async function opened(store: Store): Promise<unknown> {
  const info = await store.open()
  await store.close()
  return info
}

/** The place where a page ended is the store's own word; one that it cannot read did not come from it. */
function notAMark(error: unknown): never {
  if (error instanceof SyntaxError || error instanceof TypeError)
    throw new Malformed('query.after is not from this store')
  throw error
}
