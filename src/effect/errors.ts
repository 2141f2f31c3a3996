import { FleetcronError, hasCode } from '../errors.js'
import type { StaleToken } from './port.js'

/** A write came from an attempt that a newer one has replaced; nothing was written. */
export class StaleTokenError extends FleetcronError implements StaleToken {
  override readonly name = 'StaleTokenError'
  static override [Symbol.hasInstance](value: unknown): value is StaleTokenError {
    return hasCode(value, 'STALE_TOKEN')
  }
  declare readonly code: 'STALE_TOKEN'
  readonly job: string
  readonly runKey: string
  readonly key: string | null
  readonly resource: string
  readonly token: number
  readonly highest: number

  constructor(about: Omit<StaleToken, 'code'>) {
    const what = about.key === null ? 'a write' : `the effect '${about.key}'`
    super(
      'STALE_TOKEN',
      `Job '${about.job}', run '${about.runKey}': ${what} was refused, because this attempt has token ${about.token} and ` +
        `the fence of '${about.resource}' shows ${about.highest}: a newer attempt has begun. Nothing was written; let ` +
        'this error end the handler.',
    )
    this.job = about.job
    this.runKey = about.runKey
    this.key = about.key
    this.resource = about.resource
    this.token = about.token
    this.highest = about.highest
  }
}

/** A transaction that an effect joined has to be rolled back and run again as a whole; `cause` is the database's error. */
export class RetryTransaction extends FleetcronError {
  override readonly name = 'RetryTransaction'
  static override [Symbol.hasInstance](value: unknown): value is RetryTransaction {
    return hasCode(value, 'RETRY_TRANSACTION')
  }
  declare readonly code: 'RETRY_TRANSACTION'

  constructor(what: string, cause: unknown) {
    super(
      'RETRY_TRANSACTION',
      `${what}: the database asks for the transaction to be repeated (${messageOf(cause)}). Roll it back and run the whole ` +
        'transaction again; Fleetcron repeats only transactions of its own.',
      { cause },
    )
  }
}

/**
 * A provider's definite no. Thrown by `send` it ends the call for good: every repeat throws it again, with the same
 * message and details.
 */
export class Rejected extends FleetcronError {
  override readonly name = 'Rejected'
  static override [Symbol.hasInstance](value: unknown): value is Rejected {
    return hasCode(value, 'EFFECT_REJECTED')
  }
  declare readonly code: 'EFFECT_REJECTED'
  /** What the provider said, as JSON. */
  readonly details: unknown

  constructor(message: string, details?: unknown) {
    super('EFFECT_REJECTED', message)
    this.details = details
  }
}

/** Nobody knows whether a provider has done what it was asked for; nothing is sent until somebody does. */
export class UncertainError extends FleetcronError {
  override readonly name = 'UncertainError'
  static override [Symbol.hasInstance](value: unknown): value is UncertainError {
    return hasCode(value, 'EFFECT_UNCERTAIN')
  }
  declare readonly code: 'EFFECT_UNCERTAIN'
  readonly key: string

  constructor(what: string, key: string, why: string, problem: string | null) {
    const last = problem === null ? '' : `; the last problem was: ${problem}`
    super(
      'EFFECT_UNCERTAIN',
      `${what}: its outcome at the provider is uncertain (${why}${last}). Nothing is sent meanwhile. Look it up there, then ` +
        'say what you found with `fleetcron resolve`.',
    )
    this.key = key
  }
}

export function effectInvalid(what: string, why: string, cause?: unknown): FleetcronError {
  return new FleetcronError('EFFECT_INVALID', `${what}: ${why}`, cause === undefined ? undefined : { cause })
}

/** How a key that no row has is told; the command line knows it by these words. */
export const NO_SUCH_EFFECT = 'there is no effect with this key.'

/** Nobody can say what of the change is left: the caller has to look. */
export function transactionEnded(what: string, cause?: unknown): FleetcronError {
  return effectInvalid(
    what,
    'the transaction of this effect was ended inside its function: by COMMIT or ROLLBACK, by a statement that commits, or by ' +
      'the database at a deadlock whose error the function swallowed. The effect does not count as made. What the function ' +
      'did before is gone or committed, what it did after that is committed: look at it. Let failed statements end the ' +
      'function, and leave COMMIT and ROLLBACK to the effect.',
    cause,
  )
}

export function asyncRefused(what: string): FleetcronError {
  return effectInvalid(
    what,
    'its function is asynchronous. On SQLite a transaction belongs to its connection, so the function has to be ' +
      'synchronous: do what is asynchronous before or after it. Nothing was kept.',
  )
}

/**
 * What an error says, with what it says was its cause: a `fetch` that failed tells no more than that. Anything may be thrown:
 * an object without a message, one whose getters throw.
 */
export function messageOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return typeof error === 'function' ? 'a function' : String(error)
  const said = saidBy(error) ?? 'an error that says nothing'
  const why = saidBy(read(error, 'cause')) ?? saidBy((read(error, 'errors') as readonly unknown[] | undefined)?.[0])
  return why === null || said.includes(why) ? said : `${said} (cause: ${why})`
}

function saidBy(error: unknown): string | null {
  for (const name of ['message', 'code', 'name']) {
    const text = read(error, name)
    if (typeof text === 'string' && text !== '' && text !== 'AggregateError') return text
  }
  return null
}

function read(error: unknown, name: string): unknown {
  try {
    return (error as Readonly<Record<string, unknown>> | null | undefined)?.[name]
  } catch {
    return undefined
  }
}
