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
  // As JSON, so that no two pairs are written alike and a lone surrogate is told from another.
  const hash = createHash('sha256')
    .update(JSON.stringify([job, key]))
    .digest('base64url')
  return `${cleanText(key.slice(0, SHOWN), SHOWN)}#${hash}`
}
