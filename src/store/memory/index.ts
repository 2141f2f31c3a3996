import { randomUUID } from 'node:crypto'
import type { NodeRow, Store, StoreInfo } from '../port.js'
import { events, jobs, load, prune, runs } from './reads.js'
import { attend, beat } from './sessions.js'
import { State, type Tables } from './state.js'
import { commit, settle } from './writes.js'

export interface MemoryStoreOptions {
  /** The store's clock, epoch milliseconds. Default: `Date.now`. */
  readonly now?: () => number
  /** For people: begins the incarnation's name. */
  readonly fleet?: string
  /** Tells this store's incarnations from another's. Default: random, or fixed where `now` is given. */
  readonly id?: string
}

/** The state of a memory store at one moment; opaque. */
export interface MemorySnapshot {
  readonly tables: Tables
}

/** A ledger in this process: for tests, for simulations, and for one process that needs no durability. */
export interface MemoryStore extends Store {
  snapshot(): MemorySnapshot
  /** Every session it holds, in order of beginning; `load` gives only those seen of late. */
  sessions(): readonly NodeRow[]
  /** Goes back to an earlier state, as a restored backup does; the incarnation stays what it was then. */
  restore(snapshot: MemorySnapshot): void
  /** Loses everything: another incarnation begins. */
  wipe(): void
}

/**
 * Makes a ledger in memory. Several nodes of one process share one object; closing it changes nothing, since it belongs to
 * all of them. What it hands out is frozen and shared.
 *
 * @example
 * const store = createMemoryStore()
 * const a = createFleet({ fleet: 'billing', store })
 */
export function createMemoryStore(options: MemoryStoreOptions = {}): MemoryStore {
  const clock = options.now ?? Date.now
  const now = () => Math.floor(clock())
  const name = options.id ?? (options.now ? '1' : randomUUID())
  let lives = 1
  const incarnation = () => `${options.fleet ?? 'memory'}-${name}-${lives}`
  const state = new State(incarnation())
  const info = (): StoreInfo => ({
    kind: 'memory',
    grade: 'efficient',
    remark: 'The ledger is kept in memory: it is lost with this process, and no other process sees it.',
    incarnation: state.incarnation,
  })
  return {
    open: async () => info(),
    close: async () => {},
    attend: async (session, query) => attend(state, session, query, now()),
    load: async (query) => load(state, query, now()),
    commit: async (session, read, changes) => commit(state, session, read, changes, now()),
    settle: async (settlements) => settlements.map((settlement) => settle(state, settlement, now())),
    beat: async (session, sent) => beat(state, session, sent, now()),
    subscribe: async (wake) => {
      const own = (bucket: number) => wake(bucket)
      state.wakers.add(own)
      return async () => void state.wakers.delete(own)
    },
    jobs: async (query) => jobs(state, query),
    runs: async (query) => runs(state, query),
    events: async (query) => events(state, query),
    prune: async (query) => prune(state, query, now()),
    sessions: () => [...state.nodes.values()],
    snapshot: () => ({ tables: state.tables() }),
    restore: (snapshot) => state.replace(snapshot.tables),
    wipe: () => {
      lives++
      state.replace({ incarnation: incarnation(), jobs: [], events: [], nodes: [] })
    },
  }
}
