import { hostname } from 'node:os'
import { type Command, InvalidArgumentError } from 'commander'
import { FleetcronError } from '../errors.js'
import type { Asking } from '../fleet/commands.js'
import { createFleet, type Fleet } from '../fleet/fleet.js'
import type { FleetOptions } from '../fleet/options.js'
import { durationText } from '../platform/duration-text.js'
import { runView } from '../platform/run-view.js'
import { oneLine } from '../platform/told.js'
import { instantOf } from '../schedule/index.js'
import { findJob, findRun } from './find.js'
import { type CommandContext, inLedger, type LedgerOptions, type OpenLedger, withLedgerOptions } from './ledger.js'
import { printJson, type Terminal } from './terminal.js'
import { type JobView, jobView, short } from './views.js'

interface AskingOptions extends LedgerOptions {
  readonly by?: string
  readonly why?: string
}

interface TriggerOptions extends AskingOptions {
  readonly data?: unknown
  readonly key?: string
  /** Milliseconds; true: as long as it takes. */
  readonly wait?: number | true
}

interface PauseOptions extends AskingOptions {
  /** Epoch milliseconds. */
  readonly until?: number
  readonly for?: number
}

/** Adds what people ask of jobs and runs; the ledger keeps who asked and why. */
export function addAsking(program: Command, context: CommandContext): void {
  const { terminal } = context
  asking(
    program,
    'trigger',
    'start a job once, now or as soon as a place is free',
    '--data \'{"month":"2026-11"}\' --wait',
  )
    .option('--data <json>', 'plain data for the run', jsonOf)
    .option('--key <text>', 'makes a resend safe: the same key gives the first run again')
    .option(
      '--wait [duration]',
      'until the run has ended, or so long; the exit code is 1 unless it succeeded',
      durationOf('--wait'),
    )
    .action((name: string, options: TriggerOptions) => trigger(name, options, context))
  asking(program, 'pause', 'start nothing new of a job until it is resumed', '--for 2h --why "month end"')
    .option('--until <moment>', 'resume by itself at this instant: 2026-11-29T07:00Z', untilOf)
    .option('--for <duration>', 'resume by itself after this long: 2h', durationOf('--for'))
    .action((name: string, options: PauseOptions) => pause(name, options, terminal))
  asking(program, 'resume', 'end a pause, and forget the failures in a row').action(
    (name: string, options: AskingOptions) =>
      inLedger(options, async (ledger) => {
        const { job } = (await findJob(ledger, name)).header
        await speaking(ledger, (fleet) => fleet.resume(job, said(options, terminal)))
        await tellJob(ledger, job, options, terminal, () => 'resumed')
      }),
  )
  aboutRun(program, 'cancel', 'take a run back; its holder is asked to stop').action(
    (name: string, key: string, options: AskingOptions) =>
      inLedger(options, async (ledger) => {
        const ref = await refOf(ledger, name, key)
        await speaking(ledger, (fleet) => fleet.cancel(ref, said(options, terminal)))
        const run = await findRun(ledger, ref.job, ref.key)
        if (options.json === true) printJson(terminal, runView(run))
        else terminal.out(run.state === 'running' ? 'its holder was asked to stop\n' : `${run.state}\n`)
      }),
  )
  aboutRun(program, 'retry', 'do the work of a run that ended without success once more').action(
    (name: string, key: string, options: AskingOptions) =>
      inLedger(options, async (ledger) => {
        const ref = await refOf(ledger, name, key)
        const run = await speaking(ledger, (fleet) => fleet.retry(ref, said(options, terminal)))
        if (options.json === true) printJson(terminal, runView(run))
        else terminal.out(`${run.key} ${run.state}\n`)
      }),
  )
}

function asking(program: Command, name: string, what: string, more = ''): Command {
  return audited(program.command(name).description(what))
    .argument('<job>', 'its name, or service:id')
    .addHelpText('after', example(`${name} daily-invoices ${more}`))
}

function aboutRun(program: Command, name: string, what: string): Command {
  return audited(program.command(name).description(what))
    .argument('<job>', 'its name, or service:id')
    .argument('<key>', "the run's key, such as 2026-11-29T00:00")
    .addHelpText('after', example(`${name} daily-invoices 2026-11-29T00:00 --why "wrong rates"`))
}

function audited(command: Command): Command {
  return withLedgerOptions(command)
    .option('--by <who>', 'who asks, for the record (default: the user of the system)')
    .option('--why <text>', 'why, for the record')
}

function example(words: string): string {
  return `\nExample:\n  $ fleetcron ${words.trim()} --store sqlite:./ledger.db --fleet billing`
}

async function trigger(name: string, options: TriggerOptions, { terminal, failed }: CommandContext): Promise<void> {
  const { data, key, wait } = options
  await inLedger(options, async (ledger) => {
    const { job } = (await findJob(ledger, name)).header
    const run = await speaking(ledger, async (fleet) => {
      const made = await fleet.trigger(job, { ...said(options, terminal), data, ...(key === undefined ? {} : { key }) })
      if (wait === undefined) return made
      return fleet.finished(made, wait === true ? {} : { within: wait })
    })
    if (wait !== undefined && run.state !== 'succeeded') failed()
    if (options.json === true) printJson(terminal, runView(run))
    else
      terminal.out(`${oneLine(run.key)} ${run.state}${run.error === null ? '' : `: ${oneLine(run.error.message)}`}\n`)
  })
}

async function pause(name: string, options: PauseOptions, terminal: Terminal): Promise<void> {
  await inLedger(options, async (ledger) => {
    const { job } = (await findJob(ledger, name)).header
    const until = await endOf(options, ledger)
    await speaking(ledger, (fleet) => fleet.pause(job, { ...said(options, terminal), ...(until && { until }) }))
    await tellJob(
      ledger,
      job,
      options,
      terminal,
      ({ paused }) => `paused${paused?.until ? ` until ${short(paused.until)}` : ''}`,
    )
  })
}

/** By the store's clock, which is what counts. */
async function endOf(options: PauseOptions, { store }: OpenLedger): Promise<Date | null> {
  if (options.until !== undefined && options.for !== undefined) {
    throw new FleetcronError('OPTION_INVALID', 'The options --until and --for exclude each other: name one.')
  }
  if (options.until !== undefined) return new Date(options.until)
  if (options.for === undefined) return null
  return new Date((await store.load({})).now + options.for)
}

async function tellJob(
  ledger: OpenLedger,
  job: string,
  options: AskingOptions,
  terminal: Terminal,
  done: (view: JobView) => string,
) {
  const view = jobView(await findJob(ledger, job))
  if (options.json === true) printJson(terminal, view)
  else terminal.out(`${done(view)}\n`)
}

async function refOf(ledger: OpenLedger, name: string, key: string) {
  const { job } = (await findJob(ledger, name)).header
  // An occurrence that another row covers is that row's.
  return { job, key: (await findRun(ledger, job, key)).key }
}

function said({ by, why }: AskingOptions, terminal: Terminal): Asking {
  return { by: by ?? terminal.user(), ...(why === undefined ? {} : { why }) }
}

/** A node that only speaks: it belongs to a service of its own, hosts nothing and runs nothing. */
export async function speaking<T>(
  { store, fleet }: OpenLedger,
  act: (fleet: Fleet) => Promise<T>,
  more: Pick<FleetOptions, 'effects'> = {},
): Promise<T> {
  const nodeLabel = `fleetcron-cli@${hostname()}#${process.pid}`
  const service = 'fleetcron-cli'
  const node = createFleet({
    fleet,
    store,
    service,
    nodeLabel,
    attends: false,
    retention: false,
    logger: false,
    ...more,
  })
  await node.start()
  try {
    return await act(node)
  } finally {
    await node.stop()
  }
}

function durationOf(option: string): (text: string) => number {
  return (text) => durationText(text, option)
}

/** A wall time means another instant in each zone, and nobody says here which zone that is. */
function untilOf(text: string): number {
  const hasZone = /(Z|[+-]\d\d:?\d\d)$/.test(text.trim())
  const instant = hasZone ? instantOrNull(text) : null
  if (instant !== null) return instant
  const why = hasZone || instantOrNull(text) === null ? 'is no instant: write one' : 'is in no zone: write it'
  const message = `--until '${text}' ${why} with Z or an offset, such as 2026-11-29T07:00Z or 2026-11-29T09:00+02:00.`
  throw new FleetcronError('OPTION_INVALID', message)
}

function instantOrNull(text: string): number | null {
  try {
    return instantOf(text, 'UTC', '--until')
  } catch {
    return null
  }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new InvalidArgumentError('Write JSON, such as \'{"month":"2026-11"}\'.')
  }
}
