import { FleetcronError } from '../../errors.js'
import type { Change, Settlement } from '../../ledger/types.js'
import type { CommitResult, Committed, SessionRef, SettleResult, Store, StoreInfo } from '../port.js'
import { type Address, addressOf } from './address.js'
import { Listener } from './listener.js'
import {
  attendanceOf,
  beatReplyOf,
  committedOf,
  infoOf,
  listOf,
  loadedOf,
  NotTheLedger,
  numberOf,
  settledOf,
} from './results.js'
import { TooLarge, Transport } from './transport.js'

export interface RemoteStoreOptions {
  /** Where `fleetcron serve` listens: `https://host:7420`, with a path where a proxy wants one. */
  readonly url: string
  /** The fleet whose ledger the server keeps. */
  readonly fleet: string
  /** One of the server's tokens. Default: the user part of the URL, else the variable FLEETCRON_STORE_TOKEN. */
  readonly token?: string
  /** How long a call waits for its answer before it rejects with `STORE_UNAVAILABLE`, in ms. Default: 8000. */
  readonly deadlineMs?: number
  /** Certificates of authorities to trust beside none other, PEM. Default: those that Node trusts. */
  readonly ca?: string
}

/** Opening may make or upgrade a schema behind the server. */
const OPEN_MS = 60_000

/**
 * A ledger that another process keeps and hands round over HTTP (`fleetcron serve`): for nodes that cannot or may not reach
 * the database. Every call may reach the server twice or late, which changes nothing.
 *
 * @example
 * const store = createRemoteStore({ url: 'https://ledger.internal:7420', fleet: 'billing', token })
 */
export function createRemoteStore(options: RemoteStoreOptions): Store {
  const { fleet, deadlineMs = 8_000 } = options
  const address = addressOf(options.url, options.token)
  const transport = new Transport(address, fleet, options.ca)
  const listener = new Listener(transport)
  let users = 0

  async function ask<T>(method: string, body: unknown, result: (reply: unknown) => T, ms = deadlineMs): Promise<T> {
    const reply = await transport.call(method, body, ms)
    try {
      return result(reply)
    } catch (error) {
      if (error instanceof NotTheLedger) throw notTheLedger(address.place, method)
      throw error
    }
  }
  function ready<T>(act: () => Promise<T>): Promise<T> {
    if (users > 0) return act()
    return Promise.reject(new FleetcronError('STORE_UNAVAILABLE', `The ledger ${address.place} is not open.`))
  }
  const query = <T>(method: string, asked: unknown, result: (reply: unknown) => T) =>
    ready(() => ask(method, { query: asked }, result)).catch(unsent(address.place))

  return {
    open: async () => {
      const info = await ask('open', {}, infoOf, Math.max(deadlineMs, OPEN_MS)).catch(unsent(address.place))
      users++
      return described(info, address)
    },
    close: async () => {
      if (users === 0 || --users > 0) return
      listener.end()
      transport.close()
    },
    attend: (session, asked) =>
      ready(() => ask('attend', { session, query: { ...asked, buckets: [...asked.buckets] } }, attendanceOf)).catch(
        unsent(address.place),
      ),
    load: (asked) => query('load', asked, loadedOf),
    commit: (session, now, changes) => ready(() => commit(ask, session, now, changes)),
    settle: (settlements) => ready(() => settle(ask, settlements)).catch(unsent(address.place)),
    beat: (session, beat) =>
      ready(() => ask('beat', { session, beat: { ...beat, buckets: [...beat.buckets] } }, beatReplyOf)).catch(
        unsent(address.place),
      ),
    subscribe: (wake) =>
      ready(async () => {
        const end = await listener.add(wake)
        return async () => end()
      }),
    jobs: (asked) => query('jobs', asked, listOf<never>),
    runs: (asked) => query('runs', asked, listOf<never>),
    events: (asked) => query('events', asked, listOf<never>),
    prune: (asked) => query('prune', asked, numberOf),
  }
}

type Ask = <T>(method: string, body: unknown, result: (reply: unknown) => T) => Promise<T>

/** A batch that is too large for the server goes in halves: each change stands for itself. One that is too large alone is refused. */
async function commit(ask: Ask, session: SessionRef, now: number, changes: readonly Change[]): Promise<Committed> {
  try {
    return await ask('commit', { session, now, changes }, committedOf)
  } catch (error) {
    if (!(error instanceof TooLarge)) throw error
  }
  const [only] = changes
  if (only === undefined || changes.length === 1) {
    const why = 'The change is larger than the server of the ledger takes: raise its --max-body.'
    const results: CommitResult[] = only === undefined ? [] : [{ job: only.job, outcome: 'refused', why }]
    return { expired: false, now, results }
  }
  const middle = Math.ceil(changes.length / 2)
  const first = await commit(ask, session, now, changes.slice(0, middle))
  if (first.expired) return first
  const second = await commit(ask, session, now, changes.slice(middle))
  // What was applied cannot be taken back: where the second half came too late, its jobs are stale.
  const late = () => changes.slice(middle).map(({ job }): CommitResult => ({ job, outcome: 'stale' }))
  return { expired: false, now: second.now, results: [...first.results, ...(second.expired ? late() : second.results)] }
}

/** In the order given, so the halves go one after the other. */
async function settle(ask: Ask, settlements: readonly Settlement[]): Promise<readonly SettleResult[]> {
  try {
    return await ask('settle', { settlements }, (reply) => settledOf(reply, settlements.length))
  } catch (error) {
    if (!(error instanceof TooLarge) || settlements.length < 2) throw error
  }
  const middle = Math.ceil(settlements.length / 2)
  const first = await settle(ask, settlements.slice(0, middle))
  return [...first, ...(await settle(ask, settlements.slice(middle)))]
}

function described(info: StoreInfo, { place, isBare }: Address): StoreInfo {
  const bare = 'The way there is plain HTTP: who listens in can read the token and every row.'
  const remarks = [`Kept ${place} in ${info.kind}.`, ...(isBare ? [bare] : []), ...(info.remark ? [info.remark] : [])]
  return { kind: 'remote', grade: info.grade, remark: remarks.join(' '), incarnation: info.incarnation }
}

function unsent(place: string): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof TooLarge)) throw error
    const message = `The ledger ${place} refused a call that is larger than its server takes: raise its --max-body.`
    throw new FleetcronError('OPTION_INVALID', message)
  }
}

function notTheLedger(place: string, method: string): FleetcronError {
  return new FleetcronError(
    'STORE_UNAVAILABLE',
    `The ledger ${place} answered ${method} with something else: is it \`fleetcron serve\` that listens there, and of this version?`,
  )
}
