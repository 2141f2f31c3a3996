/**
 * The port as JSON over HTTP. `POST /v1/fleets/<fleet>/<method>` with the arguments by name gives the method's result;
 * `GET /v1/fleets/<fleet>/wakes` is a stream of buckets. A Set goes as a list, a Map as a list of pairs. Every call may be
 * sent twice or come late: the port says what that does, and nothing is kept between calls.
 */
export const VERSION = 'v1'

/** The path of a method, or of the stream `wakes`. */
export function pathOf(fleet: string, method: string): string {
  return `/${VERSION}/fleets/${encodeURIComponent(fleet)}/${method}`
}

/** What a refusal says, beside its status. */
export interface WireError {
  readonly error: { readonly code: string; readonly message: string }
}
