/** The order of the collation "C": that of the bytes. Rows are locked in it, whatever JavaScript would put first. */
export function compareBytes(a: string, b: string): number {
  if (a === b) return 0
  // Characters beyond the basic plane are the only ones whose UTF-16 order is another.
  return SURROGATE.test(a) || SURROGATE.test(b) ? Buffer.compare(Buffer.from(a), Buffer.from(b)) : a < b ? -1 : 1
}

const SURROGATE = /[\ud800-\udfff]/
