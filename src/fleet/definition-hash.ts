import { createHash } from 'node:crypto'
import type { Definition } from '../ledger/types.js'

/** The same terms give the same words on every node, whatever order their keys were written in. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  const pairs = Object.entries(value)
    .filter(([, inner]) => inner !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, inner]) => `${JSON.stringify(key)}:${canonicalJson(inner)}`)
  return `{${pairs.join(',')}}`
}

/** Hash of a job's terms: it says which terms these are, on any node and in any release. */
export function definitionHash(content: Definition): string {
  return createHash('sha256').update(canonicalJson(content)).digest('hex').slice(0, 32)
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
