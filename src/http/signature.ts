import { createHash, createHmac, randomBytes } from 'node:crypto'
import { optionInvalid, refuseUnknown } from '../fleet/option-values.js'

/*
 * What is signed, one per line, so that nothing of a request can be changed or moved to another one:
 *
 *   fleetcron-v1
 *   POST
 *   /fleetcron/jobs/daily-invoices/runs?wait=30s     the path with its query, as the server sees it
 *   order-42                                         Idempotency-Key, or an empty line
 *   1796000000                                       Fleetcron-Timestamp, Unix seconds
 *   6f1c…                                            Fleetcron-Nonce
 *   e3b0c442…                                        SHA-256 of the body, in hexadecimal
 *
 * HMAC-SHA256 of that under the secret, as it is written, in hexadecimal after `v1=`. No header's value can hold a line
 * break, so no two requests have one text.
 */

export const KEY_HEADER = 'idempotency-key'
export const TIMESTAMP_HEADER = 'fleetcron-timestamp'
export const NONCE_HEADER = 'fleetcron-nonce'
export const SIGNATURE_HEADER = 'fleetcron-signature'

/** What a nonce looks like: enough room for 128 random bits. */
export const NONCE = /^[\w.~-]{16,128}$/

/** What an Idempotency-Key looks like: what every proxy hands on as it is. */
export const KEY = /^[!-~]{1,255}$/

export interface Signed {
  readonly method: string
  /** Path with query. */
  readonly target: string
  /** Empty where the request has none. */
  readonly key: string
  readonly timestamp: string
  readonly nonce: string
  readonly body: string | Uint8Array
}

export interface SignRequestInput {
  /** One of the door's secrets. */
  readonly secret: string
  /** The whole URL, or its path with its query. */
  readonly url: string | URL
  /** Default `'POST'`. */
  readonly method?: string
  /** Exactly what is sent. Default: nothing. */
  readonly body?: string | Uint8Array
  /** The request's Idempotency-Key: a repeat with the same one gives the first run. Left out, the nonce is the key. */
  readonly key?: string
  /** When it is sent, epoch milliseconds. Default: now. The door takes what is at most 300 s off. */
  readonly timestamp?: number
  /** Random, 16 to 128 letters, digits or `-._~`. Default: a fresh one. */
  readonly nonce?: string
}

/**
 * The headers that sign a request to a fleet's HTTP door.
 *
 * @example
 * const body = JSON.stringify({ data: { customer: 42 } })
 * const headers = signRequest({ secret, url, body, key: 'order-42' })
 * await fetch(url, { method: 'POST', body, headers })
 * @throws FleetcronError `OPTION_INVALID`
 */
export function signRequest(input: SignRequestInput): Record<string, string> {
  refuseUnknown('signRequest', input, INPUT_KEYS)
  check(input)
  const { secret, url, method = 'POST', body = '', key = '' } = input
  const { timestamp = Date.now(), nonce = randomBytes(16).toString('hex') } = input
  const { pathname, search } = new URL(url, 'http://localhost')
  const seconds = `${Math.floor(timestamp / 1_000)}`
  const signed = { method: method.toUpperCase(), target: pathname + search, key, timestamp: seconds, nonce, body }
  return {
    ...(key === '' ? {} : { [KEY_HEADER]: key }),
    [TIMESTAMP_HEADER]: seconds,
    [NONCE_HEADER]: nonce,
    [SIGNATURE_HEADER]: `v1=${hmac(secret, textOf(signed)).toString('hex')}`,
  }
}

const INPUT_KEYS = ['secret', 'url', 'method', 'body', 'key', 'timestamp', 'nonce']

/** What a door would refuse is refused here, where the sender sees why. */
function check({ secret, url, body, key, timestamp, nonce }: SignRequestInput): void {
  const invalid = (option: string, why: string) => optionInvalid(`signRequest: ${option}`, why)
  if (typeof secret !== 'string' || secret === '') throw invalid('secret', 'it is missing.')
  if (!URL.canParse(`${url}`, 'http://localhost')) throw invalid('url', `'${url}' is neither a URL nor a path.`)
  if (body !== undefined && typeof body !== 'string' && !(body instanceof Uint8Array)) {
    throw invalid('body', 'pass exactly the text or the bytes that are sent, such as JSON.stringify({ data: … }).')
  }
  if (key !== undefined && !(typeof key === 'string' && KEY.test(key))) {
    throw invalid(
      'key',
      `'${key}' is not 1 to 255 visible ASCII characters, as an Idempotency-Key has to be. Hash it, or encode it.`,
    )
  }
  if (timestamp !== undefined && !(timestamp >= 0 && timestamp < 1e15)) {
    throw invalid('timestamp', `${timestamp} is no instant: pass epoch milliseconds, such as Date.now().`)
  }
  if (nonce !== undefined && !NONCE.test(nonce)) {
    throw invalid('nonce', 'write 16 to 128 letters, digits, dots, tildes or hyphens.')
  }
}

export function hmac(secret: string, text: string): Buffer {
  return createHmac('sha256', secret).update(text).digest()
}

export function textOf({ method, target, key, timestamp, nonce, body }: Signed): string {
  const hash = createHash('sha256').update(body).digest('hex')
  return ['fleetcron-v1', method, target, key, timestamp, nonce, hash].join('\n')
}
