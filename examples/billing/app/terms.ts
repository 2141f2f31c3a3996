import type { JobPolicies } from 'fleetcron'

/**
 * Terms under which every period gets its invoices, whatever happens: one that comes while another is worked on waits, and
 * after an outage each is made up for on its own. Release 2 changes them, as a deploy may: it tries a failed run again.
 */
export function termsOf(release: string | undefined): JobPolicies {
  const terms: JobPolicies = { overlap: 'wait', catchUp: { policy: 'each', within: '5m' } }
  return release?.startsWith('2.') ? { ...terms, retry: { limit: 2, delay: '1s' } } : terms
}
