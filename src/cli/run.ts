import type { Command } from 'commander'
import { parseDuration } from '../duration.js'
import { FleetcronError } from '../errors.js'
import { setBoot } from '../fleet/boot.js'
import type { Fleet } from '../fleet/fleet.js'
import type { JobView } from '../fleet/lookups.js'
import { isLive } from '../ledger/index.js'
import type { Run } from '../ledger/types.js'
import { instantToKey, parseSchedule } from '../schedule/index.js'
import { fleetOfApp } from './app.js'
import type { CommandContext } from './ledger.js'
import { printJson, type Terminal } from './terminal.js'
import { iso, runView, short } from './views.js'

interface RunOptions {
  readonly app: string
  readonly occurrence?: string
  readonly early: number
  readonly patience: number
  readonly json?: boolean
}

const EXAMPLE = `
Example:
  $ fleetcron run daily-invoices --app ./dist/app.js --early 60s
  2026-11-29T00:00 succeeded`

/** Adds `fleetcron run`: what a platform's scheduler starts. It only says when; the ledger decides. */
export function addRun(program: Command, context: CommandContext): void {
  program
    .command('run')
    .description('run what is due of one job in this process, as a platform’s scheduler starts it')
    .argument('<job>', 'its name in the application')
    .requiredOption('--app <module>', 'a module that exports the fleet, declared and not started')
    .option('--occurrence <key>', 'this occurrence, such as 2026-11-29T00:00 (default: the one that is due)')
    .option('--early <duration>', 'wait for one that is due so soon', duration('--early'), 60_000)
    .option(
      '--patience <duration>',
      'how long to wait for the store, and for a decision',
      duration('--patience'),
      60_000,
    )
    .option('--json', 'print JSON instead of lines')
    .addHelpText('after', EXAMPLE)
    .action((job: string, options: RunOptions) => run(job, options, context))
}

async function run(name: string, options: RunOptions, { terminal, failed }: CommandContext): Promise<void> {
  const fleet = await fleetOfApp(options.app)
  setBoot(fleet, { only: name })
  const here = new Here(fleet)
  let isStopped = false
  void terminal.stopped().then(() => {
    isStopped = true
    return fleet.stop()
  })
  const done = (runs: readonly Run[], next: Date | null) => {
    if (runs.some(({ state }) => state === 'failed' || state === 'cancelled')) failed()
    tell(name, runs, next, options, terminal)
  }
  try {
    await within(options.patience, fleet.start())
    const runs = await dueRuns(fleet, name, options)
    done(runs, (await viewOf(fleet, name)).next)
  } catch (error) {
    if (!isStopped) throw error
    await fleet.stop()
    done(here.drained(name, error), null)
  } finally {
    await fleet.stop()
  }
}

/** What this process began and brought to an end: a node that is stopped answers no questions. */
class Here {
  readonly #begun = new Set<string>()
  readonly #ended = new Map<string, Run>()

  constructor(fleet: Fleet) {
    fleet.on('run-started', ({ key }) => void this.#begun.add(key))
    fleet.on('run-settled', ({ key, result, run: settled }) => {
      if (result !== 'lost' && !isLive(settled.state)) this.#ended.set(key, settled)
    })
  }

  /** @throws `STORE_UNAVAILABLE` unless all that was begun here has ended here */
  drained(job: string, cause: unknown): Run[] {
    if (this.#begun.size > 0 && this.#ended.size === this.#begun.size) return [...this.#ended.values()]
    const message = `Job '${job}': this process was asked to stop before the run had ended; what was not finished is handed back.`
    throw new FleetcronError('STORE_UNAVAILABLE', message, { cause })
  }
}

/** The occurrence that is due, and whatever else of the job waits or runs, each to its end, on whichever node. */
async function dueRuns(fleet: Fleet, name: string, options: RunOptions): Promise<Run[]> {
  const view = await viewOf(fleet, name)
  const due = options.occurrence ?? dueKey(view, options.early)
  const decided = due === null ? null : await decision(fleet, name, due, options)
  const live = await fleet.runs({ job: name, states: ['queued', 'running'], limit: 1_000 })
  const others = live.filter(({ key }) => key !== decided?.key)
  return Promise.all([...(decided ? [decided] : []), ...others].map((each) => ended(fleet, each)))
}

async function ended(fleet: Fleet, run: Run): Promise<Run> {
  return isLive(run.state) ? fleet.finished(run) : run
}

async function viewOf(fleet: Fleet, name: string): Promise<JobView> {
  const view = (await fleet.jobs()).find((each) => each.name === name && each.hosted)
  if (view) return view
  const message = `Job '${name}' is not one that the application hosts: look at its name, and at \`disabled\`.`
  throw new FleetcronError('JOB_UNKNOWN', message)
}

/** The next occurrence where it is due that soon, else the last one; null: there is none. */
function dueKey({ schedule: spec, next }: JobView, earlyMs: number): string | null {
  if (spec === null) return null
  const now = Date.now()
  const isSoon = next !== null && next.getTime() - now <= earlyMs
  if ('every' in spec) return isSoon ? instantToKey(next.getTime()) : null
  const schedule = parseSchedule(spec, { anchor: 0 })
  if (isSoon) return schedule.next(schedule.cursorAt(next.getTime() - 1))?.key ?? null
  return schedule.latest(schedule.cursorAt(now - YEAR_MS), now, 1)[0]?.key ?? null
}

const YEAR_MS = 366 * 86_400_000

/** What the ledger made of an occurrence, waited for until it is due and a while longer. Null: nobody decides it. */
async function decision(fleet: Fleet, name: string, key: string, options: RunOptions): Promise<Run | null> {
  const { next } = await viewOf(fleet, name)
  const now = Date.now()
  const isComing = next !== null && next.getTime() - now <= options.early
  const until = (isComing ? next.getTime() : now) + options.patience
  for (let waitMs = 50; ; waitMs = Math.min(1_000, waitMs * 2)) {
    const found = await fleet.occurrence(name, key)
    // What is past and undecided at a node that attends is no occurrence of the job's, or was pruned.
    if (found !== null || !isComing) return found
    if (Date.now() > until) {
      const message = `Job '${name}': occurrence ${key} was due and is still not decided: look at fleetcron doctor.`
      throw new FleetcronError('STORE_UNAVAILABLE', message)
    }
    await new Promise((resolve) => setTimeout(resolve, waitMs))
  }
}

async function within(ms: number, start: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    const message = `The store could not be reached within ${ms / 1_000} s: nothing was run.`
    timer = setTimeout(() => reject(new FleetcronError('STORE_UNAVAILABLE', message)), ms)
  })
  try {
    await Promise.race([start, late])
  } finally {
    clearTimeout(timer)
    start.catch(() => undefined)
  }
}

function tell(job: string, runs: readonly Run[], next: Date | null, options: RunOptions, terminal: Terminal): void {
  const coming = iso(next?.getTime() ?? null)
  if (options.json === true) {
    printJson(terminal, { job, runs: runs.map(runView), next: coming })
    return
  }
  for (const { key, state, reason, error } of runs) {
    const why = error === null ? reason : error.message
    terminal.out(`${key} ${state}${why === null ? '' : `: ${why.replace(/\s+/g, ' ')}`}\n`)
  }
  if (runs.length === 0) terminal.out(`nothing is due; next: ${coming === null ? 'never' : short(coming)}\n`)
}

function duration(option: string): (text: string) => number {
  return (text) => parseDuration(text, option)
}
