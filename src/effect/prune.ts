import type { PrunedPage, PrunePage, QueryResult, Statements } from './port.js'
import type { Script } from './script.js'

/**
 * Looks at the next keys and removes those that are settled and older than is kept. Which these are is read without a lock,
 * and each is removed by its key alone, so that nobody waits for a stretch of keys; what changed meanwhile is left alone.
 */
export function* pruneScript(
  sql: Statements,
  prefix: string,
  keptMs: number,
  { after, limit }: PrunePage,
): Script<PrunedPage> {
  const { rows } = (yield { sql: sql.expired, params: [keptMs, after ?? '', limit] }) as QueryResult
  let removed = 0
  for (const row of rows) {
    const key = String(row.key)
    // Another application's keys in the same table are its own to remove.
    if (Number(row.expired) !== 1 || !key.startsWith(prefix)) continue
    yield { sql: sql.prune, params: [key, keptMs] }
    removed += 1
  }
  return { removed, next: rows.length < limit ? null : String(rows.at(-1)?.key) }
}
