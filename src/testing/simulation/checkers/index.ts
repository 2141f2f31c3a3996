import type { Observation } from '../observations.js'
import { Truth } from '../truth.js'
import type { World } from '../world.js'
import { checkBelief } from './belief.js'
import { checkCalm } from './calm.js'
import type { Checker, CheckerContext, Violation } from './checker.js'
import { checkDecisions } from './decisions.js'
import { checkDefinitions } from './definitions.js'
import { checkEffects } from './effects.js'
import { checkLiveness } from './liveness.js'
import { checkOutcomes } from './outcomes.js'
import { checkOwners } from './owners.js'
import { checkPlaces } from './places.js'
import { checkPort } from './port.js'
import { checkRequests } from './requests.js'
import { checkRows } from './rows.js'
import { checkSessions } from './sessions.js'
import { checkWakes } from './wakes.js'

/** One seed shows the same defect many times: the first few say enough. */
const VIOLATIONS_MOST = 20

const ALL = [
  checkRows,
  checkPort,
  checkSessions,
  checkDecisions,
  checkPlaces,
  checkWakes,
  checkBelief,
  checkOwners,
  checkEffects,
  checkOutcomes,
  checkDefinitions,
  checkRequests,
  checkLiveness,
  checkCalm,
]

/** All checkers of one simulation. */
export class Checkers {
  readonly #truth: Truth
  readonly #checkers: readonly Checker[]
  readonly #violations: Violation[] = []
  #fresh: Violation[] = []
  readonly #context: CheckerContext

  constructor(world: World) {
    this.#truth = new Truth(world)
    this.#context = { truth: this.#truth, broken: (rule, what) => this.#broken(rule, what) }
    this.#checkers = ALL.map((make) => make(this.#context))
  }

  /** Shows an observation to every checker; gives what it broke. */
  see(seen: Observation): readonly Violation[] {
    this.#truth.see(seen)
    for (const checker of this.#checkers) checker.see(seen)
    return this.#fresh.splice(0)
  }

  end(): readonly Violation[] {
    for (const checker of this.#checkers) checker.end?.()
    return this.#violations
  }

  /** Occurrences that the ledger has decided. */
  occurrences(): number {
    return this.#truth.occurrences
  }

  #broken(rule: string, what: string): void {
    const violation = { rule, at: this.#truth.now, what }
    if (this.#violations.length < VIOLATIONS_MOST) this.#violations.push(violation)
    this.#fresh.push(violation)
  }
}
