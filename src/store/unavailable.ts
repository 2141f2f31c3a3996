import { FleetcronError } from '../errors.js'

/** That a ledger cannot be used, in one sentence; `why` is its end. */
export function unusable(place: string, why: string, cause?: unknown): FleetcronError {
  const end = why.endsWith('?') ? '' : '.'
  return new FleetcronError('STORE_UNAVAILABLE', `The ledger ${place} cannot be used: ${why}${end}`, { cause })
}

/** That a ledger was silent for so long. */
export function unanswered(place: string, ms: number): FleetcronError {
  const what = `The ledger ${place} did not answer in ${ms} ms; whether the call took effect is not known.`
  return new FleetcronError('STORE_UNAVAILABLE', what)
}
