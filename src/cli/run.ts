import { type Command, Option } from 'commander'
import { formatDuration } from '../duration.js'
import { DUE_DEFAULTS, MOST_PATIENCE_MS, Visit } from '../platform/due.js'
import { durationText } from '../platform/duration-text.js'
import { DONE } from '../platform/exit.js'
import { codeOf, dueText, dueView } from '../platform/told.js'
import { fleetOfApp } from './app.js'
import type { CommandContext } from './ledger.js'
import { printJson } from './terminal.js'

interface RunOptions {
  readonly app: string
  readonly occurrence?: string
  readonly early: number
  readonly patience: number
  readonly grace: number
  readonly json?: boolean
}

const EXAMPLE = `
Example:
  $ fleetcron run daily-invoices --app ./dist/app.js --early 60s
  2026-11-29T00:00 succeeded

Exit codes: 0 succeeded, done before, or nothing due; 1 failed; 75 could not be coordinated, or was stopped before the end.`

/** Adds `fleetcron run`: what a platform's scheduler starts. It only says when; the ledger decides. */
export function addRun(program: Command, context: CommandContext): void {
  program
    .command('run')
    .description('run what is due of one job in this process, as a platform’s scheduler starts it')
    .argument('<job>', 'its name in the application, or service:id')
    .requiredOption('--app <module>', 'a module that exports the fleet, declared and not started')
    .option('--occurrence <label>', 'this occurrence, such as 2026-11-29T00:00 (default: the one that is due)')
    .addOption(duration('--early', 'wait for one that is due so soon', DUE_DEFAULTS.earlyMs))
    .addOption(
      duration(
        '--patience',
        'how long to wait for the store, and for a decision',
        DUE_DEFAULTS.patienceMs,
        MOST_PATIENCE_MS,
      ),
    )
    .addOption(duration('--grace', 'how long the handler may go on after SIGTERM', GRACE_MS))
    .option('--json', 'print JSON instead of lines')
    .addHelpText('after', EXAMPLE)
    .action((job: string, options: RunOptions) => run(job, options, context))
}

async function run(job: string, options: RunOptions, { terminal, failed }: CommandContext): Promise<void> {
  // Asked first: a signal may come while the application is loaded.
  const stopped = terminal.stopped()
  const fleet = await fleetOfApp(options.app)
  const { occurrence = null, early, patience, grace } = options
  const visit = new Visit(fleet, { job, occurrence, earlyMs: early, patienceMs: patience })
  const due = await visit.run(stopped, () => fleet.stop({ grace }))
  if (codeOf(due) !== DONE) failed()
  if (options.json === true) printJson(terminal, dueView(due))
  else terminal.out(dueText(due))
}

const GRACE_MS = 30_000

function duration(option: string, what: string, defaultMs: number, mostMs?: number): Option {
  return new Option(`${option} <duration>`, what)
    .argParser((text) => durationText(text, option, mostMs))
    .default(defaultMs, formatDuration(defaultMs))
}
