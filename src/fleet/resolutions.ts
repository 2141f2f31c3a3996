import type { Effects } from '../effect/port.js'
import type { ResolvedEffect } from '../ledger/context.js'
import type { Asking } from './commands.js'

export interface Historian {
  readonly fleet: string
  /** Puts it into the ledger's history of a job. */
  note(job: string, what: Asking & ResolvedEffect): Promise<void>
  failed(error: unknown): void
}

/**
 * A fleet's effects: who says what became of an uncertain call of one of its runs is told to the ledger's history too. The
 * effect's own row has it already, so a ledger that is away, or does not know the job any more, keeps nobody from deciding.
 */
export function withHistory(effects: Effects, { fleet, note, failed }: Historian): Effects {
  const resolve: Effects['resolve'] = async (key, resolution) => {
    const made = await effects.resolve(key, resolution)
    const { by, why } = resolution
    const { job, run, as } = made
    if (job === null || !job.startsWith(`${fleet}/`)) return made
    try {
      await note(job.slice(fleet.length + 1), { by, why, run, effect: key, as })
      return { ...made, noted: true }
    } catch (error) {
      failed(error)
      return made
    }
  }
  return Object.assign(Object.create(effects) as Effects, { resolve })
}
