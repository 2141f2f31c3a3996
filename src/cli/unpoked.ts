import { awaitsPoke } from '../ledger/index.js'
import type { Aggregate, Run } from '../ledger/types.js'
import type { Store } from '../store/port.js'
import type { Finding } from './findings.js'

/** So many runs in a row that nobody poked are no accident. */
const IN_A_ROW = 3

/** Rows in which they are looked for. */
const LOOKED_AT = 100

/** The latest runs, newest first, of each job that is to be poked. */
export type Poked = ReadonlyMap<string, readonly Run[]>

export async function pokedRuns(store: Store, jobs: readonly Aggregate[]): Promise<Poked> {
  const found = new Map<string, readonly Run[]>()
  for (const { header, definition } of jobs) {
    if (header.retired || definition.pokeGraceMs === undefined) continue
    found.set(header.job, await store.runs({ job: header.job, limit: LOOKED_AT }))
  }
  return found
}

/** Jobs whose latest runs were all started by the fleet, when their grace was over. */
export function unpoked(poked: Poked): Finding[] {
  return [...poked].flatMap(([job, runs]) => {
    const latest = runs.filter(isTelling).slice(0, IN_A_ROW)
    const [newest] = latest
    if (newest === undefined || latest.some(({ readyAt }) => readyAt === 0)) return []
    const late = Math.round((newest.readyAt - newest.scheduledAt) / 1_000)
    const count = latest.length === 1 ? 'its only run of late was' : `its last ${latest.length} runs were`
    const what = `Nobody pokes job '${job}': ${count} started by the fleet itself, ${late} s after the instant.`
    const remedy =
      "Look at who is to poke it (BullMQ's workers, the platform's scheduler, a caller of fleet.poke), or leave `attend` out."
    return [{ finding: 'unpoked', grave: false, what, remedy }]
  })
}

/** What was caught up with needed no poke; what was tried again no longer tells; what waits may be poked yet. */
function isTelling(run: Run): boolean {
  return run.cause === 'schedule' && run.attempt === 1 && !awaitsPoke(run)
}
