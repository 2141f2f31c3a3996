import { createHash } from 'node:crypto'
import type { Definition } from '../ledger/types.js'

/** The same terms give the same words on every node, whatever order their keys were written in. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(sorted(value)) ?? 'null'
}

function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(sorted)
  const result: Record<string, unknown> = Object.create(null)
  // A key that is a number would be moved to the front by the engine, on every node alike.
  for (const key of Object.keys(value).sort()) result[key] = sorted((value as Record<string, unknown>)[key])
  return result
}

/**
 * Hash of a job's terms: it says which terms these are, on any node and in any release. A name that is not the job's id counts
 * among them, so that a rename comes into force as other terms do, and no old node brings the earlier name back.
 */
export function definitionHash(content: Definition, job?: { readonly id: string; readonly name: string }): string {
  const terms = job === undefined || job.name === job.id ? content : { ...content, name: job.name }
  return createHash('sha256').update(canonicalJson(terms)).digest('hex').slice(0, 32)
}

/** A defaulted zone never replaces the one that the store has: the zone of the process would differ from node to node. */
export function withStoredZone(
  content: Definition,
  zoneDefaulted: boolean,
  stored: Definition | undefined,
): Definition {
  const { schedule } = content
  const kept = stored?.schedule
  if (!zoneDefaulted || schedule === null || !('timeZone' in schedule)) return content
  if (kept === undefined || kept === null || !('timeZone' in kept)) return content
  return { ...content, schedule: { ...schedule, timeZone: kept.timeZone } }
}
