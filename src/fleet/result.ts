import { FleetcronError } from '../errors.js'
import { describeError } from './attempt-error.js'

/** What a row keeps of a handler's result, in bytes of JSON. */
const RESULT_LIMIT = 16 * 1024

/** A handler's result as JSON. One that cannot be kept is dropped and told: the work is done, so the run has succeeded. */
export function keepResult(value: unknown): { readonly json: string | null; readonly dropped: FleetcronError | null } {
  if (value === undefined) return { json: null, dropped: null }
  let json: string | undefined
  try {
    json = JSON.stringify(value)
  } catch (cause) {
    const why = describeError(cause).message
    const message = `The handler's result cannot be written as JSON (${why}) and was dropped; return plain data, or nothing.`
    return { json: null, dropped: new FleetcronError('OPTION_INVALID', message, { cause }) }
  }
  if (json === undefined) return { json: null, dropped: null }
  const bytes = Buffer.byteLength(json)
  if (bytes <= RESULT_LIMIT) return { json, dropped: null }
  const message = `The handler's result has ${bytes} bytes as JSON and was dropped: at most ${RESULT_LIMIT} are kept. Return a reference, such as an id, in place of the content.`
  return { json: null, dropped: new FleetcronError('RESULT_TOO_LARGE', message) }
}
