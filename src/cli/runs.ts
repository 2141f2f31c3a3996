import { type Command, InvalidArgumentError, Option } from 'commander'
import { FleetcronError } from '../errors.js'
import { TRANSITIONS } from '../ledger/index.js'
import type { Run, RunState } from '../ledger/types.js'
import { runView } from '../platform/run-view.js'
import { findJob, findRun } from './find.js'
import { type CommandContext, inLedger, type LedgerOptions, type OpenLedger, withLedgerOptions } from './ledger.js'
import { facts, table } from './table.js'
import { printJson, type Terminal } from './terminal.js'
import { short, wholeRunView } from './views.js'

interface RunsOptions extends LedgerOptions {
  readonly state?: readonly RunState[]
  readonly limit: number
}

const STATES = [...new Set(TRANSITIONS.map(({ to }) => to))]

const RUNS_EXAMPLE = `
Example:
  $ fleetcron runs daily-invoices --state failed --limit 3 --store sqlite:./ledger.db --fleet billing`

const RUN_EXAMPLE = `
Example:
  $ fleetcron run-info daily-invoices 2026-11-29T00:00 --store sqlite:./ledger.db --fleet billing`

/** Adds `fleetcron runs` and `fleetcron run-info`. */
export function addRuns(program: Command, { terminal }: CommandContext): void {
  withLedgerOptions(program.command('runs').description('list runs, newest first'))
    .argument('[job]', 'its name, or service:id (default: all jobs)')
    .addOption(new Option('--state <states...>', 'in these states only').choices(STATES))
    .option('-n, --limit <number>', 'how many, 1 to 1000', limitOf, 20)
    .addHelpText('after', RUNS_EXAMPLE)
    .action((job: string | undefined, options: RunsOptions) =>
      inLedger(options, (ledger) => runs(ledger, job, options, terminal)),
    )
  withLedgerOptions(program.command('run-info').description('show what became of a run or an occurrence'))
    .argument('<job>', 'its name, or service:id; alone: the id of an attempt')
    .argument('[key]', "the run's key, such as 2026-11-29T00:00")
    .addHelpText('after', RUN_EXAMPLE)
    .action((job: string, key: string | undefined, options: LedgerOptions) =>
      inLedger(options, (ledger) => runInfo(ledger, job, key, options, terminal)),
    )
}

async function runs(ledger: OpenLedger, name: string | undefined, options: RunsOptions, terminal: Terminal) {
  const { limit, state: states } = options
  const job = name === undefined ? undefined : (await findJob(ledger, name)).header.job
  const found = await ledger.store.runs({ limit, ...(job && { job }), ...(states && { states }) })
  const views = found.map(runView)
  if (options.json === true) return printJson(terminal, views)
  const head = ['job', 'key', 'state', 'reason', 'cause', 'attempt', 'started', 'took', 'node']
  const rows = views.map((run) => [
    run.job,
    keyText(run),
    run.state,
    run.reason ?? '',
    run.cause,
    `${run.attempt}`,
    short(run.startedAt),
    run.tookMs === null ? '' : `${run.tookMs / 1_000} s`,
    run.node ?? '',
  ])
  terminal.out(table(head, rows))
}

function keyText({ key, covers }: Pick<Run, 'key' | 'covers'>): string {
  return covers === null || covers.count <= 1 ? key : `${key} to ${covers.to} (${covers.count})`
}

async function runInfo(
  ledger: OpenLedger,
  job: string,
  key: string | undefined,
  options: LedgerOptions,
  terminal: Terminal,
) {
  const run = key === undefined ? await byAttempt(ledger, job) : await byKey(ledger, job, key)
  const view = wholeRunView(run)
  if (options.json === true) return printJson(terminal, view)
  terminal.out(
    facts({
      job: view.job,
      run: keyText(view),
      state: view.reason === null ? view.state : `${view.state} (${view.reason})`,
      cause: view.cause,
      scheduled: short(view.scheduledAt),
      date: view.date,
      started: short(view.startedAt),
      ended: short(view.endedAt),
      took: view.tookMs === null ? '' : `${view.tookMs / 1_000} s`,
      error: view.error === null ? '' : `${view.error.name}: ${view.error.message}`,
      stop:
        view.stop === null ? '' : `${view.stop.kind} by ${view.stop.by}${view.stop.why ? `: ${view.stop.why}` : ''}`,
      data: view.data === null ? '' : JSON.stringify(view.data),
      result: view.result === null ? '' : JSON.stringify(view.result),
    }),
  )
  if (view.attempts.length === 0) return
  terminal.out('\n')
  const rows = view.attempts.map((attempt) => [
    attempt.id,
    attempt.node,
    short(attempt.startedAt),
    short(attempt.endedAt),
    attempt.outcome ?? 'running',
    attempt.note ?? '',
  ])
  terminal.out(table(['attempt', 'node', 'started', 'ended', 'outcome', 'note'], rows))
}

async function byKey(ledger: OpenLedger, name: string, key: string): Promise<Run> {
  return findRun(ledger, (await findJob(ledger, name)).header.job, key)
}

async function byAttempt({ store, fleet }: OpenLedger, id: string): Promise<Run> {
  const { runs: found } = await store.load({ attempts: [id] })
  const [run] = found
  if (run) return run
  const message = `Fleet '${fleet}' has no run whose last attempt is '${id}': name a job and a key.`
  throw new FleetcronError('RUN_UNKNOWN', message)
}

export function limitOf(text: string): number {
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0
  if (limit < 1 || limit > 1_000) throw new InvalidArgumentError('Write a whole number from 1 to 1000.')
  return limit
}
