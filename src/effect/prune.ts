import type { PrunedPage, PrunePage, QueryResult, Statements } from './port.js'
import type { Script } from './script.js'

/** A page is of keys first, and then of fences. */
const KEYS = 'k'
const FENCES = 'f'

/**
 * Looks at the next keys and removes those that are settled and older than is kept; then at the fences, and removes the
 * fleet's that nobody has raised for as long. Which these are is read without a lock, and each is removed by its key alone, so
 * that nobody waits for a stretch of keys; what changed meanwhile is left alone.
 */
export function* pruneScript(
  sql: Statements,
  prefix: string,
  keptMs: number,
  { after, limit, fleet }: PrunePage,
): Script<PrunedPage> {
  const last = after?.slice(1) ?? ''
  if (after?.startsWith(FENCES)) {
    // Another fleet's fences, and what jobs name themselves, may be raised by others.
    const page = { last, limit, begin: `${fleet}/` }
    const { removed, next } = yield* removeOld({ find: sql.expiredFences, remove: sql.pruneFence }, keptMs, page)
    return { removed, next: next === null ? null : FENCES + next }
  }
  // Another application's keys in the same table are its own to remove.
  const page = { last, limit, begin: prefix }
  const { removed, next } = yield* removeOld({ find: sql.expired, remove: sql.prune }, keptMs, page)
  if (next !== null) return { removed, next: KEYS + next }
  return { removed, next: fleet === undefined ? null : FENCES }
}

function* removeOld(
  { find, remove }: { readonly find: string; readonly remove: string },
  keptMs: number,
  { last, limit, begin }: { readonly last: string; readonly limit: number; readonly begin: string },
): Script<PrunedPage> {
  const { rows } = (yield { sql: find, params: [keptMs, last, limit] }) as QueryResult
  let removed = 0
  for (const row of rows) {
    const key = String(row.key)
    if (Number(row.expired) !== 1 || !key.startsWith(begin)) continue
    yield { sql: remove, params: [key, keptMs] }
    removed += 1
  }
  return { removed, next: rows.length < limit ? null : String(rows.at(-1)?.key) }
}
