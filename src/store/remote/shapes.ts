import type {
  Attempt,
  CatchUp,
  Change,
  Covers,
  Definition,
  JobHeader,
  LedgerEvent,
  Pause,
  Retry,
  Run,
  RunError,
  RunWrite,
  Settlement,
  Stop,
  StoredDefinition,
} from '../../ledger/types.js'
import {
  type Check,
  finite,
  flag,
  list,
  oneOf,
  optional,
  orNull,
  shape,
  text,
  whole,
  wholeFrom,
  word,
} from './checks.js'

/** The ledger's rows as they may arrive from a node. */

const FAILURES = oneOf('reset', 'count', 'keep')
const COUNT = wholeFrom(0, Number.MAX_SAFE_INTEGER)

const stop = shape<Stop>({ kind: word, at: finite, by: text, why: orNull(text) })

const attempt = shape<Attempt>({
  id: text,
  session: text,
  node: text,
  token: COUNT,
  startedAt: finite,
  endedAt: orNull(finite),
  outcome: orNull(word),
  note: orNull(text),
})

const run = shape<Run>({
  job: text,
  key: text,
  cause: word,
  lane: word,
  state: word,
  reason: orNull(text),
  covers: orNull(shape<Covers>({ from: text, to: text, count: COUNT })),
  scheduledAt: finite,
  date: text,
  since: orNull(finite),
  resource: text,
  definition: text,
  data: orNull(text),
  retryOf: orNull(text),
  position: whole,
  place: flag,
  readyAt: whole,
  attempt: COUNT,
  attemptId: orNull(text),
  session: orNull(text),
  token: COUNT,
  stop: orNull(stop),
  retries: COUNT,
  recoveries: COUNT,
  repeats: COUNT,
  attempts: list(attempt),
  createdAt: whole,
  startedAt: orNull(finite),
  endedAt: orNull(whole),
  result: orNull(text),
  error: orNull(shape<RunError>({ name: text, message: text, stack: orNull(text) })),
})

const zoned = { timeZone: text, dstGap: word }
const cron = shape<{ cron: string; timeZone: string; dstGap: string }>({ cron: text, ...zoned })
const at = shape<{ at: string; timeZone: string; dstGap: string }>({ at: text, ...zoned })
const every = shape<{ every: number }>({ every: finite })

const schedule: Check = (value, where) => {
  const fields = typeof value === 'object' && value !== null ? value : {}
  const kind = 'cron' in fields ? cron : 'at' in fields ? at : every
  kind(value, where)
}

const definition = shape<Definition>({
  schedule: orNull(schedule),
  concurrency: finite,
  queue: finite,
  overlap: word,
  catchUp: shape<CatchUp>({ policy: word, withinMs: orNull(finite), most: finite }),
  retry: shape<Retry>({ limit: finite, delayMs: finite, factor: finite, maxDelayMs: finite }),
  recover: finite,
  timeoutMs: orNull(finite),
  pauseAfter: orNull(finite),
  graceMs: finite,
  fence: flag,
  resource: optional(text),
  pokeGraceMs: optional(finite),
  handler: optional(text),
  data: optional(text),
})

const storedDefinition = shape<StoredDefinition>({
  hash: text,
  content: definition,
  seq: COUNT,
  enteredAt: whole,
  release: orNull(text),
})

const header = shape<JobHeader>({
  job: text,
  service: text,
  name: text,
  bucket: wholeFrom(0, 255),
  definition: text,
  definitionSeq: COUNT,
  anchor: finite,
  cursor: shape<JobHeader['cursor']>({ instant: finite, label: text }),
  wakeAt: orNull(whole),
  lastToken: COUNT,
  waiting: shape<JobHeader['waiting']>({ schedule: COUNT, manual: COUNT, backlog: COUNT }),
  turn: word,
  position: whole,
  pause: orNull(shape<Pause>({ since: finite, until: orNull(finite), by: text, why: orNull(text) })),
  retired: flag,
  lastFate: orNull(shape<NonNullable<JobHeader['lastFate']>>({ key: text, run })),
})

const event = shape<LedgerEvent>({
  id: text,
  at: whole,
  job: text,
  kind: word,
  by: text,
  why: orNull(text),
  data: orNull(text),
})

const expected = shape<NonNullable<RunWrite['expect']>>({ state: word, token: COUNT })

export const change = shape<Change>({
  id: text,
  job: text,
  expect: shape<Change['expect']>({ version: orNull(text), settled: COUNT }),
  header,
  failures: FAILURES,
  runs: list(shape<RunWrite>({ run, expect: orNull(expected) })),
  definition: orNull(storedDefinition),
  events: list(event),
})

export const settlement = shape<Settlement>({
  job: text,
  key: text,
  token: COUNT,
  attemptId: text,
  run,
  failures: FAILURES,
  wakeAt: orNull(whole),
  succeededUntil: orNull(whole),
  tokenFloor: orNull(COUNT),
})
