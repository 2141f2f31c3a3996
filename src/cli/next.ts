import { type Command, InvalidArgumentError, Option } from 'commander'
import {
  instantOf,
  jumpsBetween,
  type Occurrence,
  parseSchedule,
  readClock,
  type Schedule,
  scheduleSpec,
} from '../schedule/index.js'
import { table } from './table.js'
import type { Terminal } from './terminal.js'

interface NextOptions {
  readonly timeZone?: string
  readonly from?: string
  readonly count: number
  readonly dstGap: 'next' | 'skip'
  readonly json?: boolean
}

const MAX_COUNT = 1_000

const EXAMPLE = `
Example:
  $ fleetcron next '30 2 * * *' --time-zone America/New_York --from 2026-03-07T12:00 --count 2
  label             local time            offset  UTC                       remark
  2026-03-08T02:30  Sun 2026-03-08 03:00  -04:00  2026-03-08T07:00:00.000Z  02:30 does not exist: first instant after the gap
  2026-03-09T02:30  Mon 2026-03-09 02:30  -04:00  2026-03-09T06:30:00.000Z`

/** Adds `fleetcron next`: when is a job with this expression due? */
export function addNext(program: Command, terminal: Terminal): void {
  program
    .command('next')
    .description('list the next occurrences of a cron expression')
    .argument('<expression>', "five fields, six with seconds first, or an alias such as '@daily'; in quotes")
    .option('-z, --time-zone <zone>', "IANA name, UTC, or an offset such as +02:00 (default: the process's zone)")
    .option(
      '-f, --from <moment>',
      'list what is due after this: 2026-11-29T07:00Z, or 2026-11-29T09:00 in the zone (default: now)',
    )
    .option('-n, --count <number>', `how many, 1 to ${MAX_COUNT}`, parseCount, 5)
    .addOption(
      new Option(
        '--dst-gap <policy>',
        'a fixed time that a date leaves out is due at the end of the gap, or not at all',
      )
        .choices(['next', 'skip'])
        .default('next'),
    )
    .option('--json', 'print an array of UTC instants instead of a table')
    .addHelpText('after', EXAMPLE)
    .action((expression: string, options: NextOptions) => next(expression, options, terminal))
}

function next(expression: string, options: NextOptions, terminal: Terminal): void {
  const timeZone = options.timeZone ?? terminal.hostZone()
  const schedule = parseSchedule(scheduleSpec({ cron: expression, timeZone, dstGap: options.dstGap }), { anchor: 0 })
  const from = options.from === undefined ? terminal.now() : instantOf(options.from, timeZone, '--from')
  const found = schedule.between(schedule.cursorAt(from), Number.POSITIVE_INFINITY, options.count)
  if (options.json === true) terminal.out(`${JSON.stringify(found.map(({ instant }) => iso(instant)))}\n`)
  else if (found.length === 0) terminal.out(`No occurrence of '${expression}' in ${timeZone} after ${iso(from)}.\n`)
  else
    terminal.out(
      table(
        HEAD,
        found.map((occurrence, index) => row(occurrence, found[index - 1]?.instant ?? from, schedule, timeZone)),
      ),
    )
}

function parseCount(text: string): number {
  const count = /^\d{1,4}$/.test(text) ? Number(text) : 0
  if (count < 1 || count > MAX_COUNT) throw new InvalidArgumentError(`Write a whole number from 1 to ${MAX_COUNT}.`)
  return count
}

const HEAD = ['label', 'local time', 'offset', 'UTC', 'remark']

function row(occurrence: Occurrence, before: number, schedule: Schedule, timeZone: string): string[] {
  const { label, offset } = readClock(occurrence.instant, timeZone)
  return [
    occurrence.label,
    localTime(label),
    offsetText(offset),
    iso(occurrence.instant),
    remark(occurrence, before, schedule, timeZone),
  ]
}

/** What is odd about an occurrence: a time that does not exist, or one that exists twice. */
function remark(occurrence: Occurrence, before: number, schedule: Schedule, timeZone: string): string {
  const { label, pass } = readClock(occurrence.instant, timeZone)
  if (label !== occurrence.label) {
    const more = occurrence.through === occurrence.label ? '' : `, also for the times to ${time(occurrence.through)}`
    return `${time(occurrence.label)} does not exist: first instant after the gap${more}`
  }
  if (pass !== 'only') return pass === 'first' ? 'first of two passes' : 'second pass'
  const jump = jumpsBetween(before, occurrence.instant, timeZone).find(({ from, to }) => hides(schedule, from, to))
  return jump === undefined ? '' : `after a gap: ${jump.from} to ${jump.to} does not exist`
}

/** Whether the expression has times in a gap that got no occurrence. */
function hides(schedule: Schedule, from: string, to: string): boolean {
  if (!('cron' in schedule.spec)) return false
  // On UTC every label is an instant, so it says what the expression means by itself.
  const plain = parseSchedule({ ...schedule.spec, timeZone: 'UTC' }, { anchor: 0 })
  return plain.count(plain.cursorAt(Date.parse(`${from}Z`) - 1), Date.parse(`${to}Z`) - 1) > 0
}

const DAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat']

function localTime(label: string): string {
  return `${DAYS[new Date(`${label}Z`).getUTCDay()]} ${label.replace('T', ' ')}`
}

function time(label: string): string {
  return label.slice(11)
}

function offsetText(offset: number): string {
  const seconds = Math.abs(offset) / 1_000
  const parts = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60]
  const shown = parts.slice(0, parts[2] === 0 ? 2 : 3).map((part) => String(part).padStart(2, '0'))
  return `${offset < 0 ? '-' : '+'}${shown.join(':')}`
}

function iso(instant: number): string {
  return new Date(instant).toISOString()
}
