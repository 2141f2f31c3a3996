import assert from 'node:assert/strict'
import { AsyncResource } from 'node:async_hooks'
import type { TransactionOptions } from '../../effect/connections.js'
import { createEffects } from '../../effect/effects.js'
import type { BoundEffects, Dialect, EffectAdapter, EffectOptions, EffectOrigin, Effects } from '../../effect/port.js'

/** The two functions of a test runner that a suite needs; Vitest's, Jest's and node:test's fit. */
export interface TestApi {
  describe(name: string, define: () => void): void
  test(name: string, run: () => Promise<void>): void
}

/** One empty database of an adapter under test; each test opens one of its own. */
export interface EffectDatabase<Tx> {
  /** A further client of the same database: a connection, or a pool of at least two. */
  connect(): EffectAdapter<Tx> | Promise<EffectAdapter<Tx>>
  /** The same with a pool of so many connections, and options of the adapter. Left out: there is no pool, as on SQLite. */
  connectWith?(options: PoolOptions): EffectAdapter<Tx> | Promise<EffectAdapter<Tx>>
  /** Closes all clients and removes the database. */
  close(): void | Promise<void>
}

export interface PoolOptions extends TransactionOptions {
  readonly connections: number
}

export type Answer<V> = V | Promise<V>

/** A client with the tables of effects and one business table, `note`. */
export interface Site<Tx> {
  readonly adapter: EffectAdapter<Tx>
  readonly effects: Effects<Tx>
  /** An attempt of the run `k` of job `j`, fenced by `f/j` unless told otherwise. */
  attempt(token: number, over?: Partial<EffectOrigin>): BoundEffects<Tx>
  /** The user's own transaction. */
  transaction<R>(fn: (tx: Tx) => Answer<R>): Promise<R>
  /** A business change: writes a note, then answers; at one stretch on a synchronous adapter. */
  note<R>(tx: Tx, text: string, answer: R): Answer<R>
  /** All notes, in the order of their texts. */
  notes(): Promise<string[]>
  /** Runs a statement without parameters in a transaction of its own. */
  execute(sql: string): Promise<readonly Readonly<Record<string, unknown>>[]>
}

export interface Bench<Tx> {
  /** A client that has not created anything. */
  client(): Promise<Effects<Tx>>
  site(options?: EffectOptions): Promise<Site<Tx>>
  /** Null where the database has no pools. */
  siteWith(options: PoolOptions): Promise<Site<Tx> | null>
}

/** Opens a database for one test and closes it afterwards. */
export function benchFor<Tx>(open: () => Answer<EffectDatabase<Tx>>) {
  return (run: (bench: Bench<Tx>) => Promise<void>) => async (): Promise<void> => {
    const database = await open()
    try {
      await run({
        client: async () => createEffects(await database.connect()),
        site: async (options) => makeSite(await database.connect(), options),
        siteWith: async (options) => {
          const adapter = await database.connectWith?.(options)
          return adapter === undefined ? null : makeSite(adapter)
        },
      })
    } finally {
      await database.close()
    }
  }
}

export type WithBench<Tx> = ReturnType<typeof benchFor<Tx>>

async function makeSite<Tx>(adapter: EffectAdapter<Tx>, options?: EffectOptions): Promise<Site<Tx>> {
  const effects = createEffects(adapter, options)
  const site: Site<Tx> = {
    adapter,
    effects,
    attempt: (token, over) => effects.bind(originOf(token, over)),
    async transaction<R>(fn: (tx: Tx) => Answer<R>): Promise<R> {
      return adapter.sync ? adapter.transaction(fn) : adapter.transaction(async (tx) => fn(tx))
    },
    note: (tx, text, answer) => after(adapter.query(tx, INSERT_NOTE[adapter.dialect], [text]), () => answer),
    notes: async () => (await site.execute('SELECT text FROM note ORDER BY text')).map((row) => String(row.text)),
    execute: (sql) => site.transaction((tx) => after(adapter.query(tx, sql, []), ({ rows }) => rows)),
  }
  await effects.ensure()
  await site.execute('CREATE TABLE IF NOT EXISTS note (text VARCHAR(200))')
  return site
}

const INSERT_NOTE: Readonly<Record<Dialect, string>> = {
  sqlite: 'INSERT INTO note (text) VALUES (?)',
  mysql: 'INSERT INTO note (text) VALUES (?)',
  postgres: 'INSERT INTO note (text) VALUES ($1)',
}

function originOf(token: number, over: Partial<EffectOrigin> = {}): EffectOrigin {
  const signal = new AbortController().signal
  return {
    fleet: 'f',
    job: 'j',
    runKey: 'k',
    resource: 'f/j',
    token,
    attempt: 1,
    fence: true,
    leaseMs: 10_000,
    signal,
    ...over,
  }
}

/** Goes on with a value now, or with what a promise will give. */
export function after<A, B>(value: Answer<A>, next: (value: A) => Answer<B>): Answer<B> {
  return value instanceof Promise ? value.then(next) : next(value)
}

/** An effect that joins `tx`: its answer where that is synchronous, else a promise. */
export function join<Tx, R>(run: BoundEffects<Tx>, tx: Tx, key: string, fn: (tx: Tx) => Answer<R>): Answer<R> {
  return run.once(key, fn, { tx }) as Answer<R>
}

/** Catches at once where `act` throws, or when it rejects. */
export function orElse<R>(act: () => Answer<R>, next: (error: unknown) => Answer<R>): Answer<R> {
  try {
    const answer = act()
    return answer instanceof Promise ? answer.catch(next) : answer
  } catch (error) {
    return next(error)
  }
}

/** A function to call from within an effect that runs as if called from outside: somebody else's doing at that moment. */
export function fromOutside<R>(fn: () => R): () => R {
  return AsyncResource.bind(fn)
}

/** Awaits the refusal of `act`, thrown or rejected, and checks its code. */
export async function refused(code: string, act: () => unknown): Promise<Error & { readonly code: string }> {
  let answer: unknown
  try {
    answer = await act()
  } catch (error) {
    assert.equal((error as { code?: unknown }).code, code, String(error))
    return error as Error & { readonly code: string }
  }
  assert.fail(`expected ${code}, but it answered ${JSON.stringify(answer)}`)
}

/** Awaits that `act` fails with exactly this error. */
export async function failsWith(error: unknown, act: () => unknown): Promise<void> {
  try {
    await act()
  } catch (thrown) {
    assert.equal(thrown, error)
    return
  }
  assert.fail('expected it to fail')
}

/** For a function that must not be called. */
export function never(): never {
  throw new assert.AssertionError({ message: 'the function of an effect was called that should not be' })
}

/** A function that answers its first callers together, when there are so many of them, and later ones at once. */
export function meeting(size: number): () => Promise<void> {
  let open = () => {}
  const isComplete = new Promise<void>((resolve) => {
    open = resolve
  })
  let count = 0
  return () => {
    count += 1
    if (count === size) open()
    return isComplete
  }
}

/** A joined effect fails, and its user commits all the same. */
export async function leaveOpen<Tx>(site: Site<Tx>, key: string): Promise<void> {
  const fail = (): never => {
    throw new Error('declined')
  }
  await site.transaction((tx) =>
    orElse<string>(
      () => join(site.attempt(1), tx, key, fail),
      () => 'swallowed',
    ),
  )
}
