import type { Kept } from '../port.js'

/** What `send` and `find` are given: the same for every attempt on every node. */
export interface ProviderCall<I> {
  /** Made of the business key alone, in the form of a UUID: hand it to the provider. */
  readonly idempotencyKey: string
  /** The input as it was kept before the first sending. */
  readonly input: I
  /** Fires at `timeout`, and when the run loses its lease, is cancelled or times out. */
  readonly signal: AbortSignal
}

/**
 * What a provider knows of a call: `found` confirms it; `absent` says that it has never arrived, and allows another sending
 * once the older one can no longer be under way; `unknown` leaves it uncertain.
 */
export type Found<R> =
  | { readonly state: 'found'; readonly result: R }
  | { readonly state: 'absent' }
  | { readonly state: 'unknown' }

export interface CallOptions<R, I = undefined> {
  /**
   * Sends the request. What it returns is the provider's definite yes; `throw new Rejected(…)` is its definite no. Whatever
   * else it throws (a time-out, a lost connection, a 500) leaves the outcome uncertain.
   */
  send(call: ProviderCall<I>): Promise<R> | R
  /** Looks up what became of a call. Asked first whenever an outcome is uncertain. What it throws counts as `unknown`. */
  find?(call: ProviderCall<I>): Promise<Found<R>> | Found<R>
  /** How long the provider honours the idempotency key; without `find` nothing is sent again later. Default: `'24h'`. */
  readonly keyValidFor?: string | number
  /** How long one sending, or one look-up, may take. Default: `'30s'`. */
  readonly timeout?: string | number
  /** How often an uncertain outcome is asked for or sent again within this attempt, with growing pauses. Default: 5. */
  readonly retry?: number
  /** What is sent, as JSON of at most 64 kB: it is kept before the first sending, and every repeat sends the same. */
  readonly input?: I
}

/** An effect at a provider whose outcome nobody knows, as people see it. */
export interface UncertainEffect {
  /** With the prefix, as it is kept. */
  readonly key: string
  readonly state: 'intended' | 'uncertain'
  /** `fleet/service:job` and the run's key; null outside runs. */
  readonly job: string | null
  readonly run: string | null
  readonly idempotencyKey: string
  readonly input: unknown
  /** How often a sending began. */
  readonly tries: number
  /** What was thrown last. */
  readonly problem: string | null
  /** Epoch milliseconds of the business database's clock. */
  readonly intendedAt: number
}

/** What a person found out about an uncertain effect. */
export type Resolution = {
  /** Who says so, and why: kept with the effect. */
  readonly by: string
  readonly why: string
} & (
  | { readonly confirmed: unknown; readonly rejected?: undefined; readonly retry?: undefined }
  | { readonly rejected: string; readonly confirmed?: undefined; readonly retry?: undefined }
  | { readonly retry: true; readonly confirmed?: undefined; readonly rejected?: undefined }
)

/** What became of a call that somebody has resolved. */
export interface ResolvedCall {
  readonly as: 'confirmed' | 'rejected' | 'released'
  /** `fleet/service:job` and the run's key; null outside runs. */
  readonly job: string | null
  readonly run: string | null
  /** Whether the ledger's history has it too, besides the effect's own row: only where a fleet was asked. */
  readonly noted: boolean
}

/** Calls of providers, as part of a run or outside one. */
export interface Calls {
  /**
   * Makes a change at a provider once. The intent is committed before `send`, the answer after it; a repeat, on any node
   * and at any later time, returns the first answer. While the outcome is uncertain `find` is asked, or the same request
   * is sent again with the same idempotency key.
   *
   * @param key 1 to 512 characters that name the effect, such as `charge:42:2026-11`
   * @throws `EFFECT_REJECTED` (`Rejected`) for a definite no; `EFFECT_UNCERTAIN` while nobody knows; `STALE_TOKEN`,
   * `KEY_CONFLICT`, `EFFECT_NESTED`, `EFFECT_INVALID`, `RESULT_TOO_LARGE`, `OPTION_INVALID`, `EFFECT_UNAVAILABLE`
   */
  call<R, I = undefined>(key: string, options: CallOptions<R, I>): Promise<Kept<R>>
}

/** The statements of a provider's calls, which are rows of the same table. */
export interface CallStatements {
  /** (key, fingerprint, job, run, token, attempt, input, idempotency key, sending ms, valid ms): like `takeKey`, as `intended`. */
  readonly intend: string
  /** (fingerprint, job, run, token, attempt, input, idempotency key, sending ms, valid ms, key): `open` becomes `intended`. */
  readonly takeOver: string
  /** (key) → all columns, and `now`; locked for the write that follows. */
  readonly read: string
  /** (token, attempt, sending ms, valid until, key): `intended` once more, one try more. */
  readonly sendAgain: string
  /** (state, result, problem, key) */
  readonly settle: string
  /** (state, result, problem, key): a definite answer; `sending_until` becomes when it was known. */
  readonly answer: string
  /** (audit, key) */
  readonly audit: string
  /** (limit) → those `uncertain`, and those `intended` whose sender cannot be sending any more; oldest first. */
  readonly uncertain: string
}
