import { channel } from 'node:diagnostics_channel'
import type { AttemptOutcome, Run } from '../ledger/types.js'
import type { SettleResult } from '../store/port.js'

/** Why a handler's signal fired. */
export type AbortKind = 'session' | 'suspend' | 'stop' | 'timeout' | 'cancel' | 'replace' | 'lost'

/** One attempt, as events name it. `job` is the ledger's id, `service:id`. */
export type AttemptRef = {
  readonly job: string
  readonly key: string
  readonly attempt: number
  readonly attemptId: string
  readonly token: number
}

/** What a node tells. Payloads are plain data, except for `error` where one is the cause. */
export interface FleetEvents {
  /** The node has a session, its jobs are defined, and it looks after them. */
  started: { readonly node: string; readonly session: string }
  stopping: { readonly node: string }
  stopped: { readonly node: string }
  /** One attendance was answered: how many jobs wanted attention, and whether the page was the last. */
  attended: { readonly session: string; readonly jobs: number; readonly last: boolean }
  /** One commit was answered; `won` lists the jobs. */
  committed: { readonly session: string; readonly won: readonly string[]; readonly granted: readonly AttemptRef[] }
  /** A commit's outcome is not known; its attempts are read back before anything is started. */
  'commit-unknown': { readonly session: string; readonly granted: readonly string[]; readonly error: unknown }
  /** The handler is about to be called. */
  'run-started': AttemptRef & { readonly run: Run }
  /** The handler has written a line with `run.log`. */
  'run-logged': AttemptRef & { readonly message: string; readonly fields: Readonly<Record<string, unknown>> }
  'signal-fired': AttemptRef & { readonly why: AbortKind }
  /** The handler has ended, or was given up; not settled yet. */
  'run-ended': AttemptRef & { readonly outcome: AttemptOutcome; readonly durationMs: number }
  /** The store has answered: `late` still counts, `lost` belongs to somebody else by now. */
  'run-settled': AttemptRef & { readonly outcome: AttemptOutcome; readonly result: SettleResult; readonly run: Run }
  /** A handler did not obey its signal within five seconds; it goes on, unowned, and stays visible in `health()`. */
  'run-abandoned': AttemptRef & { readonly why: AbortKind }
  /** The handler of an abandoned attempt has ended after all. */
  'abandoned-ended': AttemptRef
  /** A run that the ledger gives to this node and this node does not run was handed back. */
  'stray-returned': AttemptRef
  /** While the store is away a job was begun without its leave (`onOutage: 'run'`); `key` is the occurrence's. */
  'unowned-started': { readonly job: string; readonly key: string; readonly id: string }
  'unowned-ended': {
    readonly job: string
    readonly key: string
    readonly id: string
    readonly outcome: AttemptOutcome
    readonly durationMs: number
  }
  /** The store is back and has it as a row of its own. */
  'unowned-recorded': { readonly job: string; readonly key: string; readonly id: string }
  'session-begun': { readonly session: string; readonly before: string | null }
  'session-lost': {
    readonly session: string
    readonly why: 'lease' | 'suspend' | 'refused'
    /** How long the event loop had been blocked, in milliseconds; 0 when it was not. */
    readonly blockedMs: number
    readonly runs: number
  }
  beaten: { readonly session: string; readonly alive: boolean; readonly runs: number }
  'store-away': { readonly operation: string; readonly error: unknown }
  'store-back': { readonly awayMs: number }
  /** The store was wiped, restored or replaced; jobs are defined again from code. */
  'store-replaced': { readonly before: string; readonly after: string }
  /** The store's clock moved against this node's monotonic one by this much. */
  'store-clock-stepped': { readonly byMs: number }
  /** This host's wall clock is far from the store's; nothing depends on it. */
  'clock-differs': { readonly byMs: number }
  /** Another node evaluates time zones by other data. */
  'zone-data-differs': { readonly mine: string; readonly theirs: string; readonly label: string }
  /** Rows older than the fleet keeps were removed by this node. */
  pruned: { readonly rows: number; readonly before: number }
  'job-defined': { readonly job: string; readonly hash: string }
  /** A job is left alone for a while because of an error; the others go on. */
  'job-parked': { readonly job: string; readonly error: string; readonly untilMs: number }
  /** A row of the job cannot be read: it is left alone until it can be. Told once for each reason. */
  'job-unreadable': { readonly job: string; readonly why: string }
}

export type FleetEventName = keyof FleetEvents

/** Told after the fact, in order, synchronously. A listener that throws disturbs nobody. */
export class Events {
  private readonly listeners = new Map<FleetEventName, Set<(payload: never) => void>>()

  constructor(
    private readonly origin: { readonly fleet: string; readonly node: string },
    private readonly failed: (event: FleetEventName, error: unknown) => void,
  ) {}

  /** Calls `listener` at every such event. Returns how to stop it. */
  on<Name extends FleetEventName>(event: Name, listener: (payload: FleetEvents[Name]) => void): () => void {
    const all = this.listeners.get(event) ?? new Set()
    this.listeners.set(event, all)
    all.add(listener)
    return () => all.delete(listener)
  }

  /** Resolves with the payload of the next such event that `accept` lets through. */
  once<Name extends FleetEventName>(
    event: Name,
    accept: (payload: FleetEvents[Name]) => boolean = () => true,
  ): Promise<FleetEvents[Name]> {
    return new Promise((resolve) => {
      const off = this.on(event, (payload) => {
        if (!accept(payload)) return
        off()
        resolve(payload)
      })
    })
  }

  /** Tells listeners first, then the channel `fleetcron:<event>` of node:diagnostics_channel, whose messages add fleet and node. */
  emit<Name extends FleetEventName>(event: Name, payload: FleetEvents[Name]): void {
    for (const listener of [...(this.listeners.get(event) ?? [])]) {
      try {
        ;(listener as (payload: FleetEvents[Name]) => void)(payload)
      } catch (error) {
        this.failed(event, error)
      }
    }
    const diagnostics = channel(`fleetcron:${event}`)
    if (diagnostics.hasSubscribers) diagnostics.publish({ ...this.origin, ...payload })
  }
}
