import type { AskedSeen, CommitSeen, JobChange } from '../observations.js'
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

  /** When a job was last seen paused, and not paused; true time. */
  const paused = new Map<string, number>()
  const unpaused = new Map<string, number>()

  const remember = ({ job, before, after }: JobChange, at: number): void => {
    for (const row of [before, after]) if (row !== null) (row.header.pause === null ? unpaused : paused).set(job, at)
  }

  /** What was answered with a yes has been done, if only for a moment. */
  const carriedOut = (seen: AskedSeen): void => {
    const { command, job, askedAt, answer } = seen
    const header = truth.ledger.job(job)?.header
    if (answer.startsWith('error') || header === undefined || truth.restoredAt >= askedAt) return
    const name = `${command} of ${job}`
    const since = (times: ReadonlyMap<string, number>) => (times.get(job) ?? Number.NEGATIVE_INFINITY) >= askedAt
    if (command === 'pause' && header.pause === null && !since(paused)) broken('S7', `${name} did not pause it`)
    // A pause whose time has come is over, whether or not anybody has looked since.
    const isOver = header.pause?.until != null && header.pause.until <= truth.storeNow
    if (command === 'resume' && header.pause !== null && !isOver && !since(unpaused))
      broken('S7', `${name} did not resume it`)
    const run = seen.run === null ? null : truth.ledger.run(job, seen.run)
    const goesOn = run !== null && run.stop === null && (run.state === 'queued' || run.state === 'running')
    if (command === 'cancel' && goesOn) broken('S6', `${name} left ${seen.run} as ${run.state}`)
    if (command === 'retry' && seen.run !== null && truth.ledger.run(job, answer)?.retryOf !== seen.run)
      broken('S14', `${name} was answered with ${answer}, which is no retry of ${seen.run}`)
  }

  /** Nobody starts a run where as many wait as the job allows. */
  const roomFor = (seen: CommitSeen): void => {
    for (const { job, key, before, after } of seen.rows) {
      const definition = after && definitionBefore(seen, job)
      if (before !== null || after?.cause !== 'manual' || !definition) continue
      const live = [...truth.ledger.live(job)]
      const waiting = live.filter((run) => run.state === 'queued' && !run.place && run.lane === 'manual').length
      const open = Math.max(0, definition.concurrency - live.filter((run) => run.place).length)
      if (waiting - 1 >= definition.queue + open)
        broken('S14', `${job}/${key} waits behind ${waiting - 1} others, queue is ${definition.queue}`)
    }
  }

  const definitionBefore = (seen: CommitSeen, job: string) => {
    const row = seen.jobs.find((one) => one.job === job)?.before
    return row ? truth.definition(row) : null
  }

  return {
    see(seen) {
      if (seen.kind === 'commit') {
        for (const change of seen.jobs) remember(change, seen.at)
        roomFor(seen)
      }
      if (seen.kind === 'asked') carriedOut(seen)
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
