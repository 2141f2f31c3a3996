import type { Command } from 'commander'
import { effectTables } from '../effect/resolve.js'
import { FleetcronError } from '../errors.js'
import { type Migration, migrationOf } from '../store/migration.js'
import { resolveStore } from '../store/resolve.js'
import { openBusiness } from './business.js'
import { type CommandContext, type LedgerOptions, storeOf, withStore } from './ledger.js'
import { printJson } from './terminal.js'

interface MigrateOptions extends LedgerOptions {
  readonly effects?: string
  readonly print?: boolean
  readonly verify?: boolean
  readonly schema?: string
  readonly prefix?: string
}

const EXAMPLE = `
Example:
  $ fleetcron migrate --store postgres://admin@db/app
  schema 1 was made: nothing was there before
  $ fleetcron migrate --store postgres://admin@db/app --print > ledger.sql
  $ fleetcron migrate --effects postgres://admin@db/billing --verify
  missing: table fleetcron_effect, table fleetcron_fence`

/** Adds `fleetcron migrate`: makes a ledger's schema or the tables of effects, prints the SQL that does, or looks. */
export function addMigrate(program: Command, context: CommandContext): void {
  const command = program
    .command('migrate')
    .description("make or upgrade a ledger's schema, or the tables of effects; or print the SQL, or verify")
  withStore(command)
    .option('-F, --fleet <name>', 'makes no difference: a schema is that of all fleets')
    .option('--effects <url>', 'the tables of effects in this business database, instead of a ledger')
    .option('--print', 'print the SQL of what is missing (of effects: all of it), and change nothing')
    .option('--verify', 'say what is missing, and change nothing; exit code 1 where something is')
    .option('--schema <name>', "Postgres: the ledger's schema (default: fleetcron)")
    .option('--prefix <text>', "MySQL and MariaDB: what the tables' names begin with (default: fleetcron_)")
    .option('--json', 'print what was found and made as JSON')
    .addHelpText('after', EXAMPLE)
    .action((options: MigrateOptions) => {
      if (options.print === true && options.verify === true) throw invalid('Say one of --print and --verify.')
      if (options.effects === undefined) return migrate(options, context)
      // The variable FLEETCRON_STORE may be set for other commands: it is no second request.
      const isBoth = command.getOptionValueSource('store') === 'cli'
      if (isBoth || options.schema !== undefined || options.prefix !== undefined) {
        throw invalid('--effects goes with neither --store, --schema nor --prefix: migrate one after the other.')
      }
      return migrateEffects(options.effects, options, context)
    })
}

async function migrate(options: MigrateOptions, context: CommandContext): Promise<void> {
  const { terminal } = context
  // A schema belongs to all fleets of a ledger: which one is named makes no difference.
  const store = await resolveStore(urlOf(options), 'fleetcron')
  const asked = migrationOf(store)
  if (asked === null) {
    if (options.json === true) printJson(terminal, { from: null, to: null })
    else terminal[options.print === true ? 'err' : 'out']('nothing to do: this store has no schema\n')
    return
  }
  const { from, to, sql } = await asked
  if (options.print === true) {
    if (from !== null && from >= to) terminal.err(`nothing to do: it has schema ${from}\n`)
    terminal.out(sql)
    return
  }
  if (options.verify === true) return verified({ from, to, sql }, options, context)
  await store.open()
  await store.close()
  if (options.json === true) printJson(terminal, { from, to })
  else terminal.out(`${outcome(from, to)}\n`)
}

function verified({ from, to }: Migration, options: MigrateOptions, { terminal, failed }: CommandContext): void {
  const isThere = from !== null && from >= to
  if (!isThere) failed()
  if (options.json === true) printJson(terminal, { from, to })
  else if (isThere) terminal.out(`nothing is missing: it has schema ${from}\n`)
  else terminal.out(`missing: schema ${to}; ${from === null ? 'there is none yet' : `it has schema ${from}`}\n`)
}

function outcome(from: number | null, to: number): string {
  if (from === null) return `schema ${to} was made: nothing was there before`
  return from >= to ? `nothing to do: it has schema ${from}` : `schema ${from} was upgraded to ${to}`
}

async function migrateEffects(url: string, options: MigrateOptions, context: CommandContext): Promise<void> {
  const { terminal, failed } = context
  if (options.print === true) return terminal.out(effectTables(url))
  const isLook = options.verify === true
  const { effects, close } = await openBusiness(url)
  const found = await (isLook ? effects.missing() : effects.ensure()).finally(close)
  if (isLook && found.length > 0) failed()
  const said = isLook ? 'missing' : 'made'
  if (options.json === true) return printJson(terminal, { [said]: found })
  const nothing = isLook ? 'nothing is missing' : 'nothing to do: the tables of effects are there'
  terminal.out(found.length === 0 ? `${nothing}\n` : `${said}: ${found.join(', ')}\n`)
}

function urlOf(options: MigrateOptions): string {
  const text = storeOf(options)
  const asked = options.schema === undefined ? options.prefix : options.schema
  if (asked === undefined) return text
  const [option, name, scheme] =
    options.schema === undefined
      ? (['--prefix', 'prefix', /^(mysql|mariadb):/i] as const)
      : (['--schema', 'schema', /^postgres(ql)?:/i] as const)
  if (!scheme.test(text) || !URL.canParse(text)) {
    throw invalid(`The option ${option} does not go with this store.`)
  }
  const url = new URL(text)
  url.searchParams.set(name, asked)
  return url.href
}

function invalid(message: string): FleetcronError {
  return new FleetcronError('OPTION_INVALID', message)
}
