/**
 * Freezes plain data to its depth and gives it back. Rows are shared with whoever reads them, so a reader that writes into
 * one fails at once instead of changing the ledger. What is frozen already was frozen here, or is no business of ours.
 */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  Object.freeze(value)
  for (const inner of Object.values(value)) deepFreeze(inner)
  return value
}
