import { Problem } from './problem.js'

/** The largest body, in bytes. */
export const BODY_LIMIT = 64 * 1024

/** What a POST may say. */
export interface Asked {
  /** Key of an occurrence, or `due`: the latest one. */
  readonly occurrence?: string
  readonly data?: unknown
}

/**
 * A request's body, whole, read no further than the limit.
 * @throws Problem 413, 415
 */
export async function bodyOf({ headers, body }: Request): Promise<Uint8Array> {
  if ((headers.get('content-encoding') ?? 'identity') !== 'identity') {
    throw new Problem(415, 'BODY_INVALID', 'A body has to come as it is, not compressed.')
  }
  if (Number(headers.get('content-length') ?? 0) > BODY_LIMIT) throw tooLarge()
  if (body === null) return new Uint8Array()
  const parts: Uint8Array[] = []
  let bytes = 0
  for await (const part of body as ReadableStream<Uint8Array>) {
    bytes += part.byteLength
    if (bytes > BODY_LIMIT) throw tooLarge()
    parts.push(part)
  }
  return Buffer.concat(parts)
}

/**
 * An empty body asks for a run without data.
 * @throws Problem 400
 */
export function askedOf(body: Uint8Array): Asked {
  if (body.byteLength === 0) return {}
  const value = parsed(body)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalid('it must be an object, such as {"data": …} or {"occurrence": "2026-11-29T00:00"}')
  }
  for (const name of Object.keys(value)) {
    if (name !== 'occurrence' && name !== 'data')
      throw invalid(`${JSON.stringify(name)} is neither occurrence nor data`)
  }
  const { occurrence, data } = value as { occurrence?: unknown; data?: unknown }
  if (occurrence === undefined) return { data }
  if (typeof occurrence !== 'string' || occurrence === '' || occurrence.length > 200) {
    throw invalid('occurrence must be a key such as "2026-11-29T00:00", or "due"')
  }
  if (data !== undefined) throw invalid('an occurrence has no data: data goes with a run of its own')
  return { occurrence }
}

function parsed(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body))
  } catch {
    throw invalid('it is not JSON in UTF-8')
  }
}

function invalid(why: string): Problem {
  return new Problem(400, 'BODY_INVALID', `The body cannot be used: ${why}.`)
}

function tooLarge(): Problem {
  return new Problem(
    413,
    'BODY_TOO_LARGE',
    `A body has at most ${BODY_LIMIT} bytes: hand in a reference, such as an id.`,
  )
}
