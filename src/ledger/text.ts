/**
 * Makes text fit for any store: well-formed UTF-16 (lone surrogates become U+FFFD), free of NUL, and at most `limit`
 * UTF-16 units. Postgres refuses a whole statement over a NUL or a lone surrogate in JSON (22P05, 22P02).
 */
export function cleanText(text: string, limit: number): string {
  const cut = text.length > limit ? `${text.slice(0, limit - 1)}…` : text
  return cut
    .replaceAll('\u0000', '\uFFFD')
    .replace(/[\uD800-\uDBFF][\uDC00-\uDFFF]|[\uD800-\uDFFF]/g, (found) => (found.length === 2 ? found : '\uFFFD'))
}

/** JSON text as it is kept: made well-formed and free of NUL; null where it is longer than the limit, since cut JSON is none. */
export function keptJson(json: string | null, limit: number): string | null {
  return json === null || json.length > limit ? null : cleanText(json, limit)
}

/** FNV-1a, 32 bits: the same on every node and in every release. */
export function hash32(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) {
    hash ^= text.charCodeAt(i)
    hash = Math.imul(hash, 0x01000193)
  }
  // One round of mixing: FNV alone leaves the low bits of short similar names close together.
  hash ^= hash >>> 15
  hash = Math.imul(hash, 0x2c1b3c6d)
  hash ^= hash >>> 12
  return hash >>> 0
}

/** The job's bucket: nodes divide 256 of them among each other. */
export function bucketOf(job: string): number {
  return hash32(job) % BUCKETS
}

export const BUCKETS = 256
