import { formatDuration } from '../duration.js'
import { parseSchedule } from '../schedule/index.js'
import type { ScheduleSpec } from '../schedule/types.js'
import type { StoreInfo } from '../store/port.js'
import type { ResolvedJob } from './job-options.js'

/** A fleet may have thousands of jobs; a log is not the place to list them. */
const ROWS = 50

/** What a store's grade means, for those who meet the word here. */
const GRADES: Readonly<Record<StoreInfo['grade'], string>> = {
  correct: 'keeps whatever it acknowledged',
  efficient: 'may lose what it acknowledged',
}

/** The line that says what was started, and how far its store can be trusted. */
export function modeLine(
  about: { readonly fleet: string; readonly service: string; readonly label: string; readonly attends: boolean },
  { kind, grade, remark }: StoreInfo,
): string {
  const role = about.attends ? '' : ', runs nothing here (attends: false)'
  const note = remark === null ? '' : ` Note: ${remark}`
  return `fleet '${about.fleet}', service '${about.service}', node ${about.label}${role}; store ${kind}, graded ${grade}: it ${GRADES[grade]}.${note}`
}

/** A job that the application runs on every node by itself, as the table shows it. */
export interface NodeJob {
  readonly name: string
  /** What it is timed by, in words or as an expression. */
  readonly schedule: string
  readonly timeZone: string | null
  /** To tell when it comes next; null: the words say it. */
  readonly spec: ScheduleSpec | null
  readonly disabled: boolean
}

/** Jobs of the fleet and of every node: schedule, zone, next, scope, overlap, catch-up. What nobody said is marked with `*`. */
export function jobTable(
  jobs: readonly { readonly name: string; readonly job: ResolvedJob }[],
  ofEveryNode: readonly NodeJob[],
  now: number,
): string {
  const header = ['job', 'schedule', 'zone', 'next', 'scope', 'overlap', 'catch-up']
  const shown = jobs.slice(0, ROWS)
  const rows = [
    ...shown.map(({ name, job }) => row(name, job, now)),
    ...ofEveryNode.slice(0, ROWS - shown.length).map((one) => nodeRow(one, now)),
  ]
  const more = jobs.length + ofEveryNode.length - rows.length
  const widths = header.map((title, column) =>
    Math.max(title.length, ...rows.map((cells) => (cells[column] ?? '').length)),
  )
  const lines = [header, ...rows].map((cells) =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
  if (more > 0) lines.push(`… and ${more} more`)
  lines.push('* by default')
  return lines.join('\n')
}

function row(name: string, { definition, defaulted, disabled, zoneDefaulted }: ResolvedJob, now: number): string[] {
  const mark = (option: string) => (defaulted.has(option) ? '*' : '')
  const { schedule, overlap, catchUp } = definition
  const within = catchUp.withinMs === null ? '' : ` within ${formatDuration(catchUp.withinMs)}`
  return [
    name,
    scheduleText(schedule),
    schedule !== null && 'timeZone' in schedule ? `${schedule.timeZone}${zoneDefaulted ? '*' : ''}` : '',
    disabled ? 'disabled here' : nextText(schedule, now),
    'fleet',
    `${overlap}${mark('overlap')}`,
    `${catchUp.policy}${within}${mark('catchUp')}`,
  ]
}

function nodeRow({ name, schedule, timeZone, spec, disabled }: NodeJob, now: number): string[] {
  return [name, schedule, timeZone ?? '', disabled ? 'disabled here' : nextText(spec, now), 'every node', '', '']
}

function scheduleText(schedule: ScheduleSpec | null): string {
  if (schedule === null) return 'on request'
  if ('cron' in schedule) return schedule.cron
  return 'every' in schedule ? `every ${formatDuration(schedule.every)}` : `at ${schedule.at}`
}

function nextText(spec: ScheduleSpec | null, now: number): string {
  if (spec === null) return ''
  // A period counts from the job's first definition, which only the store knows.
  if ('every' in spec) return `within ${formatDuration(spec.every)}`
  const schedule = parseSchedule(spec, { anchor: now })
  return schedule.next(schedule.cursorAt(now))?.label ?? 'never'
}
