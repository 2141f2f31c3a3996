/** Numbers that bound what the ledger keeps and repeats. */

/** Uncharged repeats a run may have (hand-backs, excused losses); further ones are charged to `recover`. */
export const UNCHARGED_REPEATS = 10

/** Attempts that a row lists; `run.attempt` counts them all. */
export const ATTEMPTS_KEPT = 20

/** Waiting runs of each lane that a loaded aggregate carries, beside all that hold a place. */
export const WINDOW = 100

/** Occurrences that one backfill may ask for. */
export const BACKFILL_MOST = 1_000

/** Limits of the texts that the ledger keeps, in UTF-16 units. */
export const TEXT_LIMITS = {
  name: 200,
  note: 500,
  errorMessage: 2_000,
  errorStack: 8_000,
  by: 200,
  why: 1_000,
  /** A longer one is refused: it is an identity, and cutting could make two of them one. */
  requestId: 200,
  /** JSON is not cut: longer data is refused, a longer result dropped. */
  data: 65_536,
  result: 16_384,
} as const
