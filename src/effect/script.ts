import { randomUUID } from 'node:crypto'
import { FleetcronError } from '../errors.js'
import { effectInvalid, RetryTransaction, StaleTokenError, transactionEnded } from './errors.js'
import type { EffectOrigin, Param, QueryResult, Raised, Statements } from './port.js'
import { decode, encodeResult } from './values.js'

/**
 * What happens inside one transaction, as a script: it yields statements and is given their results, so that it can be
 * played at one stretch or with an `await` at each step (play.ts). No adapter decides anything.
 *
 *   fence   read, for share: older than what it shows → STALE_TOKEN; it shows less than this attempt's token, or nothing
 *           (a database restored or wiped since the attempt began) → raised here
 *   key     inserted without an error as `open`; a second transaction with the same key waits here for the first
 *   fn      the user's changes
 *   result  kept, and the key becomes `done`, if it is still as it was taken: otherwise the transaction was ended inside fn
 *
 * A key that is committed while still `open` stands for nothing: its owner swallowed an error of `fn`, or ended the
 * transaction from within. The next comer takes it over; others wait for him, and get his result.
 */
export type Step = { readonly sql: string; readonly params: readonly Param[] } | { readonly call: () => unknown }

export type Script<R> = Generator<Step, R, unknown>

/** What a script is about: the words for its messages and the row's origin. */
export interface Effect {
  readonly what: string
  readonly key: string
  /** The key as it is kept: with the prefix. */
  readonly kept: string
  readonly fingerprint: string
  readonly origin: EffectOrigin | null
}

export function* raiseScript(sql: Statements, resource: string, token: number): Script<Raised> {
  yield { sql: sql.raiseFence, params: [resource, token] }
  const shows = yield* readFence(sql, resource)
  return shows === null || shows <= token ? { raised: true } : { raised: false, token: shows }
}

/** Throws when a newer attempt of the resource has begun; holds off those that would begin until the transaction ends. */
export function* fenceScript(sql: Statements, origin: EffectOrigin, key: string | null): Script<void> {
  if (!origin.fence) return
  const { job, runKey, resource, token } = origin
  const shows = yield* readFence(sql, resource)
  const highest = shows !== null && shows >= token ? shows : yield* raiseAgain(sql, resource, token)
  if (highest > token) throw new StaleTokenError({ job, runKey, key, resource, token, highest })
}

export function* onceScript(sql: Statements, effect: Effect, call: () => unknown): Script<unknown> {
  if (effect.origin) yield* fenceScript(sql, effect.origin, effect.key)
  const mark = randomUUID()
  const first = yield* takeOrRead(sql, effect, mark)
  if (first) return decode(first.result)
  const value: unknown = yield { call }
  const result = encodeResult(value, effect.what)
  if (!(yield* finish(sql, effect, result, mark))) throw transactionEnded(effect.what)
  return decode(result)
}

/** Null when the key is ours now, else the row that holds the first result. */
function* takeOrRead(sql: Statements, effect: Effect, mark: string): Script<{ readonly result: string | null } | null> {
  const by = originOf(effect.origin)
  const taken = yield* query({ sql: sql.takeKey, params: [effect.kept, effect.fingerprint, ...by, mark] })
  if (taken.rows.length > 0 || (taken.affected ?? 0) > 0) return null
  const { rows } = yield* query({ sql: sql.readKey, params: [effect.kept] })
  // A committed `open` key can be wanted by several at once: whoever gets the lock looks again what it has become.
  const row = rows[0]?.state === 'open' ? yield* lockKey(sql, effect) : rows[0]
  if (!row) throw removedInBetween(effect)
  if (row.state === 'open') {
    yield { sql: sql.retakeKey, params: [effect.fingerprint, ...by, mark, effect.kept] }
    return null
  }
  if (row.state !== 'done')
    throw effectInvalid(effect.what, `its key stands for something else (state '${row.state}').`)
  if (row.fingerprint !== effect.fingerprint) throw keyConflict(effect, row.fingerprint)
  return { result: typeof row.result === 'string' ? row.result : null }
}

/** Whether the key that was taken is `done` now. */
function* finish(sql: Statements, effect: Effect, result: string | null, mark: string): Script<boolean> {
  const { rows, affected } = yield* query({ sql: sql.finishKey, params: [result, effect.kept, mark] })
  if (rows.length > 0 || (affected ?? 0) > 0) return true
  if (affected !== null || sql.finishKey.includes('RETURNING')) return false
  // A library that does not count.
  const [row] = (yield* query({ sql: sql.readKey, params: [effect.kept] })).rows
  return row?.state === 'done' && (row.result ?? null) === result
}

function* lockKey(sql: Statements, effect: Effect): Script<QueryResult['rows'][number] | undefined> {
  return (yield* query({ sql: sql.lockKey, params: [effect.kept] })).rows[0]
}

function removedInBetween(effect: Effect): RetryTransaction {
  return new RetryTransaction(effect.what, new Error('its key was removed in between'))
}

/** The token that the fence shows, null when it was never raised. Drivers hand large integers over as text or BigInt. */
function* readFence(sql: Statements, resource: string): Script<number | null> {
  const { rows } = yield* query({ sql: sql.readFence, params: [resource] })
  return rows[0] === undefined ? null : Number(rows[0].token)
}

function* raiseAgain(sql: Statements, resource: string, token: number): Script<number> {
  yield { sql: sql.raiseFence, params: [resource, token] }
  return (yield* readFence(sql, resource)) ?? token
}

function* query(step: { readonly sql: string; readonly params: readonly Param[] }): Script<QueryResult> {
  return (yield step) as QueryResult
}

export function originOf(origin: EffectOrigin | null): readonly Param[] {
  if (!origin) return [null, null, null, null]
  return [`${origin.fleet}/${origin.ledgerJob ?? origin.job}`, origin.runKey, origin.token, origin.attempt]
}

export function keyConflict(effect: Effect, first: unknown): FleetcronError {
  const difference =
    first === 'none'
      ? 'was used before without input, and now has one'
      : effect.fingerprint === 'none'
        ? 'was used before with an input, and now has none'
        : 'was used before with another input'
  return new FleetcronError(
    'KEY_CONFLICT',
    `${effect.what}: this key ${difference}. Nothing was written. Put what differs into the key, or give the input of the ` +
      'first time.',
  )
}
