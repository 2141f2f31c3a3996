import type { Definition, Run } from '../ledger/types.js'
import type { ScheduleSpec } from '../schedule/types.js'
import type { Loaded } from '../store/port.js'
import { describeError } from './attempt-error.js'
import type { Grant, Parts } from './parts.js'

/** The schedule that a run's occurrences came from; `unknown`: why it could not be learned. */
type OwnSchedule = { readonly spec: ScheduleSpec | null; readonly unknown: null } | { readonly unknown: string }

/**
 * What a run covers is frozen at its first grant, while the terms of its job may change: an attempt after that lists the same
 * occurrences, by the terms that the run was made under. Where these are not stored any more, those in force stand in.
 */
export async function ownSchedule(parts: Parts, { run, definition, hash }: Grant): Promise<OwnSchedule> {
  const inForce = { spec: definition.schedule, unknown: null }
  if (run.definition === hash || run.covers === null || run.covers.count === 1) return inForce
  try {
    const { link, facts } = parts
    const { reply } = await link.call('load', facts.leaseMs / 2, (store) => store.load({ jobs: [run.job] }))
    const terms = ownTerms(reply, run)
    return terms === undefined ? inForce : { spec: terms.schedule, unknown: null }
  } catch (error) {
    return { unknown: `the terms it was made under could not be read: ${describeError(error).message}` }
  }
}

/** The terms that a run was made under, where its job was loaded and they are stored still. */
export function ownTerms({ definitions }: Loaded, { job, definition }: Run): Definition | undefined {
  return definitions.get(job)?.find(({ hash }) => hash === definition)?.content
}
