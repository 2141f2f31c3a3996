import type { FleetcronError } from '../errors.js'
import { type Duration, durationMs, optionInvalid } from './option-values.js'

/** No clock is so exact that an occurrence is attended at its instant. */
const LEAST_GRACE_MS = 1_000

export function graceOf(what: string, grace: Duration): number {
  const graceMs = durationMs(what, grace, 0)
  if (graceMs >= LEAST_GRACE_MS) return graceMs
  throw optionInvalid(
    what,
    `'${grace}' is too short: every occurrence is attended some milliseconds after its instant, so none would be in time. Write at least '1s'.`,
  )
}

/** As a default of the fleet it is for those of its jobs that are poked. */
export function unpoked(what: string): FleetcronError {
  return optionInvalid(
    `${what}: pokeGrace`,
    "it is how long the fleet waits for a poke, and nobody pokes this job. Add attend: 'poke', or leave it out.",
  )
}
