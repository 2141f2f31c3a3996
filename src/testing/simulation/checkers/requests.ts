import type { AskedSeen } from '../observations.js'
import { DISTURBED } from '../truth.js'
import type { Checker, CheckerContext } from './checker.js'

/**
 * S14: what people ask. A run that was asked for has a key of its own; asking again with the same key gives the first
 * run, and with other data an error; an answer is true.
 */
export function checkRequests({ truth, broken }: CheckerContext): Checker {
  const first = new Map<string, { readonly answer: string; readonly data: string | null }>()

  const triggered = ({ job, request, answer, data }: AskedSeen): void => {
    const name = `${job} (${request})`
    if (answer.startsWith('error')) {
      const before = first.get(request)
      const same = before === undefined || before.data === data
      if (answer === 'error REQUEST_CONFLICT' && same && before !== undefined)
        broken('S14', `${name} conflicts with itself`)
      return
    }
    const run = truth.ledger.run(job, answer)
    if (run === null && truth.restoredAt < 0) broken('S14', `${name} was answered with ${answer}, which is not there`)
    if (run !== null && run.cause !== 'manual') broken('S14', `${name} was answered with a run that is ${run.cause}`)
    if (run !== null && (run.data ?? null) !== data)
      broken('S14', `${name}: the run carries ${run.data}, ${data} was handed in`)
    const before = first.get(request)
    if (before === undefined) first.set(request, { answer, data })
    else if (before.answer !== answer) broken('S14', `${name} made ${before.answer} and ${answer}`)
    else if (before.data !== data) broken('S14', `${name} was repeated with other data and not refused`)
  }

  return {
    see(seen) {
      // A store that was set back has forgotten what it had been asked.
      if (seen.kind === 'world' && DISTURBED.has(seen.what)) first.clear()
      if (seen.kind === 'asked' && seen.command === 'trigger') triggered(seen)
      if (seen.kind === 'asked' && seen.answer.startsWith('error ') && !KNOWN.has(seen.answer.slice(6))) {
        broken('S14', `${seen.command} of ${seen.job} was answered with ${seen.answer}`)
      }
    },
  }
}

const KNOWN: ReadonlySet<string> = new Set([
  'JOB_UNKNOWN',
  'NOT_STARTED',
  'OPTION_INVALID',
  'QUEUE_FULL',
  'REQUEST_CONFLICT',
  'RUN_UNKNOWN',
  'STATE_CONFLICT',
  'STORE_UNAVAILABLE',
])
