import type {
  Aggregate,
  Change,
  Definition,
  JobHeader,
  LedgerEvent,
  Run,
  RunWrite,
  Settlement,
  StoredDefinition,
} from '../../ledger/types.js'
import type { NodeHello } from '../../store/port.js'

/**
 * Rows and changes for the suite, made by hand: a store is held against its contract, whatever the ledger's policies do.
 */

export const SECOND = 1_000
export const MINUTE = 60 * SECOND
export const HOUR = 60 * MINUTE
export const DAY = 24 * HOUR

/** When a world of the suite begins: 2026-11-29T00:00Z. */
export const START = Date.UTC(2026, 10, 29)

export const LEASE_MS = 10 * SECOND

export const SERVICE = 'billing'

function definition(over: Partial<Definition> = {}): Definition {
  return {
    schedule: { cron: '0 0 * * *', timeZone: 'Europe/Helsinki', dstGap: 'next' },
    concurrency: 1,
    queue: 100,
    overlap: 'skip',
    catchUp: { policy: 'merge', withinMs: null, most: 100 },
    retry: { limit: 0, delayMs: 0, factor: 2, maxDelayMs: MINUTE },
    recover: 3,
    timeoutMs: null,
    pauseAfter: null,
    graceMs: MINUTE,
    fence: true,
    ...over,
  }
}

export function stored(over: Partial<StoredDefinition> = {}): StoredDefinition {
  return { hash: 'hash-1', content: definition(), seq: 1, enteredAt: START, release: null, ...over }
}

export function header(job: string, over: Partial<JobHeader> = {}): JobHeader {
  return {
    job,
    service: SERVICE,
    name: job,
    bucket: 7,
    definition: 'hash-1',
    definitionSeq: 1,
    anchor: START,
    cursor: { instant: START, label: '2026-11-29T02:00' },
    wakeAt: null,
    lastToken: 0,
    waiting: { schedule: 0, manual: 0, backlog: 0 },
    turn: 'schedule',
    position: 1,
    pause: null,
    retired: false,
    lastFate: null,
    ...over,
  }
}

/** A queued run. */
export function queued(job: string, key: string, over: Partial<Run> = {}): Run {
  return {
    job,
    key,
    cause: 'schedule',
    lane: 'schedule',
    state: 'queued',
    reason: null,
    covers: { from: key, to: key, count: 1 },
    scheduledAt: START,
    date: '2026-11-29',
    since: null,
    resource: `fleet/${job}`,
    definition: 'hash-1',
    data: null,
    retryOf: null,
    position: 1,
    place: false,
    readyAt: START,
    attempt: 0,
    attemptId: null,
    session: null,
    token: 0,
    stop: null,
    retries: 0,
    recoveries: 0,
    repeats: 0,
    attempts: [],
    createdAt: START,
    startedAt: null,
    endedAt: null,
    result: null,
    error: null,
    ...over,
  }
}

/** The run as it stands once it was given to an attempt. */
export function granted(run: Run, grant: { session: string; attemptId: string; token: number; at: number }): Run {
  const { session, attemptId, token, at } = grant
  const begun = {
    id: attemptId,
    session,
    node: 'host#1',
    token,
    startedAt: at,
    endedAt: null,
    outcome: null,
    note: null,
  }
  return {
    ...run,
    state: 'running',
    place: true,
    attempt: run.attempt + 1,
    attemptId,
    session,
    token,
    startedAt: run.startedAt ?? at,
    attempts: [...run.attempts, begun],
  }
}

/** The end of a running run's attempt; it succeeded unless told otherwise. */
export function settlement(run: Run, at: number, over: Partial<Settlement> = {}): Settlement {
  const ended: Run = { ...run, state: 'succeeded', place: false, endedAt: at, result: '"done"' }
  return {
    job: run.job,
    key: run.key,
    token: run.token,
    attemptId: run.attemptId ?? '',
    run: ended,
    failures: 'reset',
    wakeAt: null,
    succeededUntil: run.scheduledAt,
    tokenFloor: null,
    ...over,
  }
}

export function event(id: string, job: string, over: Partial<LedgerEvent> = {}): LedgerEvent {
  return { id, at: START, job, kind: 'triggered', by: 'ada', why: null, data: null, ...over }
}

/** The first change of a job. */
export function creation(id: string, job: string, over: Partial<Change> = {}): Change {
  return {
    id,
    job,
    expect: { version: null, settled: 0 },
    header: header(job),
    failures: 'keep',
    runs: [],
    definition: stored(),
    events: [],
    ...over,
  }
}

/** A change of a job as it was read. */
export function change(
  id: string,
  read: Aggregate,
  over: Partial<Change> & { head?: Partial<JobHeader> } = {},
): Change {
  const { head, ...rest } = over
  return {
    id,
    job: read.header.job,
    expect: { version: read.version, settled: read.tally.settled },
    header: { ...read.header, ...head },
    failures: 'keep',
    runs: [],
    definition: null,
    events: [],
    ...rest,
  }
}

/** A run that is expected to be absent. */
export function fresh(run: Run): RunWrite {
  return { run, expect: null }
}

/** A run that is expected to stand as it was read. */
export function over(before: Run, run: Run): RunWrite {
  return { run, expect: { state: before.state, token: before.token } }
}

export function hello(over: Partial<NodeHello> = {}): NodeHello {
  return {
    label: 'host#1',
    services: [SERVICE],
    attends: true,
    manifest: {},
    zoneData: '2026a',
    release: null,
    ...over,
  }
}

/** Every bucket, or all but some. */
export function buckets(...without: number[]): Set<number> {
  const all = new Set(Array.from({ length: 256 }, (_, bucket) => bucket))
  for (const bucket of without) all.delete(bucket)
  return all
}
