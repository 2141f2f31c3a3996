/** Marks the errors of every copy of the package. */
const BRAND = Symbol.for('fleetcron/error')

/**
 * Every error Fleetcron raises on purpose. `code` is stable and listed in docs/errors.md; the message says what happened,
 * to which job and option, and what to do.
 */
export class FleetcronError extends Error {
  override readonly name: string = 'FleetcronError'
  /** An application may have loaded the package twice, once by `import` and once by `require`: both know the errors of both. */
  static override [Symbol.hasInstance](value: unknown): value is FleetcronError {
    // biome-ignore lint/complexity/noThisInStatic: a subclass inherits this, and asks about itself.
    return this === FleetcronError ? isBranded(value) : Function.prototype[Symbol.hasInstance].call(this, value)
  }

  constructor(
    readonly code: ErrorCode,
    message: string,
    options?: { cause?: unknown },
  ) {
    super(message, options)
  }

  /** @internal */
  get [BRAND](): true {
    return true
  }
}

function isBranded(value: unknown): value is FleetcronError {
  return typeof value === 'object' && value !== null && BRAND in value
}

/** Whether it is an error of any copy of the package with this code. */
export function hasCode(value: unknown, code: ErrorCode): value is FleetcronError {
  return isBranded(value) && value.code === code
}

/** The catalogue of codes; a test holds it against docs/errors.md. */
export const ERROR_CODES = [
  'SCHEDULE_INVALID',
  'ZONE_UNKNOWN',
  'OPTION_INVALID',
  'JOB_DUPLICATE',
  'JOB_UNKNOWN',
  'JOB_UNREADABLE',
  'RUN_UNKNOWN',
  'STORE_MISSING',
  'STORE_UNAVAILABLE',
  'STORE_NEWER',
  'DRIVER_MISSING',
  'QUEUE_FULL',
  'REQUEST_CONFLICT',
  'STATE_CONFLICT',
  'NOT_STARTED',
  'STALE_TOKEN',
  'KEY_CONFLICT',
  'EFFECT_NESTED',
  'RETRY_TRANSACTION',
  'RESULT_TOO_LARGE',
  'EFFECT_INVALID',
  'EFFECT_UNAVAILABLE',
  'EFFECT_REJECTED',
  'EFFECT_UNCERTAIN',
  'DATA_INVALID',
  'QUOTA_REACHED',
] as const

export type ErrorCode = (typeof ERROR_CODES)[number]
