import type { Command } from 'commander'
import type { Aggregate } from '../ledger/types.js'
import { runView } from '../platform/run-view.js'
import type { NodeRow } from '../store/port.js'
import { allJobs, findJob, throwIfNobody } from './find.js'
import { type CommandContext, inLedger, type LedgerOptions, withLedgerOptions } from './ledger.js'
import { facts, table } from './table.js'
import { printJson, type Terminal } from './terminal.js'
import { type JobView, jobView, nodeState, scheduleText, short } from './views.js'

interface JobsOptions extends LedgerOptions {
  readonly service?: string
}

const JOBS_EXAMPLE = `
Example:
  $ fleetcron jobs --store sqlite:./ledger.db --fleet billing
  job                     schedule                    next                  running  waiting  failures  state
  billing:daily-invoices  0 0 * * *  Europe/Helsinki  2026-11-29T22:00:00Z  0        0        0`

const JOB_EXAMPLE = `
Example:
  $ fleetcron job daily-invoices --store sqlite:./ledger.db --fleet billing`

/** Adds `fleetcron jobs` and `fleetcron job`. */
export function addJobs(program: Command, { terminal }: CommandContext): void {
  withLedgerOptions(program.command('jobs').description('list the jobs of a fleet'))
    .option('--service <name>', 'of one service only')
    .addHelpText('after', JOBS_EXAMPLE)
    .action((options: JobsOptions) => inLedger(options, (ledger) => jobs(ledger, options, terminal)))
  withLedgerOptions(program.command('job').description('show one job: its terms, who hosts it, its last runs'))
    .argument('<job>', 'its name, or service:id')
    .addHelpText('after', JOB_EXAMPLE)
    .action((name: string, options: LedgerOptions) =>
      inLedger(options, (ledger) => job(ledger, name, options, terminal)),
    )
}

type Ledger = Parameters<Parameters<typeof inLedger>[1]>[0]

async function jobs(ledger: Ledger, options: JobsOptions, terminal: Terminal): Promise<void> {
  const all = await allJobs(ledger, options.service)
  if (all.length === 0) {
    const everything = options.service === undefined ? all : await allJobs(ledger)
    throwIfNobody(ledger, everything, (await ledger.store.load({ nodes: true })).nodes)
  }
  const views = all.map(jobView)
  if (options.json === true) printJson(terminal, views)
  else terminal.out(table(['job', 'schedule', 'next', 'running', 'waiting', 'failures', 'state'], views.map(row)))
}

function row(view: JobView): string[] {
  const { job, schedule, next, running, waiting, failures } = view
  return [job, scheduleText(schedule), short(next), `${running}`, `${waiting}`, `${failures}`, stateText(view)]
}

function stateText({ retired, paused }: JobView): string {
  if (retired) return 'retired'
  if (paused === null) return ''
  return `paused ${paused.until === null ? '' : `until ${short(paused.until)} `}by ${paused.by}`
}

const LAST_RUNS = 5

async function job(ledger: Ledger, name: string, options: LedgerOptions, terminal: Terminal): Promise<void> {
  const found = await findJob(ledger, name)
  const { store } = ledger
  const { job } = found.header
  const [{ nodes, now }, lastRuns] = await Promise.all([
    store.load({ nodes: true }),
    store.runs({ job, limit: LAST_RUNS }),
  ])
  const view = {
    ...jobView(found),
    definition: { hash: found.header.definition, ...found.definition },
    hostedBy: hostsOf(found, nodes, now),
    lastRuns: lastRuns.map(runView),
  }
  if (options.json === true) return printJson(terminal, view)
  const { definition, hostedBy } = view
  terminal.out(
    facts({
      job,
      name: view.name,
      schedule: scheduleText(view.schedule),
      next: short(view.next),
      state: stateText(view),
      places: `${view.running} of ${definition.concurrency} taken, ${view.waiting} waiting`,
      overlap: definition.overlap,
      'catch-up': definition.catchUp.policy,
      failures: `${view.failures} in a row`,
      'hosted by': hostedBy.join(', ') || 'nobody that is live',
    }),
  )
  if (view.lastRuns.length === 0) return
  terminal.out('\n')
  const rows = view.lastRuns.map((run) => [run.key, run.state, run.reason ?? '', short(run.endedAt ?? run.startedAt)])
  terminal.out(table(['last runs', 'state', 'reason', 'at'], rows))
}

/** Labels of the live nodes that carry the job, and run handlers. */
function hostsOf({ header }: Aggregate, nodes: readonly NodeRow[], now: number): string[] {
  return nodes
    .filter(
      (node) => nodeState(node, now) === 'live' && node.hello.attends && Object.hasOwn(node.hello.manifest, header.job),
    )
    .map((node) => node.hello.label)
    .sort()
}
