import type { Definition } from '../ledger/types.js'
import { optionInvalid, textOf } from './option-values.js'

/**
 * A named resource is one fence for all runs of a job, which takes them one after the other: two runs at a time would shut
 * each other out.
 *
 * @throws `OPTION_INVALID`
 */
export function resourceOf(
  what: string,
  name: unknown,
  { concurrency, fence }: Pick<Definition, 'concurrency' | 'fence'>,
): Pick<Definition, 'resource'> {
  if (name === undefined) return {}
  const option = `${what}: resource`
  const resource = textOf(option, name, 640)
  if (concurrency !== 1) {
    throw optionInvalid(
      option,
      `a named resource is for a job with one place, and this one has concurrency ${concurrency}: its runs would shut each ` +
        'other out. Leave the resource away, and each run has a fence of its own, or set concurrency: 1.',
    )
  }
  if (!fence) throw optionInvalid(option, 'with `fence: false` nothing is raised on it. Leave one of the two away.')
  return { resource }
}
