import { FleetcronError } from '../errors.js'
import type { Fleet } from '../fleet/fleet.js'
import { isLive } from '../ledger/index.js'
import type { Run } from '../ledger/types.js'

/** What this process began and brought to an end: a node that is stopped answers no questions. */
export class Here {
  /** Keys of the runs that it worked on. */
  readonly begun = new Set<string>()
  readonly #ended = new Map<string, Run>()

  constructor(fleet: Fleet) {
    fleet.on('run-started', ({ key }) => void this.begun.add(key))
    fleet.on('run-settled', ({ key, result, run: settled }) => {
      if (result !== 'lost' && !isLive(settled.state)) this.#ended.set(key, settled)
    })
  }

  ended(): Run[] {
    return [...this.#ended.values()]
  }

  /** @throws `STORE_UNAVAILABLE` unless all that was begun here has ended here */
  drained(job: string, cause: unknown): Run[] {
    if (this.begun.size > 0 && this.#ended.size === this.begun.size) return this.ended()
    const message = `Job '${job}': this process was asked to stop before the run had ended; what was not finished is handed back.`
    throw new FleetcronError('STORE_UNAVAILABLE', message, { cause })
  }
}
