import type { Run } from '../ledger/types.js'
import type { Due } from './due.js'
import { DONE, FAILED } from './exit.js'
import { iso, runView } from './run-view.js'

/** 1 where a run has failed or was cancelled; what a policy left out (`skipped`, `missed`) is no failure of this process. */
export function codeOf({ runs }: Due): number {
  return runs.some(({ state }) => state === 'failed' || state === 'cancelled') ? FAILED : DONE
}

export function dueView({ job, runs, next }: Due) {
  return { job, runs: runs.map(runView), next: iso(next?.getTime() ?? null) }
}

/** A line for each run; one that says when to come again where nothing was left to do here. */
export function dueText({ runs, here, next, pause }: Due): string {
  if (runs.length > 0) {
    const again = here.size > 0 || next === null ? '' : `nothing else is due; next: ${toSecond(next.getTime())}\n`
    return runs.map((run) => `${line(run, here)}\n`).join('') + again
  }
  if (pause !== null) {
    const why = pause.why === null ? '' : `: ${oneLine(pause.why)}`
    return `nothing is due; paused by ${oneLine(pause.by)}${why}\n`
  }
  return `nothing is due; next: ${next === null ? 'never' : toSecond(next.getTime())}\n`
}

function line({ key, state, reason, error, attempts, endedAt }: Run, here: ReadonlySet<string>): string {
  const node = attempts.at(-1)?.node
  const isElsewhere = !here.has(key) && node !== undefined && endedAt !== null
  const where = isElsewhere ? ` at ${oneLine(node)}, ${toSecond(endedAt)}` : ''
  const why = error === null ? reason : error.message
  return `${key} ${state}${where}${why === null ? '' : `: ${oneLine(why)}`}`
}

function toSecond(instant: number): string {
  return iso(instant).replace(/\.\d+Z$/, 'Z')
}

/** Text from the command line, from a ledger or from another machine, without its line breaks and control characters. */
export function oneLine(text: string): string {
  return text
    .replace(/\s+/g, ' ')
    .replace(/[\p{Cc}\p{Cf}]/gu, '?')
    .trim()
}
