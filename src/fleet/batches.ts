import type { Change } from '../ledger/types.js'

/** Rows of one commit at most, so that its transaction is short; a change is never divided. */
const ROWS = 1_000

/** Divides what was decided into commits, in order. Nearly always it is one. */
export function inBatches<T extends { readonly change: Change }>(decided: readonly T[], rows = ROWS): readonly T[][] {
  const batches: T[][] = []
  let left = 0
  for (const one of decided) {
    const size = rowsOf(one.change)
    const batch = size <= left ? batches.at(-1) : undefined
    if (batch !== undefined) batch.push(one)
    else {
      batches.push([one])
      left = rows
    }
    left -= size
  }
  return batches
}

/** The job's own row, its runs and events, and a definition that is entered. */
function rowsOf({ runs, events, definition }: Change): number {
  return 1 + runs.length + events.length + (definition === null ? 0 : 1)
}
