import { FleetcronError, hasCode } from '../errors.js'
import { StaleTokenError } from './errors.js'
import { FENCING, type FencedBy } from './fencing.js'
import { checkNames } from './options.js'
import type { BoundEffects, Effects, TxOf } from './port.js'
import { checkText, LIMITS, shown } from './values.js'

/** A request as it came, of `node:http`, Express, Fastify or fetch. */
export interface ReceivedRequest {
  readonly headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>
  readonly method?: string | undefined
  readonly url?: string | undefined
}

/**
 * The fence that a request has brought along and that the receiver's database keeps. `fence(tx)` and `once(key, fn)` look at
 * it again in the transaction of the write: between the look at the door and that moment a newer attempt may have come.
 */
export interface ReceivedFence<Tx = TxOf> extends BoundEffects<Tx>, FencedBy {}

export interface ReceiveOptions {
  /** Which resources may be named: whoever names one can shut out its owner. Default: all. */
  readonly resources?: readonly string[] | ((resource: string) => boolean)
}

/** @throws FleetcronError `OPTION_INVALID`: a misspelt option would let every resource in */
export function checkReceiveOptions(options: ReceiveOptions, what: string): void {
  checkNames(options, ['resources'], what)
  const { resources } = options
  if (resources === undefined || typeof resources === 'function' || Array.isArray(resources)) return
  const message = `${what}: resources is ${typeof resources}: give a list of resources, or a function that takes one.`
  throw new FleetcronError('OPTION_INVALID', message)
}

/** A request that is let in, or what is answered instead. */
export type FencingAnswer<Tx = TxOf> =
  | { readonly accepted: true; readonly fence: ReceivedFence<Tx> }
  | ({ readonly accepted: false } & FencingRefusal)

export interface FencingRefusal {
  /** 428 without the headers, 400 for what is no token or resource, 403 for a resource that is not named, 409 for a stale token, 503 while the database is away. */
  readonly status: 400 | 403 | 409 | 428 | 503
  readonly headers: Readonly<Record<string, string>>
  readonly body: { readonly code: string; readonly message: string } & Readonly<Record<string, unknown>>
}

/**
 * At the door of a receiver: raises its own fence to the token of the request, in its own business database, or says what to
 * answer. A framework's guard or hook calls it; NestJS has `@Fenced()`.
 *
 * @param effects of the receiver's database; their tables have to be there (`effects.ensure()`)
 * @throws FleetcronError `OPTION_INVALID`
 * @example
 * const answer = await receiveFenced(effects, request)
 * if (!answer.accepted) return response.writeHead(answer.status, answer.headers).end(JSON.stringify(answer.body))
 * await answer.fence.once(`order:${id}`, async (tx) => {
 *   await insertOrder(tx, order)
 * })
 */
export async function receiveFenced<Tx>(
  effects: Effects<Tx>,
  request: ReceivedRequest,
  options: ReceiveOptions = {},
): Promise<FencingAnswer<Tx>> {
  checkReceiveOptions(options, 'receiveFenced')
  const asked = readHeaders(request)
  if ('status' in asked) return { accepted: false, ...asked }
  if (!isNamed(asked.resource, options.resources)) {
    return refusal(403, 'EFFECT_INVALID', `This receiver does not know the resource '${shown(asked.resource)}'.`)
  }
  try {
    const raised = await effects.raise(asked.resource, asked.token)
    if (!raised.raised) return stale(request, asked, raised.token)
  } catch (error) {
    if (!hasCode(error, 'EFFECT_UNAVAILABLE')) throw error
    return refusal(503, 'EFFECT_UNAVAILABLE', 'The database of the fence is away. Send the same again later.')
  }
  return { accepted: true, fence: fenceOf(effects, request, asked) }
}

function readHeaders(request: ReceivedRequest): FencedBy | FencingRefusal {
  const token = headerOf(request, FENCING.token)
  const encoded = headerOf(request, FENCING.resource)
  if (token === null || encoded === null) {
    const missing = token === null ? 'Fencing-Token' : 'Fencing-Resource'
    const message = `The header ${missing} is missing: send the run's token and resource, as fencedFetch() does.`
    return refusal(428, 'EFFECT_INVALID', message)
  }
  const number = /^[1-9]\d{0,15}$/.test(token) ? Number(token) : Number.NaN
  if (!Number.isSafeInteger(number)) {
    return refusal(400, 'EFFECT_INVALID', 'Fencing-Token is no whole number from 1 to 2^53 - 1.')
  }
  try {
    const resource = decodeURI(encoded)
    checkText(resource, 'Fencing-Resource', 1, LIMITS.resourceCharacters)
    return { resource, token: number }
  } catch {
    return refusal(
      400,
      'EFFECT_INVALID',
      `Fencing-Resource is no text of 1 to ${LIMITS.resourceCharacters} characters.`,
    )
  }
}

function headerOf({ headers }: ReceivedRequest, name: string): string | null {
  if (headers instanceof Headers) return headers.get(name)
  const value = headers[name]
  return typeof value === 'string' ? value : null
}

function isNamed(resource: string, named: ReceiveOptions['resources']): boolean {
  if (named === undefined) return true
  return typeof named === 'function' ? named(resource) : named.includes(resource)
}

function stale(request: ReceivedRequest, { resource, token }: FencedBy, highest: number) {
  const { job, runKey } = originOf(request, resource)
  const { message } = new StaleTokenError({ job, runKey, key: null, resource, token, highest })
  return refusal(409, 'STALE_TOKEN', message, { [FENCING.highest]: String(highest) }, { resource, token, highest })
}

function refusal(
  status: FencingRefusal['status'],
  code: string,
  message: string,
  headers: Readonly<Record<string, string>> = {},
  details: Readonly<Record<string, unknown>> = {},
): FencingRefusal & { readonly accepted: false } {
  const type = { 'content-type': 'application/json; charset=utf-8' }
  return { accepted: false, status, headers: { ...type, ...headers }, body: { code, message, ...details } }
}

function fenceOf<Tx>(effects: Effects<Tx>, request: ReceivedRequest, { resource, token }: FencedBy): ReceivedFence<Tx> {
  const { signal } = new AbortController()
  const origin = { ...originOf(request, resource), resource, token, attempt: 1, fence: true, signal }
  return Object.assign(effects.bind(origin), { resource, token })
}

/** Whose attempt it is, as far as a request says: `fleet/service:job`, or whatever name the resource has. */
function originOf({ method = '', url = '' }: ReceivedRequest, resource: string) {
  const [, fleet = 'remote', job = resource] = /^([^/]+)\/(.+)$/s.exec(resource) ?? []
  const path = url.replace(/[?#].*$/s, '')
  return { fleet, job, runKey: `${method} ${path}`.trim().slice(0, 200) || 'request' }
}
