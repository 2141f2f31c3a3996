import { parseSchedule } from '../schedule/index.js'
import type { ScheduleSpec } from '../schedule/types.js'
import type { StoreInfo } from '../store/port.js'
import type { ResolvedJob } from './job-options.js'

/** A fleet may have thousands of jobs; a log is not the place to list them. */
const ROWS = 50

/** The line that says what was started, and how far its store can be trusted. */
export function modeLine(
  about: { readonly fleet: string; readonly service: string; readonly label: string; readonly attends: boolean },
  info: StoreInfo,
): string {
  const role = about.attends ? '' : ', runs nothing here (attends: false)'
  const remark = info.remark === null ? '' : `: ${info.remark}`
  return `fleet '${about.fleet}', service '${about.service}', node ${about.label}${role}; store ${info.kind} (${info.grade}${remark})`
}

/** A table of jobs: schedule, zone, next, overlap, catch-up. What nobody said is marked with `*`. */
export function jobTable(jobs: readonly { readonly name: string; readonly job: ResolvedJob }[], now: number): string {
  const header = ['job', 'schedule', 'zone', 'next', 'overlap', 'catch-up']
  const rows = jobs.slice(0, ROWS).map(({ name, job }) => row(name, job, now))
  const widths = header.map((title, column) =>
    Math.max(title.length, ...rows.map((cells) => (cells[column] ?? '').length)),
  )
  const lines = [header, ...rows].map((cells) =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
  if (jobs.length > ROWS) lines.push(`… and ${jobs.length - ROWS} more`)
  lines.push('* by default')
  return lines.join('\n')
}

function row(name: string, { definition, defaulted, disabled, zoneDefaulted }: ResolvedJob, now: number): string[] {
  const mark = (option: string) => (defaulted.has(option) ? '*' : '')
  const { schedule, overlap, catchUp } = definition
  const within = catchUp.withinMs === null ? '' : ` within ${catchUp.withinMs / 1000} s`
  return [
    name,
    scheduleText(schedule),
    schedule !== null && 'timeZone' in schedule ? `${schedule.timeZone}${zoneDefaulted ? '*' : ''}` : '',
    disabled ? 'disabled here' : nextText(schedule, now),
    `${overlap}${mark('overlap')}`,
    `${catchUp.policy}${within}${mark('catchUp')}`,
  ]
}

function scheduleText(schedule: ScheduleSpec | null): string {
  if (schedule === null) return 'on request'
  if ('cron' in schedule) return schedule.cron
  return 'every' in schedule ? `every ${schedule.every / 1000} s` : `at ${schedule.at}`
}

function nextText(spec: ScheduleSpec | null, now: number): string {
  if (spec === null) return ''
  // A period counts from the job's first definition, which only the store knows.
  if ('every' in spec) return ''
  const schedule = parseSchedule(spec, { anchor: now })
  return schedule.next(schedule.cursorAt(now))?.label ?? 'never'
}
