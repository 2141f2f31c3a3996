import { randomBytes } from 'node:crypto'
import { signRequest } from '../../src/http/index.js'
import type { Random } from '../../src/testing/random.js'
import { LIVE, NEXT, RUNS } from './stand.js'

/** A request as it goes over the wire. */
export interface Wire {
  readonly method: string
  readonly target: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** What its sender signed. */
export interface Original extends Wire {
  /** Undefined: the nonce is the key. */
  readonly key: string | undefined
  readonly nonce: string
  readonly data: unknown
}

export function original(index: number): Original {
  const key = index % 3 === 0 ? undefined : `order-${index}`
  return signed({ key, nonce: randomBytes(16).toString('hex'), data: { order: index } })
}

interface Signing {
  readonly key: string | undefined
  readonly nonce: string
  readonly data: unknown
  readonly timestamp?: number
  readonly secret?: string
}

function signed({ key, nonce, data, timestamp = Date.now(), secret = LIVE }: Signing): Original {
  const body = JSON.stringify({ data })
  const headers = signRequest({ secret, url: RUNS, body, nonce, timestamp, ...(key === undefined ? {} : { key }) })
  return { method: 'POST', target: RUNS, headers, body, key, nonce, data }
}

/** What an attack does to a request that was seen on the wire, and the answer that is due. */
export interface Attack {
  readonly name: string
  readonly status: readonly number[]
  /** Whether it gives the first run of the original. */
  readonly isFirst?: true
  make(seen: Original, chance: Random): Wire
}

const fresh = () => randomBytes(16).toString('hex')

/** One character of a text is another one. */
function touched(text: string, chance: Random): string {
  const at = chance.int(0, text.length - 1)
  const other = text[at] === '0' ? '1' : '0'
  return text.slice(0, at) + other + text.slice(at + 1)
}

function withHeader(seen: Original, name: string, change: (value: string) => string | undefined): Wire {
  const { [name]: value = '', ...others } = seen.headers
  const changed = change(value)
  return { ...seen, headers: changed === undefined ? others : { ...others, [name]: changed } }
}

const LIFE_S = 301

/** By somebody who has seen requests and does not know the secret. */
export const REPLAYED_OR_ALTERED: readonly Attack[] = [
  { name: 'sent again as it was', status: [200, 202], isFirst: true, make: (seen) => seen },
  {
    name: 'with another body',
    status: [401],
    make: (seen, chance) => ({ ...seen, body: JSON.stringify({ data: chance.int(0, 1_000_000) }) }),
  },
  { name: 'without its body', status: [401], make: (seen) => ({ ...seen, body: '' }) },
  {
    name: 'with another key',
    status: [401],
    make: (seen) => withHeader(seen, 'idempotency-key', (key) => `${key}0`),
  },
  {
    name: 'with another nonce',
    status: [401],
    make: (seen, chance) => withHeader(seen, 'fleetcron-nonce', (nonce) => touched(nonce, chance)),
  },
  {
    name: 'with another time',
    status: [401],
    make: (seen, chance) => withHeader(seen, 'fleetcron-timestamp', (time) => `${Number(time) + chance.int(1, 100)}`),
  },
  {
    name: 'with another signature',
    status: [401],
    make: (seen, chance) => withHeader(seen, 'fleetcron-signature', (text) => `v1=${touched(text.slice(3), chance)}`),
  },
  {
    name: 'without its signature',
    status: [401],
    make: (seen) => withHeader(seen, 'fleetcron-signature', () => undefined),
  },
  { name: 'without its nonce', status: [401], make: (seen) => withHeader(seen, 'fleetcron-nonce', () => undefined) },
  { name: 'with another query', status: [401], make: (seen) => ({ ...seen, target: `${RUNS}?wait=1s` }) },
  { name: 'to another job', status: [401], make: (seen) => ({ ...seen, target: RUNS.replace('/it/', '/other/') }) },
  {
    name: 'signed with a secret that was guessed',
    status: [401],
    make: ({ key, data }) => signed({ key, nonce: fresh(), data, secret: `guess-${fresh()}` }),
  },
]

/** By a sender who has the secret and repeats itself, well or badly. */
export const SIGNED_AGAIN: readonly Attack[] = [
  {
    name: 'repeated with its key, signed anew',
    status: [200, 202],
    isFirst: true,
    make: ({ key, nonce, data }) => signed({ key, nonce: key === undefined ? nonce : fresh(), data }),
  },
  {
    name: 'repeated under the secret that follows',
    status: [200, 202],
    isFirst: true,
    make: ({ key, nonce, data }) => signed({ key, nonce, data, secret: NEXT }),
  },
  {
    name: 'its nonce with another body',
    status: [409],
    make: ({ key, nonce }, chance) => signed({ key, nonce, data: chance.int(0, 1_000_000) }),
  },
  {
    name: 'its nonce with another key',
    status: [409],
    make: ({ nonce, data }) => signed({ key: fresh(), nonce, data }),
  },
  {
    name: 'too late',
    status: [401],
    make: ({ key, data }, chance) =>
      signed({ key, nonce: fresh(), data, timestamp: Date.now() - 1_000 * chance.int(LIFE_S, 100_000) }),
  },
  {
    name: 'from the future',
    status: [401],
    make: ({ key, data }) => signed({ key, nonce: fresh(), data, timestamp: Date.now() + 1_000 * (LIFE_S + 1) }),
  },
]
