import type { CallStatements, Calls, Resolution, ResolvedCall, UncertainEffect } from './call/face.js'

/**
 * Effects: business changes that happen once. This file is the two faces of that promise. Towards the fleet and the
 * user stands `Effects`; towards a database or an ORM stands `EffectAdapter`, which is all that a new adapter writes.
 *
 * What happens inside a transaction is written once, as a script of statements (script.ts), and is played on any
 * adapter: at one stretch where a transaction belongs to its connection (SQLite), awaiting each statement elsewhere.
 */

/**
 * Types every `tx`: `declare module 'fleetcron' { interface Register { tx: EntityManager } }`. Without it a `tx` is
 * `unknown`.
 */
// biome-ignore lint/suspicious/noEmptyInterface: users merge their transaction type into it.
export interface Register {}

/** The user's transaction type as registered, else `unknown`. */
export type TxOf = Register extends { tx: infer Tx } ? Tx : unknown

/**
 * What comes back of a result that was kept as JSON: a `Date` is text, methods are gone. The first call returns the same
 * as every repeat.
 */
export type Kept<R> = unknown extends R
  ? R
  : [R] extends [undefined | null | string | number | boolean]
    ? R
    : // biome-ignore lint/suspicious/noConfusingVoidType: a function that returns nothing is typed `void`.
      [R] extends [void]
      ? R
      : R extends { toJSON(): infer J }
        ? Kept<J>
        : R extends object
          ? { [K in keyof R]: Kept<R[K]> }
          : R

/** A transaction that is its connection: it runs at one stretch, so whatever joins it answers at once. */
export type SyncTx =
  | { readonly inTransaction: boolean; prepare(sql: string): unknown }
  | { readonly isTransaction: boolean; prepare(sql: string): unknown }

/** What a joined act answers with: the value itself in a synchronous transaction, else a promise. `await` suits both. */
export type Joined<Tx, V> = unknown extends Tx ? V | Promise<V> : Tx extends SyncTx ? V : Promise<V>

export interface OnceOptions {
  /**
   * What the effect depends on, as JSON. It is kept as a fingerprint: the same key with another input is refused with
   * `KEY_CONFLICT`. No input is an input of its own. Default: none.
   */
  readonly input?: unknown
}

export interface BoundEffects<Tx = TxOf> extends Calls {
  /**
   * Makes a business change once: in one transaction the fence is read, the key is taken, `fn` makes its changes and its
   * result is kept. A repeat, on any node and at any later time, returns the first result and does not call `fn`.
   *
   * @param key 1 to 512 characters that name the effect, such as `invoice:42:2026-11`
   * @param fn makes the change through the transaction it is handed; on SQLite it is synchronous. It may be called again
   * after a rollback. What it returns is kept as JSON of at most 64 kB
   * @throws `STALE_TOKEN`, `KEY_CONFLICT`, `EFFECT_NESTED`, `EFFECT_INVALID`, `OPTION_INVALID`, `RESULT_TOO_LARGE`,
   * `EFFECT_UNAVAILABLE`, or what `fn` throws: nothing was written
   */
  once<R>(
    key: string,
    fn: (tx: Tx) => R | Promise<R>,
    options?: OnceOptions & { readonly tx?: undefined },
  ): Promise<Kept<R>>
  /**
   * The same inside the user's transaction `tx`, which this neither commits nor rolls back: the effect counts if and
   * only if the user commits.
   *
   * @throws also `RETRY_TRANSACTION`: roll back and run the whole transaction again
   */
  once<R>(key: string, fn: (tx: Tx) => R | Promise<R>, options: OnceOptions & { readonly tx: Tx }): Joined<Tx, Kept<R>>
  /**
   * Reads the fence in the user's transaction, so that no older attempt writes what follows in it.
   *
   * @throws `STALE_TOKEN` when a newer attempt has begun; `RETRY_TRANSACTION`
   */
  fence(tx: Tx): Joined<Tx, void>
}

/** Whom an effect is made for, and what fences it. */
export interface EffectOrigin {
  readonly fleet: string
  /** As people know it: in messages. */
  readonly job: string
  /** As the ledger knows it, `service:job`: kept with the effect. Default: `job`. */
  readonly ledgerJob?: string
  readonly runKey: string
  /** What the fence is raised on: the run's `resource`. */
  readonly resource: string
  /** The attempt's token, below 2^53. */
  readonly token: number
  readonly attempt: number
  /** False: the job leaves it to the keys, and no fence is read. */
  readonly fence: boolean
  /** How long a holder may be silent before another attempt begins. Default: 10,000. */
  readonly leaseMs?: number
  /** Once it is aborted no new effect begins: its reason is thrown. */
  readonly signal: AbortSignal
  /** Told what a provider said when nobody waits for it any more, and it cannot be kept as the answer. */
  readonly warn?: (message: string) => void
}

export type Raised = { readonly raised: true } | { readonly raised: false; readonly token: number }

/** What a fleet is given as `effects`: an adapter with its logic, for one business database. */
export interface Effects<Tx = TxOf> extends Calls {
  readonly dialect: Dialect
  /** The statements that create the two tables, as text to print or to put into a migration. */
  readonly tables: string
  /**
   * Creates the two tables where they are missing; several processes at once. Where nothing is missing it only reads, so
   * that a user who may not create tables can call it. Answers with what was missing.
   *
   * @throws `EFFECT_INVALID` where a table was there before and lacks a column
   */
  ensure(): Promise<readonly string[]>
  /** What of the two tables is missing, such as `column audit of fleetcron_effect`; changes nothing. */
  missing(): Promise<readonly string[]>
  /**
   * Raises the fence of a resource to `token`, in a small transaction of its own; never lowers it. Repeating it is safe.
   * False: a newer attempt has begun, `token` is its token.
   *
   * @throws `EFFECT_UNAVAILABLE`, or the driver's error: try again, it is nobody's failure but the database's
   */
  raise(resource: string, token: number): Promise<Raised>
  /** Effects of one attempt of a run. */
  bind(origin: EffectOrigin): BoundEffects<Tx>
  /** Calls of providers whose outcome nobody knows, oldest first. At most `limit` (100). */
  uncertain(limit?: number): Promise<readonly UncertainEffect[]>
  /**
   * Says what became of an uncertain call: confirmed with a result, rejected with a reason, or that it may be sent again.
   * Who and why are kept with the effect; `fleet.effects.resolve` tells the ledger's history too.
   *
   * @param key with the prefix, as `uncertain` lists it
   * @throws `EFFECT_INVALID` for an effect that is not uncertain
   */
  resolve(key: string, resolution: Resolution): Promise<ResolvedCall>
  /** How long keys are kept, in milliseconds; null: for good. */
  readonly keptMs: number | null
  /**
   * Removes keys that are settled and older than `keptMs`, among the next `limit` in the order of the table, and after all keys
   * the fleet's fences that nobody has raised for as long; a fleet does so by itself. Calls whose outcome is open stay.
   */
  prune(page: PrunePage): Promise<PrunedPage>
  /** `once` outside runs, by key alone: the button and the nightly job share a key. */
  once<R>(
    key: string,
    fn: (tx: Tx) => R | Promise<R>,
    options?: OnceOptions & { readonly tx?: undefined },
  ): Promise<Kept<R>>
  once<R>(key: string, fn: (tx: Tx) => R | Promise<R>, options: OnceOptions & { readonly tx: Tx }): Joined<Tx, Kept<R>>
}

export interface PrunePage {
  /** `next` of the page before; null: begin. */
  readonly after: string | null
  readonly limit: number
  /** Whose fences are looked at. Left out: nobody's. */
  readonly fleet?: string
}

export interface PrunedPage {
  readonly removed: number
  /** What the next page begins `after`; null: all was seen. */
  readonly next: string | null
}

/** What a stale writer is told. It is thrown as a `FleetcronError` with code `STALE_TOKEN`. */
export interface StaleToken {
  readonly code: 'STALE_TOKEN'
  readonly job: string
  readonly runKey: string
  /** The business key; null when the user's own statements were fenced. */
  readonly key: string | null
  readonly resource: string
  /** The token of the writer. */
  readonly token: number
  /** The token that the fence shows. */
  readonly highest: number
}

export type Dialect = 'sqlite' | 'postgres' | 'mysql'

/**
 * What an error of the database means for the transaction it struck.
 * - `retry`: serialization failure, deadlock, lock-wait time-out, busy: the same transaction may succeed when repeated;
 * - `unavailable`: no connection, or it broke: the outcome is unknown;
 * - `other`: everything else, and everything that is not the database's.
 */
export type Failure = 'retry' | 'unavailable' | 'other'

export type Param = string | number | null

export interface QueryResult {
  /** Rows by column name; empty where the statement returns none. */
  readonly rows: readonly Readonly<Record<string, unknown>>[]
  /** Rows inserted, updated or deleted; null where the library does not say. */
  readonly affected: number | null
}

/**
 * The statements of a dialect, whole and literal, under the same names in the same order in each. Placeholders are the
 * database's own (`$1` or `?`), each parameter once and in order, so that a library with other placeholders can rename them.
 */
export interface Statements {
  /** Creates both tables if they are missing. */
  readonly tables: readonly string[]
  /** () → name, col, pk (1 or 0) of each column of the two tables that there is. */
  readonly columns: string
  /** (resource, token): inserts, or moves the token upwards only. */
  readonly raiseFence: string
  /** (resource) → token; locked for share where the database can, so that a raise waits for this transaction. */
  readonly readFence: string
  /** (key, fingerprint, job, run, token, attempt, mark): inserts as `open`; an existing key is left alone without an error. Shows a row or counts 1 when it inserted. */
  readonly takeKey: string
  /** (key) → state, fingerprint, result; locked where a snapshot could be old. */
  readonly readKey: string
  /** (key) → the same, locked for the write that follows, as it is now and not as a snapshot has it. */
  readonly lockKey: string
  /** (fingerprint, job, run, token, attempt, mark, key): makes an `open` key ours. */
  readonly retakeKey: string
  /** (result, key, mark): `open` becomes `done` in the transaction it was taken in. Shows a row or counts 1 when it did. */
  readonly finishKey: string
  /** (kept ms, key, limit) → key, expired (1 or 0) of the keys after it, in order; nothing is locked. */
  readonly expired: string
  /** (key, kept ms): removes it if it is settled and older. */
  readonly prune: string
  /** (kept ms, resource, limit) → key (the resource), expired (1 or 0) of the fences after it, in order; nothing is locked. */
  readonly expiredFences: string
  /** (resource, kept ms): removes its fence if nobody has raised it for so long. */
  readonly pruneFence: string
  readonly calls: CallStatements
  /**
   * Around a joined effect, so that a failed one leaves nothing behind even when the user commits. Null where savepoints
   * cost too much (Postgres: beyond 64 in a transaction every snapshot slows down) or are refused (MySQL in prepared
   * statements): there an error of a joined effect has to end the user's transaction.
   */
  readonly savepoint: { readonly begin: string; readonly rollBack: string; readonly release: string } | null
}

interface AdapterBase<Tx> {
  readonly dialect: Dialect
  readonly statements: Statements
  classify(error: unknown): Failure
  /** Whether a transaction is open on what the user passed; null: this library cannot tell. */
  inTransaction(tx: Tx): boolean | null
}

/** For a database whose transaction is its connection: everything happens at one stretch, between two turns of the event loop. */
export interface SyncAdapter<Tx> extends AdapterBase<Tx> {
  readonly sync: true
  /** The connection that own transactions use; one that has a transaction open already cannot begin another. */
  readonly connection: Tx
  /** Begins, calls `fn`, commits; rolls back and throws when `fn` throws. Never waits: busy is thrown at once. */
  transaction<R>(fn: (tx: Tx) => R): R
  query(tx: Tx, sql: string, params: readonly Param[]): QueryResult
}

export interface AsyncAdapter<Tx> extends AdapterBase<Tx> {
  readonly sync: false
  /**
   * Begins, awaits `fn`, commits; rolls back and rejects when `fn` rejects. The library's options are the adapter's business.
   * `leaseMs`: the server ends the transaction when its holder is silent for so long, unless the user says how long.
   */
  transaction<R>(fn: (tx: Tx) => Promise<R>, leaseMs?: number): Promise<R>
  query(tx: Tx, sql: string, params: readonly Param[]): Promise<QueryResult>
  /** The transaction that surrounds the caller (nestjs-cls, typeorm-transactional); an effect without `tx` joins it. */
  ambient?(): Tx | null
}

/** All that an adapter for a library is. Adapters import no driver: they take the user's own pool or client by its shape. */
export type EffectAdapter<Tx> = SyncAdapter<Tx> | AsyncAdapter<Tx>

/** Time and chance for the pauses between two tries of a transaction; a fleet's `Clock` fits. */
export interface EffectClock {
  /** Monotonic milliseconds. */
  monotonic(): number
  after(delayMs: number, fn: () => void): { cancel(): void }
  /** Uniform in [0, 1). */
  random(): number
}

export interface EffectOptions {
  /** Written before every key as it is, where two applications share a database. At most 64 characters. Default: none. */
  readonly prefix?: string
  /**
   * How long keys are kept once their effect is made, at least a week: whoever uses one again after that makes the effect
   * again. A job that may reach further back is refused. Default: for good.
   */
  readonly retention?: string | number | false
  /** How long a transaction of its own is repeated while the database is busy or refuses to serialise it. Default: `'10s'`. */
  readonly retryFor?: string | number
  /** Default: the process's. */
  readonly clock?: EffectClock
}
