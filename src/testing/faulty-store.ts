import { FleetcronError } from '../errors.js'
import type { Timer } from '../fleet/clock.js'
import type { Store } from '../store/port.js'

/**
 * A store behind a bad network. It wraps any store and lets each call meet its fate: the request may take long, get lost,
 * arrive after the caller has given up, or arrive twice; the reply may take long or get lost. The caller sees what a real
 * client sees: an answer, or `STORE_UNAVAILABLE` after a deadline, which says nothing about what was applied.
 */
export interface Fate {
  /** Time on the way to the store, milliseconds; more than `deadlineMs`: applied after the caller has given up. */
  readonly requestMs: number
  /** Time on the way back, milliseconds. */
  readonly replyMs: number
  /** The caller gives up so long after it asked, milliseconds. */
  readonly deadlineMs: number
  /** The request never arrives, or the reply never does. */
  readonly lost?: 'request' | 'reply'
  /** The request arrives a second time, so long after the first, milliseconds. */
  readonly againMs?: number
  /** Nobody listens: the caller is told at once. */
  readonly refused?: boolean
}

/** Methods of the port that go over the network. */
export type StoreCall = Exclude<keyof Store, 'subscribe'>

/** Runs `fn` after some milliseconds: at the store, whatever happens to the caller, or at the caller. */
export interface Wire {
  toStore(delayMs: number, fn: () => void): Timer
  toCaller(delayMs: number, fn: () => void): Timer
}

/**
 * @param inner what keeps the ledger
 * @param wire how time passes on the way; timers of a test's clock, or of a virtual world
 * @param fate decides about each call as it is made
 */
export function faultyStore(inner: Store, wire: Wire, fate: (call: StoreCall) => Fate): Store {
  const over = <Args extends readonly unknown[], Result>(
    call: StoreCall,
    method: (...args: Args) => Promise<Result>,
  ): ((...args: Args) => Promise<Result>) => {
    return (...args) => travel(call, wire, fate(call), () => method.apply(inner, args as never))
  }
  const subscribe = inner.subscribe?.bind(inner)
  return {
    open: over('open', inner.open),
    close: over('close', inner.close),
    attend: over('attend', inner.attend),
    load: over('load', inner.load),
    commit: over('commit', inner.commit),
    settle: over('settle', inner.settle),
    beat: over('beat', inner.beat),
    jobs: over('jobs', inner.jobs),
    runs: over('runs', inner.runs),
    events: over('events', inner.events),
    prune: over('prune', inner.prune),
    ...(subscribe && {
      subscribe: (wake: (bucket: number) => void) =>
        subscribe((bucket) => wire.toCaller(fate('load').replyMs, () => wake(bucket))),
    }),
  }
}

function travel<T>(call: StoreCall, wire: Wire, fate: Fate, act: () => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    if (fate.refused) {
      wire.toCaller(fate.replyMs, () => reject(unavailable(call, 'nobody listens')))
      return
    }
    const giveUp = () => reject(unavailable(call, `no answer within ${fate.deadlineMs} ms`))
    const deadline = wire.toCaller(fate.deadlineMs, giveUp)
    if (fate.lost === 'request') return
    // A promise that is settled already ignores what comes later, as a client ignores the reply to a call it gave up.
    const answer = (reply: () => void) => {
      if (fate.lost === 'reply') return
      wire.toCaller(fate.replyMs, () => {
        deadline.cancel()
        reply()
      })
    }
    wire.toStore(fate.requestMs, () => {
      act().then(
        (value) => answer(() => resolve(value)),
        (error) => answer(() => reject(error)),
      )
    })
    if (fate.againMs !== undefined) {
      wire.toStore(fate.requestMs + fate.againMs, () => {
        act().catch(() => undefined)
      })
    }
  })
}

function unavailable(call: StoreCall, why: string): FleetcronError {
  const message = `The store did not answer '${call}': ${why}. What it did is unknown; read it back or repeat the call.`
  return new FleetcronError('STORE_UNAVAILABLE', message)
}
