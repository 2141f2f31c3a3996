import { createHash } from 'node:crypto'
import { FleetcronError } from '../errors.js'
import { cleanText } from '../ledger/index.js'

/** The longest key of a trigger, in UTF-16 units. */
export const KEY_LIMIT = 1_000

/** So much of a key is shown in the run's own, for people who look for it. */
const SHOWN = 60

/**
 * The id of a request that its caller gave a key: the same for the same job and key, another one for any other two. The
 * key's beginning is for people; the hash of both makes it unique.
 * @throws `OPTION_INVALID`
 */
export function requestId(job: string, key: string): string {
  if (typeof key !== 'string' || key.length === 0 || key.length > KEY_LIMIT) {
    throw new FleetcronError(
      'OPTION_INVALID',
      `Job '${job}': a trigger's key is a text of 1 to ${KEY_LIMIT} characters.`,
    )
  }
  return `${cleanText(key.slice(0, SHOWN), SHOWN)}#${hashOf([job, key])}`
}

/** Where a door hands in the nonce of a request that was signed, beside its key or in place of it. */
export const NONCE: unique symbol = Symbol.for('fleetcron/fleet/nonce') as never

/** The id of a request by its nonce, in a space of its own: no key has it. */
export function nonceId(job: string, nonce: string): string {
  return `nonce:${cleanText(nonce.slice(0, SHOWN), SHOWN)}#${hashOf(['nonce', job, nonce])}`
}

/** As JSON, so that no two lists are written alike and a lone surrogate is told from another. */
function hashOf(words: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(words)).digest('base64url')
}
