import { createHash } from 'node:crypto'
import type { Definition } from '../ledger/types.js'

/** The same terms give the same words on every node, whatever order their keys were written in. */
export function canonicalJson(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  const fields = value as Record<string, unknown>
  let words = ''
  for (const key of Object.keys(fields).sort()) {
    const field = fields[key]
    if (!isLeftOut(field)) words += `${words === '' ? '' : ','}${JSON.stringify(key)}:${canonicalJson(field)}`
  }
  return `{${words}}`
}

/** What JSON has no word for is no field of an object. */
function isLeftOut(value: unknown): boolean {
  return value === undefined || typeof value === 'function' || typeof value === 'symbol'
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
