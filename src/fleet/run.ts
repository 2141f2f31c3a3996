import { AsyncLocalStorage } from 'node:async_hooks'
import type { BoundEffects } from '../effect/port.js'
import type { Cause, Covers } from '../ledger/types.js'

/** One occurrence that a run stands for. */
export interface RunOccurrence {
  /** Wall-clock label in the job's zone, e.g. `2026-11-29T00:00`; the UTC instant for interval-like jobs. */
  readonly key: string
  /** When it was due. */
  readonly at: Date
}

/**
 * What a handler is given. `key`, `date`, `scheduledAt`, `covers` and `since` are frozen at the first attempt: every
 * later one sees the same.
 */
export interface Run<Data = unknown> extends BoundEffects {
  /** The job's name. */
  readonly job: string
  /** Identity of the run within its job, such as `2026-11-29T00:00`. */
  readonly key: string
  /** Why it exists; never changes. */
  readonly cause: Cause
  /** When the newest occurrence it covers was due; for a manual run, when it was asked for. */
  readonly scheduledAt: Date
  /** Calendar date of that moment in the job's zone, `2026-11-29`; in UTC for `every` and for jobs on request, whatever `timeZone` says. */
  readonly date: string
  /** The occurrences it stands for: first, last and how many; null for a manual run. */
  readonly covers: Covers | null
  /** The occurrences one by one, oldest first, at most 10,000; a manual run has none. */
  occurrences(): RunOccurrence[]
  /** End of what the last succeeded run covered; null when none has: the gap-free window of a digest is `(since, scheduledAt]`. */
  readonly since: Date | null
  /** 1 for the first attempt; more says that it was retried or recovered. */
  readonly attempt: number
  /** Whether the ledger gave this run to this node. */
  readonly owned: boolean
  /** Fencing token: greater with each attempt of the job, below 2^53. */
  readonly token: number
  /** What the run is fenced by: the job where it has one place, else the single run; a receiver is told it with the token. */
  readonly resource: string
  /** Label of the node, `host#pid`. */
  readonly node: string
  /**
   * Fires when the handler has to end: its session is lost, the node stops, `timeout` has passed, or somebody cancelled
   * it. Leave by `signal.throwIfAborted()`, never by returning: a handler that returns has succeeded.
   */
  readonly signal: AbortSignal
  /** What the trigger handed in; undefined for a scheduled run. */
  readonly data: Data
  /** Writes one line that carries job, key, attempt and token. */
  log(message: string, fields?: Readonly<Record<string, unknown>>): void
}

const STORAGE = Symbol.for('fleetcron/currentRun')

/** One storage per process, also where several copies of the package are loaded. */
function storage(): AsyncLocalStorage<Run> {
  const shared = globalThis as { [STORAGE]?: AsyncLocalStorage<Run> }
  shared[STORAGE] ??= new AsyncLocalStorage<Run>()
  return shared[STORAGE]
}

/** The run whose handler is the caller, however deeply nested; undefined outside handlers. */
export function currentRun(): Run | undefined {
  return storage().getStore()
}

/** Calls `fn` so that `currentRun()` gives `run` within it and in everything it starts. */
export function withRun<T>(run: Run, fn: () => T): T {
  return storage().run(run, fn)
}
