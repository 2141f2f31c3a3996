import { FleetcronError } from '../../errors.js'
import { effectInvalid, NO_SUCH_EFFECT, Rejected, RetryTransaction, UncertainError } from '../errors.js'
import type { Param, QueryResult, Statements } from '../port.js'
import { type Effect, fenceScript, keyConflict, originOf, type Script } from '../script.js'
import { decode, OF_SEND } from '../values.js'
import type { CallStatements, Resolution, ResolvedCall, UncertainEffect } from './face.js'

/** A call's row while its outcome is open. */
export interface OpenCall {
  readonly idempotencyKey: string
  readonly input: unknown
  readonly tries: number
  /** Until when, from now on, an earlier request may still arrive; at most 0 when it cannot. */
  readonly sendingMs: number
  /** Whether a sender is on record that has not ended and may still be sending. */
  readonly isUnderWay: boolean
  /** How long, from now on, the provider honours the idempotency key. */
  readonly validMs: number
  readonly problem: string | null
}

/** What is to be done about a call. */
export type Next =
  /** Somebody knows the answer: it is returned, or thrown. */
  | { readonly do: 'answer'; readonly answer: () => unknown; readonly contradicted?: string }
  /** This attempt may send, and is on record as the sender. */
  | { readonly do: 'send'; readonly row: OpenCall }
  /** An earlier sending has left the outcome open. */
  | { readonly do: 'ask'; readonly row: OpenCall }

/** How long a sender may be sending, and the provider honours the key, in milliseconds. */
export interface Window {
  readonly sendingMs: number
  readonly validMs: number
}

/** The first act: the intent is kept, or what there is already is found. */
export function* intendScript(
  sql: Statements,
  effect: Effect,
  { idempotencyKey, input }: { readonly idempotencyKey: string; readonly input: string | null },
  window: Window,
): Script<Next> {
  if (effect.origin) yield* fenceScript(sql, effect.origin, effect.key)
  const params = [effect.kept, effect.fingerprint, ...originOf(effect.origin), input, idempotencyKey]
  const taken = yield* query(sql.calls.intend, [...params, window.sendingMs, window.validMs])
  const row = yield* readCall(sql.calls, effect)
  if (taken.rows.length > 0 || (taken.affected ?? 0) > 0) return { do: 'send', row: openOf(row) }
  if (row.state === 'open') return yield* takeOver(sql, effect, [input, idempotencyKey], window)
  if (row.fingerprint !== effect.fingerprint) throw keyConflict(effect, row.fingerprint)
  if (row.state === 'released') return yield* sendAgain(sql, effect, window, row)
  return nextOf(effect, row)
}

/** A key that was committed while it was open stands for nothing. Its row is locked, so that one caller takes it. */
function* takeOver(sql: Statements, effect: Effect, intent: readonly Param[], window: Window): Script<Next> {
  const params = [effect.fingerprint, ...originOf(effect.origin), ...intent, window.sendingMs, window.validMs]
  const { affected } = yield* query(sql.calls.takeOver, [...params, effect.kept])
  if (affected === 0) throw new RetryTransaction(effect.what, new Error('its key was taken in between'))
  return { do: 'send', row: openOf(yield* readCall(sql.calls, effect)) }
}

/**
 * Makes this attempt the sender once more, if nobody else has become it since `tries` was read and `allows` the row says
 * that it may be sent, or a person has said so.
 */
export function* againScript(
  sql: Statements,
  effect: Effect,
  tries: number,
  window: Window,
  allows: (row: OpenCall) => boolean,
): Script<Next> {
  if (effect.origin) yield* fenceScript(sql, effect.origin, effect.key)
  const row = yield* readCall(sql.calls, effect)
  if (row.state === 'released') return yield* sendAgain(sql, effect, window, row)
  const next = nextOf(effect, row)
  if (next.do !== 'ask' || next.row.tries !== tries || !allows(next.row)) return next
  return yield* sendAgain(sql, effect, window, row)
}

/** The provider's memory counts from the first intent, also where a person has allowed one sending after it. */
function* sendAgain(sql: Statements, effect: Effect, window: Window, row: Row): Script<Next> {
  const [, , token, attempt] = originOf(effect.origin)
  const params = [token ?? null, attempt ?? null, window.sendingMs, Number(row.valid_until), effect.kept]
  yield* query(sql.calls.sendAgain, params)
  return { do: 'send', row: openOf(yield* readCall(sql.calls, effect)) }
}

/** What a provider has said, or `find` has found. */
export interface Answer {
  readonly state: 'confirmed' | 'rejected'
  readonly result: string | null
  readonly problem: string | null
  /** Which sending it answers; null for what was found. */
  readonly tries: number | null
}

/** A definite answer is kept whoever holds the lease; the first one counts. */
export function* answerScript(sql: Statements, effect: Effect, answer: Answer): Script<Next> {
  const row = yield* readCall(sql.calls, effect)
  const { state, result, problem } = answer
  if (isOpen(row)) {
    yield* query(sql.calls.answer, [state, result, problem, effect.kept])
    return nextOf(effect, { ...row, state, result, problem })
  }
  const next = nextOf(effect, row)
  if (next.do !== 'answer' || !contradicts(row, answer)) return next
  const why = `the provider has ${state} it, after it was kept as ${row.state}`
  const note = { at: Number(row.now), by: 'the provider', why, state, answer: decode(result) }
  yield* query(sql.calls.audit, [withNote(row, note), effect.kept])
  return {
    ...next,
    contradicted: `${why}: that stays, and what came later is beside it (audit). Look at the provider.`,
  }
}

/** The same outcome in other words does so where a person gave the first, or another sending was made since. */
function contradicts(row: Row, { state, result, tries }: Answer): boolean {
  if (row.state !== state) return true
  const isOfAnother = tries !== null && tries !== Number(row.tries)
  return textOf(row.result) !== result && (isOfAnother || textOf(row.audit) !== null)
}

/** The sending is over; what was thrown is kept as the problem, unless an answer or another sending has come meanwhile. */
export function* uncertainScript(sql: Statements, effect: Effect, tries: number, problem: string): Script<Next> {
  return yield* problemScript(sql, effect, tries, 'uncertain', problem)
}

/** The sending may go on after the wait for it has ended. */
export function* silentScript(sql: Statements, effect: Effect, tries: number, problem: string): Script<Next> {
  return yield* problemScript(sql, effect, tries, 'intended', problem)
}

function* problemScript(
  sql: Statements,
  effect: Effect,
  tries: number,
  state: 'intended' | 'uncertain',
  problem: string,
): Script<Next> {
  const row = yield* readCall(sql.calls, effect)
  const isMine = row.state === 'intended' && Number(row.tries) === tries
  if (isMine) yield* query(sql.calls.settle, [state, null, problem, effect.kept])
  return nextOf(effect, isMine ? { ...row, state, problem } : row)
}

/** Those whose outcome nobody knows: the oldest first. A sending that may still be under way is none of them. */
export function* listScript(sql: Statements, limit: number): Script<readonly UncertainEffect[]> {
  const { rows } = yield* query(sql.calls.uncertain, [limit])
  return rows.map((row) => ({
    key: String(row.key),
    state: row.state as UncertainEffect['state'],
    job: textOf(row.job),
    run: textOf(row.run),
    idempotencyKey: String(row.idempotency_key),
    input: decode(textOf(row.input)),
    tries: Number(row.tries),
    problem: textOf(row.problem),
    intendedAt: Number(row.created_at),
  }))
}

/** A person decides. Kept with who and why; only what is uncertain can be decided. */
export function* resolveScript(
  sql: Statements,
  effect: Effect,
  resolution: Resolution,
  result: string | null,
): Script<ResolvedCall> {
  const row = yield* readCall(sql.calls, effect)
  const { isUnderWay } = openOf(row)
  if (isUnderWay || (row.state !== 'uncertain' && row.state !== 'intended')) {
    const why = isUnderWay ? `its sender may still be sending, ${untilOf(row)}` : `its state is '${row.state}'`
    throw effectInvalid(effect.what, `only an uncertain effect can be resolved, and ${why}.`)
  }
  const { by, why } = resolution
  const state = resolution.retry ? 'released' : resolution.rejected === undefined ? 'confirmed' : 'rejected'
  const audit = withNote(row, { at: Number(row.now), by, why, state })
  if (state === 'released') yield* query(sql.calls.settle, [state, result, textOf(row.problem), effect.kept])
  else yield* query(sql.calls.answer, [state, result, null, effect.kept])
  yield* query(sql.calls.audit, [audit, effect.kept])
  return { as: state, job: textOf(row.job), run: textOf(row.run), noted: false }
}

/** No time-out is too long, but not every instant has a date. */
function untilOf({ sending_until }: Row): string {
  const until = new Date(Number(sending_until))
  return Number.isNaN(until.getTime()) ? 'for ever' : `until ${until.toISOString()}`
}

function withNote(row: Row, note: object): string {
  return JSON.stringify([...((decode(textOf(row.audit)) as unknown[]) ?? []), note])
}

type Row = Readonly<Record<string, unknown>>

function isOpen(row: Row): boolean {
  return row.state === 'intended' || row.state === 'uncertain' || row.state === 'released'
}

function nextOf(effect: Effect, row: Row): Next {
  if (isOpen(row)) return { do: 'ask', row: openOf(row) }
  const result = textOf(row.result)
  const problem = textOf(row.problem)
  switch (row.state) {
    case 'confirmed':
      if (problem !== null) return { do: 'answer', answer: () => notKept(effect, problem) }
      return { do: 'answer', answer: () => decode(result) }
    case 'rejected':
      return { do: 'answer', answer: () => rejected(result) }
    default:
      throw effectInvalid(effect.what, `its key stands for something else (state '${row.state}'). Use another key.`)
  }
}

function rejected(result: string | null): never {
  const { message, details } = (decode(result) ?? {}) as { message?: string; details?: unknown }
  throw new Rejected(message ?? 'rejected', details)
}

function notKept(effect: Effect, problem: string): never {
  const [, code, why] = /^(RESULT_TOO_LARGE|EFFECT_INVALID): (.*)$/s.exec(problem) ?? [null, 'EFFECT_INVALID', problem]
  const isTooLarge = code === 'RESULT_TOO_LARGE'
  const remedy = isTooLarge ? 'Let send and find give a reference, such as an id, in place of the content.' : OF_SEND
  throw new FleetcronError(
    isTooLarge ? 'RESULT_TOO_LARGE' : 'EFFECT_INVALID',
    `${effect.what}: the provider has confirmed it, and that is kept, but its answer could not be kept: ${why}. It is not ` +
      `sent again. ${remedy}`,
  )
}

/** No attempt may decide: a person has to. */
export function uncertain(effect: Effect, row: OpenCall, why: string): UncertainError {
  return new UncertainError(effect.what, effect.kept, why, row.problem)
}

function openOf(row: Row): OpenCall {
  const now = Number(row.now)
  const sendingMs = Number(row.sending_until) - now
  return {
    idempotencyKey: String(row.idempotency_key),
    input: decode(textOf(row.input)),
    tries: Number(row.tries),
    sendingMs,
    isUnderWay: row.state === 'intended' && sendingMs > 0,
    validMs: Number(row.valid_until) - now,
    problem: textOf(row.problem),
  }
}

function* readCall(sql: CallStatements, effect: Effect): Script<Row> {
  const { rows } = yield* query(sql.read, [effect.kept])
  const [row] = rows
  if (!row) throw effectInvalid(effect.what, NO_SUCH_EFFECT)
  return row
}

function* query(sql: string, params: readonly Param[]): Script<QueryResult> {
  return (yield { sql, params }) as QueryResult
}

function textOf(value: unknown): string | null {
  return value === null || value === undefined ? null : String(value)
}
