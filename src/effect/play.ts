import { FleetcronError } from '../errors.js'
import { asyncRefused, effectInvalid, RetryTransaction, transactionEnded } from './errors.js'
import type { AsyncAdapter, EffectAdapter, Failure, QueryResult, SyncAdapter } from './port.js'
import { explained } from './refused.js'
import { currentFrame } from './scope.js'
import type { Script, Step } from './script.js'
import { ask } from './texts.js'

type Query = Exclude<Step, { call: unknown }>

/** Plays a script in a transaction of its own, once. */
export function playOwn<Tx, R>(
  adapter: EffectAdapter<Tx>,
  what: string,
  script: (tx: Tx) => Script<R>,
  leaseMs?: number,
): R | Promise<R> {
  if (adapter.sync) {
    if (adapter.inTransaction(adapter.connection) === true) throw connectionTaken(what)
    return adapter.transaction((tx) => playBehindSavepoint(adapter, tx, what, script(tx)))
  }
  return adapter.transaction((tx) => playAwaiting(adapter, tx, what, script(tx)), leaseMs)
}

/**
 * Plays a script in the user's transaction, behind a savepoint, so that what failed leaves nothing even when the user
 * commits. On a synchronous adapter it answers or throws at once: a rejected promise would come after the user's commit.
 */
export function playJoined<Tx, R>(adapter: EffectAdapter<Tx>, tx: Tx, what: string, script: Script<R>): R | Promise<R> {
  if (adapter.inTransaction(tx) === false) {
    throw effectInvalid(what, 'no transaction is open on the `tx` it was given. Begin one first, or leave `tx` away.')
  }
  if (adapter.sync) return joinAtOnce(adapter, tx, what, script)
  return inTurn(tx, () => joinAwaiting(adapter, tx, what, script))
}

/** What an error asks for, also when a library wrapped the driver's. */
export function failureOf<Tx>(adapter: EffectAdapter<Tx>, error: unknown): Failure {
  let inner = error
  try {
    for (let depth = 0; depth < 5 && inner !== undefined && inner !== null; depth++) {
      if (inner instanceof RetryTransaction) return 'retry'
      const failure = adapter.classify(inner)
      if (failure !== 'other') return failure
      inner = (inner as { cause?: unknown }).cause
    }
  } catch {
    // Whatever cannot be looked at is none of the database's.
  }
  return 'other'
}

function playAtOnce<Tx, R>(adapter: SyncAdapter<Tx>, tx: Tx, what: string, script: Script<R>): R {
  let turn = script.next()
  while (!turn.done) {
    const step = turn.value
    turn = script.next('call' in step ? callAtOnce(adapter, tx, what, step.call) : queryAtOnce(adapter, tx, what, step))
  }
  return turn.value
}

function queryAtOnce<Tx>(adapter: SyncAdapter<Tx>, tx: Tx, what: string, { sql, params }: Query): QueryResult {
  try {
    return adapter.query(tx, sql, params)
  } catch (error) {
    throw explained(adapter, what, error)
  }
}

function callAtOnce<Tx>(adapter: SyncAdapter<Tx>, tx: Tx, what: string, call: () => unknown): unknown {
  const value = call()
  // A promise cannot be awaited here: what it stands for would be written after the commit.
  if (value instanceof Promise) value.catch(() => undefined)
  if (isThenable(value)) throw asyncRefused(what)
  if (adapter.inTransaction(tx) === false) throw transactionEnded(what)
  return value
}

/** Not called: a query builder would run then. */
function isThenable(value: unknown): boolean {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function'
}

async function playAwaiting<Tx, R>(adapter: AsyncAdapter<Tx>, tx: Tx, what: string, script: Script<R>): Promise<R> {
  let turn = script.next()
  while (!turn.done) {
    const step = turn.value
    let answer: unknown
    try {
      answer = await stepAwaiting(adapter, tx, what, step)
    } catch (error) {
      throw 'call' in step ? error : explained(adapter, what, error)
    }
    turn = script.next(answer)
  }
  return turn.value
}

function stepAwaiting<Tx>(adapter: AsyncAdapter<Tx>, tx: Tx, what: string, step: Step): Promise<unknown> {
  return 'call' in step ? callAwaiting(adapter, tx, what, step.call) : queryAwaiting(adapter, tx, step)
}

function queryAwaiting<Tx>(adapter: AsyncAdapter<Tx>, tx: Tx, { sql, params }: Query): Promise<QueryResult> {
  return adapter.dialect === 'mysql' ? ask(adapter, tx, sql, params) : adapter.query(tx, sql, params)
}

async function callAwaiting<Tx>(
  adapter: AsyncAdapter<Tx>,
  tx: Tx,
  what: string,
  call: () => unknown,
): Promise<unknown> {
  const value = await call()
  if (adapter.inTransaction(tx) === false) throw transactionEnded(what)
  return value
}

/** A savepoint that is gone at the end tells that the transaction it was made in is gone, whatever is open now. */
function playBehindSavepoint<Tx, R>(adapter: SyncAdapter<Tx>, tx: Tx, what: string, script: Script<R>): R {
  const run = (sql: string | undefined) => sql !== undefined && adapter.query(tx, sql, [])
  const { savepoint } = adapter.statements
  run(savepoint?.begin)
  let value: R
  try {
    value = playAtOnce(adapter, tx, what, script)
  } catch (error) {
    try {
      run(savepoint?.rollBack)
      run(savepoint?.release)
    } catch {
      // A full disk and its like end the whole transaction, and its savepoints with it; the first error counts.
    }
    throw error
  }
  try {
    run(savepoint?.release)
  } catch (error) {
    throw failureOf(adapter, error) === 'other' ? transactionEnded(what, error) : error
  }
  return value
}

function joinAtOnce<Tx, R>(adapter: SyncAdapter<Tx>, tx: Tx, what: string, script: Script<R>): R {
  try {
    return playBehindSavepoint(adapter, tx, what, script)
  } catch (error) {
    throw failureOf(adapter, error) === 'retry' ? retryOf(what, error) : error
  }
}

async function joinAwaiting<Tx, R>(adapter: AsyncAdapter<Tx>, tx: Tx, what: string, script: Script<R>): Promise<R> {
  const run = async (sql: string | undefined) => sql !== undefined && adapter.query(tx, sql, [])
  const { savepoint } = adapter.statements
  try {
    await run(savepoint?.begin)
    try {
      const value = await playAwaiting(adapter, tx, what, script)
      await run(savepoint?.release)
      return value
    } catch (error) {
      // A deadlock ends the whole transaction on some databases, and its savepoints with it: the first error counts.
      await run(savepoint?.rollBack).catch(() => undefined)
      throw error
    }
  } catch (error) {
    throw failureOf(adapter, error) === 'retry' ? retryOf(what, error) : error
  }
}

/** Whoever began that transaction would commit our change with his, or roll it back. */
function connectionTaken(what: string): FleetcronError {
  return new FleetcronError(
    'EFFECT_NESTED',
    `${what}: its connection has a transaction open already. To be part of that one, pass { tx }; a transaction that ` +
      'stays open across an await needs a connection of its own.',
  )
}

function retryOf(what: string, error: unknown): unknown {
  return error instanceof RetryTransaction ? error : new RetryTransaction(what, error)
}

/** The last act begun in each transaction, or in each effect's body within it. */
const TURNS = Symbol.for('fleetcron/effect-turns')

/** One for the whole process, also where several copies of the package are loaded. */
function turns(): WeakMap<object, Promise<unknown>> {
  const shared = globalThis as { [TURNS]?: WeakMap<object, Promise<unknown>> }
  shared[TURNS] ??= new WeakMap()
  return shared[TURNS]
}

/** Acts that join one transaction at the same time (`Promise.all`) take turns: their savepoints would cross each other. */
async function inTurn<Tx, R>(tx: Tx, act: () => Promise<R>): Promise<R> {
  const frame = currentFrame()
  const place: object = frame?.tx === tx ? frame : (tx as object)
  const before = turns().get(place) ?? Promise.resolve()
  const mine = before.then(act, act)
  turns().set(place, mine)
  return mine
}
