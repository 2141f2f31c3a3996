import { type Command, Option } from 'commander'
import type { Resolution, ResolvedCall } from '../effect/call/face.js'
import { NO_SUCH_EFFECT } from '../effect/errors.js'
import type { Effects } from '../effect/port.js'
import { FleetcronError, hasCode } from '../errors.js'
import type { Fleet } from '../fleet/fleet.js'
import { oneLine } from '../platform/told.js'
import { speaking } from './asking.js'
import { inBusiness } from './business.js'
import { type CommandContext, inLedger, type LedgerOptions, withLedger } from './ledger.js'
import { limitOf } from './runs.js'
import { table } from './table.js'
import { printJson, type Terminal } from './terminal.js'
import { short } from './views.js'

interface EffectsOptions {
  readonly effects?: string
  readonly json?: boolean
  readonly limit: number
}

interface ResolveOptions extends EffectsOptions, Pick<LedgerOptions, 'store' | 'fleet'> {
  readonly confirmed?: string
  readonly rejected?: string
  readonly retry?: boolean
  readonly by?: string
  readonly why: string
}

const LIST_EXAMPLE = `
Example:
  $ fleetcron effects --uncertain --effects postgres://app@db/billing
  key                tries  since                 problem         run
  charge:42:2026-11  2      2026-11-29T00:00:07Z  socket hang up  billing/billing:charges 2026-11-29T00:00`

const RESOLVE_EXAMPLE = `
Example:
  $ fleetcron resolve charge:42:2026-11 --confirmed '{"id":"ch_1"}' --why 'found in the dashboard'
  charge:42:2026-11 is confirmed`

/** Adds `fleetcron effects` and `fleetcron resolve`: calls of providers whose outcome nobody knows. */
export function addEffects(program: Command, { terminal }: CommandContext): void {
  withEffects(program.command('effects').description('list the calls of providers whose outcome nobody knows'))
    .option('--uncertain', 'only these are listed; the option says so')
    .option('-n, --limit <number>', 'how many at most, 1 to 1000', limitOf, 100)
    .option('--json', 'print JSON instead of a table')
    .addHelpText('after', LIST_EXAMPLE)
    .action((options: EffectsOptions) => inEffects(options, (effects) => list(effects, options, terminal)))
  withLedger(withEffects(program.command('resolve').description('say what became of a call whose outcome nobody knew')))
    .argument('<key>', 'its key, as `fleetcron effects` lists it', said('The key'))
    .option('--confirmed <json>', 'the provider has done it: its answer')
    .option('--rejected <reason>', 'the provider has not done it, and is not to be asked again', said('--rejected'))
    .option('--retry', 'the provider has not done it: the next call sends it')
    .option('--by <who>', 'who says so (default: the user of the system)', said('--by'))
    .requiredOption('--why <text>', 'how it was found out; kept with the effect', said('--why'))
    .option('--json', 'print JSON')
    .addHelpText('after', RESOLVE_EXAMPLE)
    .action((key: string, options: ResolveOptions) =>
      inEffects(options, (effects) => resolve(effects, key, options, terminal)),
    )
}

/** A text that is kept for people; an empty one tells them nothing. */
function said(option: string): (text: string) => string {
  return (text) => {
    if (text.trim() !== '') return text
    throw new FleetcronError('OPTION_INVALID', `${option} is empty: write what others can read later.`)
  }
}

export function withEffects(command: Command): Command {
  const what = 'the business database: sqlite:./billing.db, postgres://…, mysql://…'
  return command.addOption(new Option('-e, --effects <url>', what).env('FLEETCRON_EFFECTS'))
}

async function inEffects(options: EffectsOptions, act: (effects: Effects) => Promise<void>): Promise<void> {
  if (!options.effects) {
    const message = 'Which business database? Name it with --effects, or in the variable FLEETCRON_EFFECTS.'
    throw new FleetcronError('OPTION_INVALID', message)
  }
  await inBusiness(options.effects, act)
}

async function list(effects: Effects, options: EffectsOptions, terminal: Terminal): Promise<void> {
  const found = await effects.uncertain(options.limit)
  if (options.json === true) {
    const views = found.map(({ intendedAt, ...each }) => ({ ...each, intendedAt: new Date(intendedAt).toISOString() }))
    return printJson(terminal, views)
  }
  if (found.length === 0) return terminal.out('no effect is uncertain\n')
  const rows = found.map(({ key, tries, intendedAt, problem, job, run }) => [
    oneLine(key),
    `${tries}`,
    short(new Date(intendedAt).toISOString()),
    oneLine(problem ?? ''),
    oneLine(job === null ? '' : `${job} ${run}`),
  ])
  terminal.out(table(['key', 'tries', 'since', 'problem', 'run'], rows))
}

async function resolve(effects: Effects, key: string, options: ResolveOptions, terminal: Terminal): Promise<void> {
  const resolution = resolutionOf(options, options.by ?? terminal.user())
  const isLedgerNamed = options.store !== undefined && options.fleet !== undefined
  const said = isLedgerNamed && (await saidInLedger(effects, key, resolution, options, terminal))
  const { as, noted } = await known(said === false || said === null ? effects.resolve(key, resolution) : said.made, key)
  if (options.json === true) return printJson(terminal, { key, state: as, ...by(resolution), noted })
  terminal.out(`${oneLine(key)} is ${as}${noted ? ', and the history of its job says so' : ''}\n`)
}

/** A key that no effect has is a slip of the command line. */
async function known(made: Promise<ResolvedCall>, key: string): Promise<ResolvedCall> {
  try {
    return await made
  } catch (error) {
    if (!hasCode(error, 'EFFECT_INVALID') || !error.message.endsWith(NO_SUCH_EFFECT)) throw error
    const message = `There is no effect with the key '${key}': fleetcron effects lists the keys of those that are uncertain.`
    throw new FleetcronError('OPTION_INVALID', message, { cause: error })
  }
}

function by({ by, why }: Resolution) {
  return { by, why }
}

/** Null: the ledger is away, which keeps nobody from deciding. */
async function saidInLedger(
  effects: Effects,
  key: string,
  resolution: Resolution,
  options: ResolveOptions,
  terminal: Terminal,
): Promise<{ readonly made: Promise<ResolvedCall> } | null> {
  let asked: Promise<ResolvedCall> | null = null
  const ask = async (fleet: Fleet) => {
    asked = fleet.effects.resolve(key, resolution)
    await asked.catch(() => undefined)
  }
  try {
    await inLedger(options, (ledger) => speaking(ledger, ask, { effects }))
  } catch (error) {
    terminal.err(`the ledger's history is not told: ${oneLine(messageOf(error))}\n`)
  }
  return asked === null ? null : { made: asked }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

function resolutionOf({ confirmed, rejected, retry, why }: ResolveOptions, by: string): Resolution {
  const said = [confirmed, rejected, retry].filter((each) => each !== undefined)
  if (said.length !== 1) {
    throw new FleetcronError('OPTION_INVALID', 'Say one of --confirmed <json>, --rejected <reason> and --retry.')
  }
  if (rejected !== undefined) return { by, why, rejected }
  if (confirmed === undefined) return { by, why, retry: true }
  try {
    return { by, why, confirmed: JSON.parse(confirmed) as unknown }
  } catch {
    throw new FleetcronError('OPTION_INVALID', '--confirmed is not JSON: quote it, such as \'{"id":"ch_1"}\'.')
  }
}
