import { STATUS_CODES } from 'node:http'
import { type ErrorCode, FleetcronError } from '../errors.js'

/** Codes of the door itself, beside those of docs/errors.md. */
export const HTTP_CODES = [
  'UNAUTHORIZED',
  'PATH_UNKNOWN',
  'METHOD_UNKNOWN',
  'KEY_MISSING',
  'BODY_INVALID',
  'BODY_TOO_LARGE',
  'OCCURRENCE_UNKNOWN',
  'INTERNAL',
] as const

export type HttpCode = (typeof HTTP_CODES)[number]

/** A refusal with its status; becomes `application/problem+json`. */
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly code: HttpCode | ErrorCode,
    message: string,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(message)
  }
}

/** Later is worth a try, with the same key. */
const LATER = { 'retry-after': '5' }

/** What the fleet refuses, as HTTP says it. What is not here is nobody's fault outside: 500. */
const FROM_FLEET: Partial<Record<ErrorCode, readonly [status: number, headers?: Readonly<Record<string, string>>]>> = {
  JOB_UNKNOWN: [404],
  RUN_UNKNOWN: [404],
  OPTION_INVALID: [400],
  REQUEST_CONFLICT: [409],
  STATE_CONFLICT: [409],
  QUEUE_FULL: [429, LATER],
  STORE_UNAVAILABLE: [503, LATER],
  NOT_STARTED: [503, LATER],
}

/** Their own words may name hosts, files or other jobs, which the caller has no business to know. */
const OWN_WORDS: Partial<Record<ErrorCode, string>> = {
  STORE_UNAVAILABLE:
    'The store did not answer; whether the request took effect is not known. Repeat it with the same key.',
  NOT_STARTED: 'This node is starting or stopping. Repeat the request with the same key.',
  RUN_UNKNOWN: 'There is no such run: it never existed, or was pruned.',
}

/** What to answer for anything that was thrown; what is not meant for the caller goes to `log`. */
export function problemOf(error: unknown, log: (line: string) => void): Problem {
  if (error instanceof Problem) return error
  if (error instanceof FleetcronError) {
    const [status, headers] = FROM_FLEET[error.code] ?? []
    if (status !== undefined) return new Problem(status, error.code, OWN_WORDS[error.code] ?? error.message, headers)
  }
  log(`the HTTP door failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`)
  return new Problem(500, 'INTERNAL', 'The request could not be carried out; the log of this node says why.')
}

/** RFC 9457, with a stable `code`. Never a stack, never a secret. */
export function problemResponse({ status, code, message, headers }: Problem): Response {
  const body = { type: 'about:blank', title: STATUS_CODES[status] ?? '', status, code, detail: message }
  return jsonResponse(status, body, { ...headers, 'content-type': 'application/problem+json' })
}

export function jsonResponse(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Response {
  const standard = { 'content-type': 'application/json', 'cache-control': 'no-store' }
  return new Response(`${JSON.stringify(body)}\n`, { status, headers: { ...standard, ...headers } })
}
