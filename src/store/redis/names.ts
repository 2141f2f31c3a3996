import { FleetcronError } from '../../errors.js'

/**
 * The beginning of all keys of a fleet. What stands in braces is the hash tag: it decides the slot in a Cluster, so all keys
 * of a fleet are on one node. Braces of a name are written as %7B and %7D, so that no two fleets share a key.
 */
export function baseOf(prefix: string, fleet: string): string {
  return `{${escaped(checked(prefix))}:${escaped(fleet)}}:`
}

function escaped(text: string): string {
  return text.replace(/[%{}]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)
}

/** Without a colon, which ends the prefix. */
function checked(prefix: string): string {
  if (prefix !== '' && prefix.length <= 100 && !/[:\s\0]/.test(prefix)) return prefix
  throw new FleetcronError(
    'OPTION_INVALID',
    `The option prefix is ${JSON.stringify(prefix)}: it has 1 to 100 characters, and neither colons nor spaces.`,
  )
}
