import type { UncertainEffect } from '../effect/call/face.js'
import type { Finding } from './findings.js'

const SLOW_MS = 10 * 60_000
/** A call that is looked up or sent again by its job is no longer uncertain after so long. */
const LONG_MS = 3_600_000

/** Calls of providers whose outcome nobody knows; null: the business database was not named. */
export function uncertainEffects(uncertain: readonly UncertainEffect[] | null, now: number): Finding[] {
  // One whose answer has not come yet is a call like any other, for a while.
  const telling = (uncertain ?? []).filter(
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
