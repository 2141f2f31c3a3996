import type { UncertainEffect } from '../effect/call/face.js'
import type { Finding } from './findings.js'

const SLOW_MS = 10 * 60_000
/** A call that is looked up or sent again by its job is no longer uncertain after so long. */
const LONG_MS = 3_600_000

/** What is looked at of the business database. */
export interface Business {
  /** What of the tables of effects is missing, in words. */
  readonly missing: readonly string[]
  /** What makes them. */
  readonly remedy: string
  /** Calls whose outcome nobody knows. */
  readonly uncertain: readonly UncertainEffect[]
}

/** Without its tables a business database holds no effect, and of what was asked of it nothing can be said. */
export function effectTables(business: Business | null): Finding[] {
  if (business === null || business.missing.length === 0) return []
  const what = `The business database has no ${business.missing.join(', no ')}.`
  return [
    { finding: 'effect-tables', grave: true, what, remedy: `Look at the URL in --effects, or run ${business.remedy}.` },
  ]
}

/** Calls of providers whose outcome nobody knows; null: the business database was not named. */
export function uncertainEffects(business: Pick<Business, 'uncertain'> | null, now: number): Finding[] {
  // One whose answer has not come yet is a call like any other, for a while.
  const telling = (business?.uncertain ?? []).filter(
    ({ state, intendedAt }) => state === 'uncertain' || now - intendedAt >= SLOW_MS,
  )
  const [first] = telling
  if (first === undefined) return []
  const oldest = telling.reduce((a, b) => (b.intendedAt < a.intendedAt ? b : a), first)
  const count = telling.length === 1 ? 'One call of a provider has' : `${telling.length} calls of providers have`
  const what = `${count} an outcome that nobody knows, the oldest '${oldest.key}' since ${new Date(oldest.intendedAt).toISOString()}.`
  const remedy =
    'Give the call a `find` that asks the provider; else look there yourself: fleetcron effects lists them, fleetcron resolve ends one.'
  return [{ finding: 'uncertain-effects', grave: now - oldest.intendedAt >= LONG_MS, what, remedy }]
}
