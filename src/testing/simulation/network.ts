import type { Store } from '../../store/port.js'
import type { VirtualClock, VirtualProcess } from '../clock.js'
import { type Fate, faultyStore, type StoreCall } from '../faulty-store.js'
import type { Random } from '../random.js'
import type { Observation } from './observations.js'
import type { NodePlan } from './plan.js'
import type { Tally } from './tally.js'
import type { Witness } from './witness.js'

/** Chances of what may happen to a call. */
export interface Weather {
  readonly requestLost: number
  readonly replyLost: number
  readonly late: number
  readonly doubled: number
  readonly slow: number
}

const FINE: Weather = { requestLost: 0, replyLost: 0, late: 0, doubled: 0, slow: 0 }

/** The way between the processes and the store. */
export class Network {
  weather: Weather = FINE
  /** Nodes that cannot reach the store, and whether they are told so; `*` stands for all. */
  readonly away = new Map<string, 'refused' | 'silent'>()
  readonly #clock: VirtualClock
  readonly #witness: Witness
  readonly #tally: Tally
  readonly #report: (observation: Observation) => void
  #troubles = 0

  constructor(clock: VirtualClock, witness: Witness, tally: Tally, report: (observation: Observation) => void) {
    this.#clock = clock
    this.#witness = witness
    this.#tally = tally
    this.#report = report
  }

  /** The store as a process sees it. */
  store(process: VirtualProcess, plan: NodePlan, random: Random): Store {
    const wire = {
      toStore: (delayMs: number, fn: () => void) => this.#clock.after(delayMs, fn),
      toCaller: (delayMs: number, fn: () => void) => process.arrive(delayMs, fn),
    }
    const call = <R>(name: StoreCall, act: (store: Store) => Promise<R>): Promise<R> => {
      const sentAt = this.#clock.now
      const before = this.#troubles
      const fate = this.#fate(plan, random)
      if (this.#troubles > before) {
        this.#report({ kind: 'trouble', at: sentAt, process: process.name, call: name, sentAt })
      }
      const there = this.#witness.connection(process.name, sentAt)
      return act(faultyStore(there, wire, () => fate)).catch((error) => {
        this.#report({ kind: 'failed', at: this.#clock.now, process: process.name, call: name, sentAt })
        throw error
      })
    }
    const accepted = (alive: boolean, session: string, sentAt: number) => {
      if (alive) this.#report({ kind: 'accepted', at: this.#clock.now, process: process.name, session, sentAt })
    }
    return {
      open: () => call('open', (store) => store.open()),
      close: () => call('close', (store) => store.close()),
      attend: async (session, query) => {
        const sentAt = this.#clock.now
        const reply = await call('attend', (store) => store.attend(session, query))
        accepted(reply.alive, session.id, sentAt)
        return reply
      },
      load: (query) => call('load', (store) => store.load(query)),
      commit: (session, now, changes) => call('commit', (store) => store.commit(session, now, changes)),
      settle: (settlements) => call('settle', (store) => store.settle(settlements)),
      beat: async (session, beat) => {
        const sentAt = this.#clock.now
        const reply = await call('beat', (store) => store.beat(session, beat))
        accepted(reply.alive, session.id, sentAt)
        return reply
      },
      subscribe: async (wake) => {
        const hear = (bucket: number) => {
          if (!this.#isAway(plan.name)) process.arrive(plan.latencyMs[0], () => wake(bucket))
        }
        const end = await this.#witness.connection(process.name, this.#clock.now).subscribe?.(hear)
        return end ?? (async () => {})
      },
      jobs: (query) => call('jobs', (store) => store.jobs(query)),
      runs: (query) => call('runs', (store) => store.runs(query)),
      events: (query) => call('events', (store) => store.events(query)),
      prune: (query) => call('prune', (store) => store.prune(query)),
    }
  }

  #isAway(node: string): 'refused' | 'silent' | undefined {
    return this.away.get(node) ?? this.away.get('*')
  }

  #fate(plan: NodePlan, random: Random): Fate {
    const [usual, most] = plan.latencyMs
    const way = () => (random.chance(0.9) ? usual : random.int(usual, most))
    const fate: Fate = { requestMs: way(), replyMs: way(), deadlineMs: 30_000 }
    const away = this.#isAway(plan.name)
    if (away) {
      this.#troubles += 1
      this.#tally.count(away === 'refused' ? 'store refused' : 'store silent')
      return away === 'refused'
        ? { ...fate, refused: true }
        : { ...fate, lost: 'request', deadlineMs: random.int(1_000, 20_000) }
    }
    const { requestLost, replyLost, late, doubled, slow } = this.weather
    const lot = random.unit()
    const deadlineMs = random.pick([500, 2_000, 12_000])
    if (lot < requestLost) return this.#struck('request lost', { ...fate, lost: 'request', deadlineMs })
    if (lot < requestLost + replyLost) return this.#struck('reply lost', { ...fate, lost: 'reply', deadlineMs })
    const rest = lot - requestLost - replyLost
    if (rest < late)
      return this.#struck('request late', { ...fate, requestMs: deadlineMs + random.int(1, 8_000), deadlineMs })
    if (rest < late + doubled)
      return this.#struck('request doubled', { ...fate, againMs: random.pick([0, 20, 900, 15_000]) })
    if (rest < late + doubled + slow) {
      // Slow there (a stall between attend and commit), or slow back (belief must not count from the reply).
      const there = random.chance(0.5)
      const ms = random.pick([150, 700, 1_500, 4_000])
      return this.#struck(there ? 'request stalled' : 'reply stalled', {
        ...fate,
        [there ? 'requestMs' : 'replyMs']: ms,
      })
    }
    return fate
  }

  #struck(fault: string, fate: Fate): Fate {
    this.#troubles += 1
    this.#tally.count(fault)
    return fate
  }
}
