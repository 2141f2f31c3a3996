import { timingSafeEqual } from 'node:crypto'
import { isAdmitted } from '../bearer.js'
import type { ResolvedHttp } from './options.js'
import { Problem } from './problem.js'
import { hmac, KEY_HEADER, NONCE, NONCE_HEADER, SIGNATURE_HEADER, TIMESTAMP_HEADER, textOf } from './signature.js'

/** How far a signed request's timestamp may be from this host's clock. */
const WINDOW_S = 300

/** Who is let in. */
export interface Admitted {
  readonly by: 'signature' | 'token'
  /** The request's Idempotency-Key. */
  readonly key: string | null
  /** Of a signed request. */
  readonly nonce: string | null
}

/** A request whose headers may be right; what its body says of it is seen by `admit`. */
export interface Applicant {
  admit(body: Uint8Array): Admitted
}

/**
 * Looks at the headers, so that who has no chance is refused before the body is read. Times do not tell how much of a secret or a token was right: digests of equal length are compared, and every live one is.
 * @throws Problem 401
 */
export function applicantOf(door: ResolvedHttp, request: Request, target: string): Applicant {
  const { headers, method } = request
  const key = headers.get(KEY_HEADER)
  const signature = headers.get(SIGNATURE_HEADER)
  if (signature === null) {
    if (!isAdmitted(headers.get('authorization'), door.tokens())) throw refused(door, 'no token that is live was sent')
    return { admit: () => ({ by: 'token', key, nonce: null }) }
  }
  const [, hex] = /^v1=([0-9a-f]{64})$/i.exec(signature) ?? []
  const timestamp = headers.get(TIMESTAMP_HEADER) ?? ''
  const nonce = headers.get(NONCE_HEADER) ?? ''
  if (hex === undefined) throw refused(door, `${SIGNATURE_HEADER} is not v1= and 64 hexadecimal digits`)
  if (!NONCE.test(nonce)) throw refused(door, `${NONCE_HEADER} is not 16 to 128 letters, digits or -._~`)
  // A timestamp is whole seconds, cut off as this one is.
  const offS = /^\d{1,12}$/.test(timestamp) ? Number(timestamp) - Math.floor(Date.now() / 1_000) : Number.NaN
  if (!(Math.abs(offS) <= WINDOW_S)) {
    throw refused(door, `${TIMESTAMP_HEADER} is not within ${WINDOW_S} s of this node's clock, in Unix seconds`)
  }
  const given = Buffer.from(hex, 'hex')
  return {
    admit: (body) => {
      const text = textOf({ method, target, key: key ?? '', timestamp, nonce, body })
      let isOne = false
      for (const secret of door.secrets()) isOne = timingSafeEqual(given, hmac(secret, text)) || isOne
      if (!isOne) throw refused(door, 'the signature is not that of this request under a secret that is live')
      return { by: 'signature', key, nonce }
    },
  }
}

function refused(door: ResolvedHttp, why: string): Problem {
  const ways = [
    ...(door.secrets().length > 0 ? ['Fleetcron-HMAC'] : []),
    ...(door.tokens().length > 0 ? ['Bearer'] : []),
  ]
  return new Problem(401, 'UNAUTHORIZED', `The request is not let in: ${why}.`, { 'www-authenticate': ways.join(', ') })
}
