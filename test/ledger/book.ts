import assert from 'node:assert/strict'
import type { AttendContext, Context, Decision, Outcome, Request } from '../../src/ledger/context.js'
import * as ledger from '../../src/ledger/index.js'
import type {
  Aggregate,
  Change,
  Definition,
  EndedSession,
  LedgerEvent,
  Run,
  StoredDefinition,
} from '../../src/ledger/types.js'
import type { ZoneData } from '../../src/schedule/types.js'
import { zonesOf } from './zones.js'

/** The terms most cases begin with. */
export const TERMS: Definition = {
  schedule: { cron: '* * * * *', timeZone: 'UTC', dstGap: 'next' },
  concurrency: 1,
  queue: 100,
  overlap: 'skip',
  catchUp: { policy: 'merge', withinMs: null, most: 100 },
  retry: { limit: 0, delayMs: 1_000, factor: 2, maxDelayMs: 60_000 },
  recover: 3,
  timeoutMs: null,
  pauseAfter: null,
  graceMs: 60_000,
  fence: true,
}

interface Asked {
  readonly id: string
  readonly data: string | null
  readonly until: number | null
  readonly run?: Run
  readonly from: number
  readonly to: number
}

const COMMANDS = {
  trigger: (job: Aggregate, request: Request, { data }: Asked, ctx: Context) =>
    ledger.trigger(job, { request, data }, ctx),
  pause: (job: Aggregate, request: Request, { until }: Asked, ctx: Context) =>
    ledger.pause(job, { request, until }, ctx),
  resume: (job: Aggregate, request: Request, _: Asked, ctx: Context) => ledger.resume(job, { request }, ctx),
  retire: (job: Aggregate, request: Request, _: Asked, ctx: Context) => ledger.retire(job, { request }, ctx),
  backfill: (job: Aggregate, request: Request, { from, to }: Asked, ctx: Context) =>
    ledger.backfill(job, { request, from, to }, ctx),
  cancel: (job: Aggregate, request: Request, { run }: Asked, ctx: Context) =>
    ledger.cancel(job, named(run), { request }, ctx),
  retry: (job: Aggregate, request: Request, { run }: Asked, ctx: Context) =>
    ledger.retryRun(job, named(run), { request }, ctx),
} as const

function named(run: Run | undefined): Run {
  assert(run !== undefined, 'the command names a run')
  return run
}

/**
 * One job's ledger without a store: applies changes as the port says, keeps every version of every row, and turns its
 * own clock. It refuses what a store would refuse, so that a test sees guards that do not hold.
 */
export class Book {
  now: number
  job: Aggregate | null = null
  readonly rows = new Map<string, Run>()
  readonly history: { before: Run | null; after: Run }[] = []
  readonly events: LedgerEvent[] = []
  /** The latest entry of each hash, in order of entry. */
  known: StoredDefinition[] = []
  readonly changes: Change[] = []
  zones: ZoneData = zonesOf()
  release: string | null = '1.0'
  private ids = 0

  constructor(
    from: string,
    readonly names = { job: 'svc:job', service: 'svc', name: 'job' },
  ) {
    this.now = Date.parse(from)
  }

  static defined(from: string, terms: Partial<Definition> = {}): Book {
    const book = new Book(from)
    book.define('d1', { ...TERMS, ...terms })
    return book
  }

  /** The row with this key; a case that names one that is not there is wrong. */
  row(key: string): Run {
    const run = this.rows.get(key)
    assert(run !== undefined, `there is a row ${key}`)
    return run
  }

  /** Turns the clock and attends: what this node was granted. */
  attendAt(instant: string, more: Partial<AttendContext> = {}): Run[] {
    this.now = Date.parse(instant)
    return this.attend(more)
  }

  /** Attends and takes the one run that is granted. */
  take(more: Partial<AttendContext> = {}): Run {
    const [run, ...others] = this.attend(more)
    assert(run !== undefined && others.length === 0, 'one run is granted')
    return run
  }

  /** Asks for something as a person would; `id` is the request's. */
  ask(what: keyof typeof COMMANDS, input: Partial<Asked> = {}): Decision {
    const id = input.id ?? `r${this.events.length}`
    const asked: Asked = { data: null, until: null, from: 0, to: this.now, ...input, id }
    return this.command((job, ctx) => COMMANDS[what](job, { id, by: 'me', why: 'a test' }, asked, ctx))
  }

  ctx(more: Partial<AttendContext> = {}): AttendContext {
    this.ids += 1
    return {
      fleet: 'f',
      now: this.now,
      changeId: `c${this.ids}`,
      session: 's1',
      node: 'n1#1',
      room: 100,
      ended: new Map(),
      busy: new Set(),
      ownTrouble: null,
      zones: this.zones,
      ...more,
    }
  }

  define(
    hash: string,
    content: Definition,
    carried: ReadonlyMap<string, number> = new Map([[hash, this.now]]),
  ): boolean {
    const ctx: Context = this.ctx()
    const change = ledger.define(
      this.job,
      {
        ...this.names,
        hash,
        content,
        release: this.release,
        by: 'test',
        known: this.known,
        carried,
      },
      ctx,
    )
    return this.apply(change)
  }

  attend(more: Partial<AttendContext> = {}): Run[] {
    const ctx = this.ctx(more)
    const change = ledger.attend(this.aggregate(), ctx)
    this.apply(change)
    return (change?.runs ?? []).map((write) => write.run).filter((run) => run.attemptId?.startsWith(`${ctx.changeId}.`))
  }

  command(make: (job: Aggregate, ctx: Context) => Decision): Decision {
    const decision = make(this.aggregate(), this.ctx())
    if (decision.outcome === 'change') this.apply(decision.change)
    return decision
  }

  settle(run: Run, outcome: Outcome): boolean {
    const row = this.rows.get(run.key)
    if (row === undefined || row.state !== 'running' || row.token !== run.token) return false
    const settlement = ledger.settleRun(run, this.aggregate().definition, outcome, this.now)
    const after = { ...settlement.run, stop: row.stop }
    this.put(row, after)
    const job = this.aggregate()
    const waits = Object.values(job.header.waiting).some((count) => count > 0)
    const wake = waits ? this.now : settlement.wakeAt
    const { tally, header } = job
    this.job = {
      ...job,
      header: { ...header, wakeAt: earlier(header.wakeAt, wake) },
      tally: {
        settled: tally.settled + 1,
        failures: settlement.failures === 'reset' ? 0 : tally.failures + (settlement.failures === 'count' ? 1 : 0),
        succeededUntil: later(tally.succeededUntil, settlement.succeededUntil),
        tokenFloor: Math.max(tally.tokenFloor, settlement.tokenFloor ?? 0),
      },
      runs: this.window(),
    }
    return true
  }

  ended(session: string, more: Partial<EndedSession> = {}): Map<string, EndedSession> {
    return new Map([
      [session, { session, node: 'n', leaseEnd: this.now - 1, endedAt: this.now, returned: false, ...more }],
    ])
  }

  aggregate(): Aggregate {
    assert(this.job !== null, 'the job is defined first')
    return this.job
  }

  /** Rows as short lines, in the order in which they were made: `key state(reason) cause from..to xcount`. */
  lines(): string[] {
    return [...this.rows.values()].map(line)
  }

  live(): Run[] {
    return [...this.rows.values()].filter((run) => ledger.isLive(run.state))
  }

  apply(change: Change | null): boolean {
    if (change === null) return false
    assert.equal(change.expect.version, this.job?.version ?? null, 'the version read is the version written over')
    for (const { run, expect } of change.runs) {
      const row = this.rows.get(run.key) ?? null
      assert.deepEqual(row === null ? null : { state: row.state, token: row.token }, expect, `guard of ${run.key}`)
    }
    for (const { run } of change.runs) this.put(this.rows.get(run.key) ?? null, run)
    this.events.push(...change.events)
    this.changes.push(change)
    const { definition } = change
    if (definition !== null) this.known = [...this.known.filter(({ hash }) => hash !== definition.hash), definition]
    const content = change.definition?.content ?? this.aggregate().definition
    const tally = this.job?.tally ?? { settled: 0, failures: 0, succeededUntil: null, tokenFloor: 0 }
    const failures = change.failures === 'reset' ? 0 : tally.failures + (change.failures === 'count' ? 1 : 0)
    this.job = {
      header: JSON.parse(JSON.stringify(change.header)),
      version: change.id,
      definition: content,
      tally: { ...tally, failures },
      runs: this.window(),
    }
    return true
  }

  private put(before: Run | null, after: Run): void {
    this.history.push({ before, after })
    this.rows.set(after.key, after)
  }

  private window(): Run[] {
    const live = this.live().sort((a, b) => a.position - b.position)
    const waiting = (lane: string) => live.filter((run) => !run.place && run.lane === lane).slice(0, ledger.WINDOW)
    return [...live.filter((run) => run.place), ...waiting('schedule'), ...waiting('manual'), ...waiting('backlog')]
  }
}

export function line(run: Run): string {
  const reason = run.reason === null ? '' : `(${run.reason})`
  const covers = run.covers === null ? '' : ` ${run.covers.from}..${run.covers.to} x${run.covers.count}`
  return `${run.key} ${run.state}${reason} ${run.cause}${covers}`
}

function earlier(a: number | null, b: number | null): number | null {
  return a === null ? b : b === null ? a : Math.min(a, b)
}

function later(a: number | null, b: number | null): number | null {
  return a === null ? b : b === null ? a : Math.max(a, b)
}
