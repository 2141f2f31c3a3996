/**
 * Every error Fleetcron raises on purpose. `code` is stable and listed in docs/errors.md; the message says what happened,
 * to which job and option, and what to do.
 */
export class FleetcronError extends Error {
  override readonly name: string = 'FleetcronError'
  constructor(
    readonly code: ErrorCode,
    message: string,
    options?: { cause?: unknown },
  ) {
    super(message, options)
  }
}

/** The catalogue of codes; a test holds it against docs/errors.md. */
export const ERROR_CODES = [
  'SCHEDULE_INVALID',
  'ZONE_UNKNOWN',
  'OPTION_INVALID',
  'JOB_DUPLICATE',
  'JOB_UNKNOWN',
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
  'DATA_INVALID',
  'QUOTA_REACHED',
] as const

export type ErrorCode = (typeof ERROR_CODES)[number]
