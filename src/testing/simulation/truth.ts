import type { Definition, Run, StoredDefinition } from '../../ledger/types.js'
import type { JobRow, LedgerView } from './ledger-view.js'
import type { CommitSeen, Observation } from './observations.js'
import type { World } from './world.js'
import { ZONES, type ZoneTable } from './zones.js'

/** A session, as the outside can know it. */
export interface SessionTruth {
  readonly id: string
  readonly node: string
  readonly process: string
  /** Number of its node's sessions before it. */
  readonly order: number
  readonly leaseMs: number
  /** When the store heard of it first, by the store's clock. */
  readonly begunAt: number
  /** When its lease ends by the store's clock, by what the store has accepted. */
  leaseEnd: number
  /** When the store renewed it last; true time. */
  renewedAt: number
  /** When the latest request was sent whose reply has come and said that it lives; true time. */
  acceptedSentAt: number
}

/** A grant that the store has accepted. */
export interface GrantTruth {
  readonly job: string
  readonly key: string
  readonly run: Run
  readonly process: string
  readonly session: string
  readonly at: number
  /** The definition in force as it was granted. */
  readonly definition: Definition | null
}

export interface ProcessTruth {
  readonly name: string
  state: 'running' | 'paused' | 'suspended' | 'dead'
  readonly startedAt: number
  diedAt: number | null
  stoppingAt: number | null
  /** When it last came back from a pause or a suspend, or its wall clock was set. */
  resumedAt: number
  suspendedAt: number
  /** When a call to the store last went wrong, or failed. */
  failedAt: number
}

const NEVER = Number.NEGATIVE_INFINITY

/** What sets the store's contents back. */
export const DISTURBED: ReadonlySet<string> = new Set(['restored', 'rewound', 'wiped'])

/**
 * What is true of the world, put together from what was seen: who lives, which sessions and grants there are, when the
 * store was last disturbed. The checkers judge by it.
 */
export class Truth {
  readonly ledger: LedgerView
  readonly sessions = new Map<string, SessionTruth>()
  readonly grants = new Map<string, GrantTruth>()
  /** Attempt ids by job, key and token. */
  readonly #byToken = new Map<string, string>()
  readonly #granted = new Set<string>()
  readonly processes = new Map<string, ProcessTruth>()
  /** When the store's clock was last set, and when its contents were; true time. */
  steppedAt = NEVER
  steppedBackAt = NEVER
  restoredAt = NEVER
  calmAt: number | null = null
  /** Occurrences that were decided, again after the store had forgotten them. */
  occurrences = 0
  now: number

  constructor(readonly world: World) {
    this.ledger = world.witness.ledger
    this.now = world.clock.now
  }

  get storeNow(): number {
    return this.world.storeNow
  }

  see(seen: Observation): void {
    this.now = seen.at
    switch (seen.kind) {
      case 'process':
        this.#process(seen.process, seen.what)
        break
      case 'world':
        if (seen.what === 'clock-stepped') {
          this.steppedAt = seen.at
          if (Number(seen.detail) < 0) this.steppedBackAt = seen.at
        }
        if (DISTURBED.has(seen.what)) this.restoredAt = seen.at
        if (seen.what === 'calm') this.calmAt = seen.at
        break
      case 'attend':
      case 'beat': {
        const { session, process } = seen
        const known = this.sessions.get(session.id) ?? this.#begin(session.id, session.node, process, session.leaseMs)
        if (seen.reply.alive) [known.leaseEnd, known.renewedAt] = [seen.storeNow + session.leaseMs, seen.at]
        break
      }
      case 'accepted': {
        const session = this.sessions.get(seen.session)
        if (session) session.acceptedSentAt = Math.max(session.acceptedSentAt, seen.sentAt)
        break
      }
      case 'trouble':
      case 'failed': {
        const process = this.processes.get(seen.process)
        if (process) process.failedAt = seen.at
        break
      }
      case 'commit':
        this.#grants(seen)
    }
  }

  process(name: string): ProcessTruth | undefined {
    return this.processes.get(name)
  }

  zones(process: string): ZoneTable {
    return this.world.zonesOf.get(process) ?? ZONES
  }

  grant(job: string, key: string, token: number): GrantTruth | undefined {
    return this.grants.get(this.#byToken.get(`${job}|${key}|${token}`) ?? '')
  }

  /** Whether a run of this key was ever granted, also before the store was set back. */
  wasGranted(job: string, key: string): boolean {
    return this.#granted.has(`${job}|${key}`)
  }

  definition(row: JobRow): Definition | null {
    return this.stored(row)?.content ?? null
  }

  stored(row: JobRow): StoredDefinition | null {
    return this.ledger.definition(row.header.job, row.header.definition)
  }

  /** Processes that have begun a session. */
  begun(): ReadonlySet<string> {
    return new Set([...this.sessions.values()].map(({ process }) => process))
  }

  #begin(id: string, node: string, process: string, leaseMs: number): SessionTruth {
    const order = [...this.sessions.values()].filter((one) => one.node === node).length
    const begunAt = this.storeNow
    const fresh = {
      id,
      node,
      process,
      order,
      leaseMs,
      begunAt,
      leaseEnd: NEVER,
      renewedAt: NEVER,
      acceptedSentAt: NEVER,
    }
    this.sessions.set(id, fresh)
    return fresh
  }

  #grants(seen: CommitSeen & { readonly at: number }): void {
    for (const { job, key, before, after } of seen.rows) {
      if (after?.cause === 'schedule' || after?.cause === 'catch-up') {
        this.occurrences += (after.covers?.count ?? 0) - (before?.covers?.count ?? 0)
      }
      if (after?.state !== 'running' || after.attemptId === null || this.grants.has(after.attemptId)) continue
      const row = this.ledger.job(job)
      const { process, session, at } = seen
      const definition = row && this.definition(row)
      this.grants.set(after.attemptId, { job, key, run: after, process, session: session.id, at, definition })
      this.#granted.add(`${job}|${key}`)
      this.#byToken.set(`${job}|${key}|${after.token}`, after.attemptId)
    }
  }

  #process(name: string, what: Extract<Observation, { kind: 'process' }>['what']): void {
    const fresh: ProcessTruth = {
      name,
      state: 'running',
      startedAt: this.now,
      diedAt: null,
      stoppingAt: null,
      resumedAt: NEVER,
      suspendedAt: NEVER,
      failedAt: NEVER,
    }
    const one = this.processes.get(name) ?? fresh
    this.processes.set(name, one)
    if (what === 'killed' || what === 'stopped') [one.state, one.diedAt] = ['dead', this.now]
    if (what === 'paused' || what === 'suspended') one.state = what
    if (what === 'suspended') one.suspendedAt = this.now
    if (what === 'resumed') one.state = 'running'
    if (what === 'resumed' || what === 'wall-stepped') one.resumedAt = this.now
    if (what === 'stopping') one.stoppingAt = this.now
  }
}
