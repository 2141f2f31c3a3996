import { formatDuration } from '../duration.js'
import type { Fleet } from '../fleet/fleet.js'
import type { JobOptions } from '../fleet/job-options.js'
import type { NodeJob } from '../fleet/startup-table.js'
import { parseSchedule, scheduleSpec } from '../schedule/index.js'
import type { ScheduleSpec } from '../schedule/types.js'
import type { Found } from './explorer.js'
import type { ViewedJob } from './fleet-cron-job.js'
import { type JobOverride, zoneOf } from './job-words.js'
import { nameOf } from './names.js'

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

/** A timer of this node as the table at start shows it. */
export function timerRow(found: Found, override: JobOverride = {}): NodeJob {
  const { timing, options } = found.declaration
  const disabled = override.enabled === undefined ? options.disabled === true : !override.enabled
  const rest = { name: nameOf(found), timeZone: null, spec: null, disabled }
  if (timing.kind === 'interval') return { ...rest, schedule: `every ${formatDuration(timing.ms)}` }
  if (timing.kind === 'timeout') return { ...rest, schedule: `after ${formatDuration(timing.ms)}` }
  const cronTime = override.cron ?? timing.cronTime
  if (typeof cronTime !== 'string') return { ...rest, schedule: 'at one moment' }
  const zone = override.timeZone ?? zoneOf(`job '${rest.name}'`, options)
  const timeZone = zone ?? Intl.DateTimeFormat().resolvedOptions().timeZone
  return { ...rest, schedule: cronTime, timeZone: zone ?? `${timeZone}*`, spec: specOf(cronTime, timeZone) }
}

/** Null: an expression that only `cron` understands. */
function specOf(cron: string, timeZone: string): ScheduleSpec | null {
  try {
    return scheduleSpec({ cron, timeZone })
  } catch {
    return null
  }
}
