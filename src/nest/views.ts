import type { Fleet } from '../fleet/fleet.js'
import type { JobOptions } from '../fleet/job-options.js'
import { parseSchedule, scheduleSpec } from '../schedule/index.js'
import type { ViewedJob } from './fleet-cron-job.js'

/** What the registry shows of a fleet's job: dates from its schedule, state from this node. */
export function viewOf(name: string, job: JobOptions, fleet: Fleet): ViewedJob {
  const id = job.id ?? name
  const isIt = (ledgerId: string) => ledgerId.slice(ledgerId.indexOf(':') + 1) === id
  let last: Date | null = null
  fleet.on('run-started', ({ job: started, run }) => {
    if (isIt(started)) last = new Date(run.scheduledAt)
  })
  return {
    name,
    cron: job.cron ?? null,
    active: () => job.disabled !== true && fleet.health()?.state === 'running',
    running: () => fleet.health()?.running.some((run) => isIt(run.job)) ?? false,
    last: () => last,
    next: (after, count) => nextDates(job, after, count),
  }
}

/** A period counts from the job's first definition, which only the store knows: `await fleet.jobs()` shows its next date. */
function nextDates(job: JobOptions, after: number, count: number): Date[] {
  const { cron, at, timeZone = Intl.DateTimeFormat().resolvedOptions().timeZone, dstGap } = job
  if (job.disabled === true || (cron === undefined && at === undefined)) return []
  const schedule = parseSchedule(scheduleSpec({ cron, at, timeZone, dstGap }), { anchor: after })
  const found: Date[] = []
  let cursor = schedule.cursorAt(after)
  while (found.length < count) {
    const next = schedule.next(cursor)
    if (next === null) break
    found.push(new Date(next.instant))
    cursor = schedule.cursorAt(next.instant)
  }
  return found
}
