import type { MemoryStore } from '../../store/memory/index.js'
import type { Store } from '../../store/port.js'
import type { VirtualClock } from '../clock.js'
import { LedgerView } from './ledger-view.js'
import type { Observation } from './observations.js'

/**
 * Stands at the store's door and writes down every act with what it changed. It compares all that the store holds before
 * and after, so it needs to trust nothing that the store or its callers say.
 */
export class Witness {
  readonly ledger = new LedgerView()
  readonly #store: MemoryStore
  readonly #clock: VirtualClock
  readonly #storeNow: () => number
  readonly #report: (observation: Observation) => void

  constructor(
    store: MemoryStore,
    clock: VirtualClock,
    storeNow: () => number,
    report: (observation: Observation) => void,
  ) {
    this.#store = store
    this.#clock = clock
    this.#storeNow = storeNow
    this.#report = report
  }

  /** The store as one request of a process meets it; a second use of it is the same request arriving again. */
  connection(process: string, sentAt: number): Store {
    let arrivals = 0
    const seen = () => {
      arrivals += 1
      return { at: this.#clock.now, process, sentAt, storeNow: this.#storeNow(), again: arrivals > 1 }
    }
    const store = this.#store
    return {
      open: () => store.open(),
      close: () => store.close(),
      attend: async (session, query) => {
        const about = seen()
        const reply = await store.attend(session, query)
        this.#refreshSessions()
        this.#report({ ...about, kind: 'attend', session, begins: query.hello !== undefined, reply })
        return reply
      },
      load: (query) => store.load(query),
      commit: async (session, read, changes) => {
        const about = seen()
        const committed = await store.commit(session, read, changes)
        this.#report({ ...about, kind: 'commit', session, read, changes, committed, ...this.refresh() })
        return committed
      },
      settle: async (settlements) => {
        const about = seen()
        const results = await store.settle(settlements)
        this.#report({ ...about, kind: 'settle', settlements, results, ...this.refresh() })
        return results
      },
      beat: async (session, beat) => {
        const about = seen()
        const reply = await store.beat(session, beat)
        this.#refreshSessions()
        this.#report({ ...about, kind: 'beat', session, beat, reply })
        return reply
      },
      subscribe: (wake) => store.subscribe?.(wake) ?? Promise.resolve(async () => {}),
      jobs: (query) => store.jobs(query),
      runs: (query) => store.runs(query),
      events: (query) => store.events(query),
      prune: (query) => store.prune(query),
    }
  }

  /** Takes in what the store holds now; used also where somebody restores or wipes it. */
  refresh(): ReturnType<LedgerView['update']> {
    return this.ledger.update(this.#store.snapshot().tables)
  }

  /** Attending and beating write sessions only; a row that they touched would be seen with the next act. */
  #refreshSessions(): void {
    this.ledger.updateSessions(this.#store.sessions())
  }
}
