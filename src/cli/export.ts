import { Argument, type Command } from 'commander'
import { FleetcronError } from '../errors.js'
import { declaredJobs } from '../fleet/boot.js'
import type { Aggregate } from '../ledger/types.js'
import { durationText } from '../platform/duration-text.js'
import { oneLine } from '../platform/told.js'
import { fleetOfApp } from './app.js'
import { allJobs } from './find.js'
import { cronJob, type EnvSource, type ExportedJob, type Surroundings } from './kubernetes/manifest.js'
import { timingOf } from './kubernetes/schedule.js'
import { type Plain, yaml } from './kubernetes/yaml.js'
import { type CommandContext, fleetOf, inLedger, type LedgerOptions, withLedgerOptions } from './ledger.js'
import { printJson, type Terminal } from './terminal.js'

interface ExportOptions extends LedgerOptions {
  readonly app?: string
  readonly command?: string
  readonly image: string
  readonly namespace?: string
  readonly envFrom: readonly EnvSource[]
  readonly job: readonly string[]
  readonly early: string
  readonly grace: string
}

const EXAMPLE = `
Example:
  $ fleetcron export kubernetes --app ./dist/app.js --image registry.example/billing:7 --env-from secret/billing > cronjobs.yaml
  $ fleetcron export kubernetes --store sqlite:./ledger.db --fleet billing --image billing:7 --command 'node dist/job.js'

Exit codes: 0 all schedules are exported; 1 some are not, each with a reason on stderr; 2 none is.`

/** Adds `fleetcron export`: a fleet's schedules in the words of a platform. */
export function addExport(program: Command, { terminal, failed }: CommandContext): void {
  withLedgerOptions(
    program
      .command('export')
      .description('print the jobs’ schedules for a platform: CronJobs of Kubernetes')
      .addArgument(new Argument('<platform>', 'for whom').choices(['kubernetes'])),
  )
    .option('--app <module>', 'a module that exports the fleet; its path is that in the image too')
    .option(
      '--command <words>',
      'what starts the process, before the job’s name (default: npx fleetcron run)',
      commandOf,
    )
    .requiredOption('--image <image>', 'the image of the container', imageOf)
    .option('--namespace <name>', 'the namespace of the objects', namespaceOf)
    .option('--env-from <source>', 'secret/<name> or configmap/<name>, as often as needed', envSources, [])
    .option(
      '--job <name>',
      'this job only, as often as needed',
      (name: string, all: readonly string[]) => [...all, name],
      [],
    )
    .option('--early <duration>', 'handed on: wait for an occurrence that is due so soon', checked('--early'), '60s')
    .option('--grace <duration>', 'how long a handler may go on after SIGTERM', checked('--grace'), '30s')
    .addHelpText('after', EXAMPLE)
    .action(async (_: string, options: ExportOptions, command: Command) => {
      // A variable of the environment does not make a ledger out of an export of an application.
      const isStoreNamed = command.getOptionValueSource('store') === 'cli'
      const { jobs, fleet } = await jobsOf(options, isStoreNamed)
      const earlyMs = durationText(options.early, '--early')
      const { manifests, refused } = manifestsOf(
        chosen(jobs, options.job),
        surroundings(options, fleet),
        earlyMs,
        terminal,
      )
      if (manifests.length === 0) {
        throw new FleetcronError('OPTION_INVALID', 'No schedule could be exported: nothing is printed.')
      }
      if (refused > 0) failed()
      if (options.json === true) printJson(terminal, { apiVersion: 'v1', kind: 'List', items: manifests })
      else terminal.out(manifests.map((each) => `---\n${yaml(each)}`).join(''))
    })
}

/** The application says what its jobs are; the ledger, where since when they are, and which of them are paused. */
async function jobsOf(options: ExportOptions, isStoreNamed: boolean) {
  const { app, command } = options
  if (app === undefined) {
    if (command === undefined) {
      const message =
        'What does the container start? Name the module of the application with --app, or the words with --command.'
      throw new FleetcronError('OPTION_INVALID', message)
    }
    return { fleet: fleetOf(options), jobs: fromLedger(await ledgerJobs(options)) }
  }
  const { name, jobs } = declaredJobs(
    await fleetOfApp(app, '; for `fleetcron export` name its ledger with --store, and --command'),
  )
  const known = isStoreNamed ? await ledgerJobs({ fleet: name, ...options }) : []
  const exported = jobs.map(({ id, name: called, definition, disabled }): ExportedJob => {
    const kept = known.find(({ header }) => header.job === id)?.header
    const isSuspended = disabled || isPaused(kept?.pause)
    return { job: id, name: called, called, definition, anchor: kept?.anchor ?? null, isSuspended }
  })
  return { fleet: name, jobs: exported }
}

function ledgerJobs(options: LedgerOptions): Promise<Aggregate[]> {
  return inLedger(options, (ledger) => allJobs(ledger))
}

/** Schedules kept in the store come and go: their handlers are not jobs of the code, and no manifest can follow them. */
function fromLedger(all: readonly Aggregate[]): ExportedJob[] {
  const jobs = all.filter(({ header, definition }) => !header.retired && definition.handler === undefined)
  const isAlone = new Set(jobs.map(({ header }) => header.service)).size <= 1
  return jobs.map(({ header: { job, name, service, anchor, pause }, definition }) => ({
    job,
    name,
    called: isAlone ? name : calledWith(service, name),
    definition,
    anchor,
    isSuspended: isPaused(pause),
  }))
}

/** `a-b` and `c` are not `a` and `b-c`: a dot is no part of such a name, which is told apart by its hash then. */
function calledWith(service: string, name: string): string {
  return `${service}${service.includes('-') ? '.' : '-'}${name}`
}

/** A pause that ends by itself is the ledger's own business. */
function isPaused(pause: Aggregate['header']['pause'] | undefined): boolean {
  return pause !== null && pause !== undefined && pause.until === null
}

function chosen(jobs: readonly ExportedJob[], names: readonly string[]): ExportedJob[] {
  const unknown = names.find((name) => !jobs.some((each) => each.name === name || each.job === name))
  if (unknown !== undefined) {
    const known = jobs.map(({ name }) => name).join(', ') || 'none'
    throw new FleetcronError('JOB_UNKNOWN', `There is no job '${unknown}' to export; known are ${known}.`)
  }
  return jobs.filter(({ name, job }) => names.length === 0 || names.includes(name) || names.includes(job))
}

function manifestsOf(jobs: readonly ExportedJob[], around: Surroundings, earlyMs: number, terminal: Terminal) {
  const manifests: Plain[] = []
  let refused = 0
  const say = (job: string, what: string) => terminal.err(`fleetcron: Job '${oneLine(job)}': ${oneLine(what)}.\n`)
  for (const each of jobs) {
    const { schedule } = each.definition
    if (schedule === null) {
      say(each.job, 'it runs on request, and has no schedule to export')
      continue
    }
    const timing = timingOf(schedule, each.anchor, terminal.now(), earlyMs)
    if ('why' in timing) {
      refused += 1
      say(each.job, `not exported: ${timing.why}`)
      continue
    }
    if (timing.note !== null) say(each.job, timing.note)
    manifests.push(cronJob(each, timing, around, terminal.now()))
  }
  return { manifests, refused }
}

function surroundings(options: ExportOptions, fleet: string): Surroundings {
  const { command, app, image, namespace = null, envFrom, early, grace } = options
  const starts = command?.trim().split(/\s+/) ?? ['npx', 'fleetcron', 'run']
  // A command of somebody's own knows its application, and how long its handlers may go on.
  const own = command === undefined && app !== undefined ? ['--app', app, '--grace', grace] : []
  const graceMs = durationText(grace, '--grace')
  return { fleet, image, namespace, command: starts, words: [...own, '--early', early], envFrom, graceMs }
}

function envSources(text: string, all: readonly EnvSource[]): EnvSource[] {
  const [, kind, name = ''] = /^(secret|configmap)\/([a-z0-9]([a-z0-9.-]*[a-z0-9])?)$/i.exec(text) ?? []
  if (kind === undefined) {
    throw new FleetcronError(
      'OPTION_INVALID',
      `--env-from '${text}' is not understood: write secret/<name> or configmap/<name>.`,
    )
  }
  return [...all, { kind: kind.toLowerCase() === 'secret' ? 'secret' : 'configMap', name }]
}

/** What is no image at all; which names a registry takes is its own business. */
function imageOf(text: string): string {
  if (/^[^\s\p{Cc}]+$/u.test(text)) return text
  const why = text.trim() === '' ? 'is empty' : `'${text}' has white space in it`
  throw new FleetcronError('OPTION_INVALID', `--image ${why}: name the image as in registry.example/billing:7.`)
}

function commandOf(text: string): string {
  if (text.trim() !== '') return text
  throw new FleetcronError(
    'OPTION_INVALID',
    "--command is empty: write what starts the process, such as 'node dist/job.js'.",
  )
}

function namespaceOf(text: string): string {
  if (/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(text)) return text
  const message = `--namespace '${text}' is none that Kubernetes knows: write up to 63 of a-z, 0-9 and hyphens.`
  throw new FleetcronError('OPTION_INVALID', message)
}

function checked(option: string): (text: string) => string {
  return (text) => {
    durationText(text, option)
    return text
  }
}
