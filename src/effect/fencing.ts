import { effectInvalid, StaleTokenError } from './errors.js'

/**
 * The fence over HTTP: the sender says in two headers which attempt a request comes from, and a receiver that keeps a fence
 * of its own (receive.ts) refuses what comes from an older one with 409.
 */
export const FENCING = { token: 'fencing-token', resource: 'fencing-resource', highest: 'fencing-highest' } as const

/** What a request is fenced by; a `Run` is such a thing. */
export interface FencedBy {
  readonly resource: string
  readonly token: number
}

/** A run, as far as a request needs it. */
export interface FencedSender extends FencedBy {
  readonly job: string
  readonly key: string
  readonly signal: AbortSignal
}

/**
 * The headers that tell a receiver which attempt a request comes from, for any HTTP client.
 *
 * @throws `EFFECT_INVALID` for a run without a token: an unowned one
 * @example await axios.post(url, invoice, { headers: fencingHeaders(run), signal: run.signal })
 */
export function fencingHeaders({ resource, token }: FencedBy): {
  'Fencing-Token': string
  'Fencing-Resource': string
} {
  if (!Number.isSafeInteger(token) || token < 1) {
    throw effectInvalid(
      'Fencing-Token',
      'this run has no token, because the ledger has not given it to this node: no receiver can tell how old it is. Leave ' +
        'out what is fenced where `run.owned` is false.',
    )
  }
  // A header carries plain letters only.
  return { 'Fencing-Token': String(token), 'Fencing-Resource': encodeURI(resource) }
}

/**
 * `fetch` with the headers of the fence, ended by the run's signal. A receiver's refusal becomes a `StaleTokenError`: let it
 * end the handler. Every other answer is handed back as it is.
 *
 * @throws `STALE_TOKEN` when a newer attempt has reached the receiver; `EFFECT_INVALID` for a run without a token
 * @example const response = await fencedFetch(run, 'https://stock.internal/orders', { method: 'POST', body })
 */
export async function fencedFetch(
  run: FencedSender,
  input: Parameters<typeof fetch>[0],
  init: RequestInit = {},
): Promise<Response> {
  const headers = new Headers(init.headers ?? (input instanceof Request ? input.headers : undefined))
  for (const [name, value] of Object.entries(fencingHeaders(run))) headers.set(name, value)
  const given = init.signal ?? (input instanceof Request ? input.signal : undefined)
  const signal = given ? AbortSignal.any([run.signal, given]) : run.signal
  const response = await fetch(input, { ...init, headers, signal })
  const highest = Number(response.headers.get(FENCING.highest) ?? Number.NaN)
  if (response.status !== 409 || !Number.isSafeInteger(highest)) return response
  await response.body?.cancel()
  throw new StaleTokenError({
    job: run.job,
    runKey: run.key,
    key: null,
    resource: run.resource,
    token: run.token,
    highest,
  })
}
