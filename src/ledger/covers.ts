import { keyToInstant } from '../schedule/index.js'
import type { Covers, Run } from './types.js'

/**
 * Whether a key lies among those that a row covers. Labels compare as text; keys of instants do not, once there are seconds
 * (docs/labels.md), so these compare by their instants. A key of the other kind never does.
 */
export function isWithin({ from, to }: Pick<Covers, 'from' | 'to'>, key: string): boolean {
  const instants = [from, key, to].map(keyToInstant)
  const [first, asked, last] = instants
  if (first != null && asked != null && last != null) return first <= asked && asked <= last
  return instants.every((instant) => instant === null) && from <= key && key <= to
}

/** Whether the row decided the occurrence with this key: what somebody asked for (manual, backfill) decides none. */
export function decides(run: Run, key: string): boolean {
  return (run.cause === 'schedule' || run.cause === 'catch-up') && run.covers !== null && isWithin(run.covers, key)
}
