import type { Observation } from '../observations.js'
import type { Truth } from '../truth.js'

/** Something that was promised and did not hold. */
export interface Violation {
  /** The promise: S1 to S14, L1 to L6, or `port` for the store's own contract. */
  readonly rule: string
  readonly at: number
  readonly what: string
}

/** Holds one promise against everything that is seen. It knows the truth as far as it can be seen, and says what is broken. */
export interface Checker {
  see(seen: Observation): void
  /** When everything is over. */
  end?(): void
}

export interface CheckerContext {
  readonly truth: Truth
  /** Says that a promise does not hold. */
  broken(rule: string, what: string): void
}
