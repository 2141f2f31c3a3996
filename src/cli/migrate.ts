import type { Command } from 'commander'
import { FleetcronError } from '../errors.js'
import { migrationOf } from '../store/migration.js'
import { resolveStore } from '../store/resolve.js'
import { type CommandContext, type LedgerOptions, storeOf, withStore } from './ledger.js'
import { printJson, type Terminal } from './terminal.js'

interface MigrateOptions extends LedgerOptions {
  readonly print?: boolean
  readonly schema?: string
  readonly prefix?: string
}

const EXAMPLE = `
Example:
  $ fleetcron migrate --store postgres://admin@db/app
  schema 1 was made: nothing was there before
  $ fleetcron migrate --store postgres://admin@db/app --print > ledger.sql`

/** Adds `fleetcron migrate`: makes or upgrades a ledger's schema, or prints what would. */
export function addMigrate(program: Command, { terminal }: CommandContext): void {
  const command = program
    .command('migrate')
    .description("make or upgrade a ledger's schema, or print the SQL that does")
  withStore(command)
    .option('--print', 'print the SQL of what is missing, and change nothing')
    .option('--schema <name>', "Postgres: the ledger's schema (default: fleetcron)")
    .option('--prefix <text>', "MySQL and MariaDB: what the tables' names begin with (default: fleetcron_)")
    .option('--json', 'print what was found and made as JSON')
    .addHelpText('after', EXAMPLE)
    .action((options: MigrateOptions) => migrate(options, terminal))
}

async function migrate(options: MigrateOptions, terminal: Terminal): Promise<void> {
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
  await store.open()
  await store.close()
  if (options.json === true) printJson(terminal, { from, to })
  else terminal.out(`${outcome(from, to)}\n`)
}

function outcome(from: number | null, to: number): string {
  if (from === null) return `schema ${to} was made: nothing was there before`
  return from >= to ? `nothing to do: it has schema ${from}` : `schema ${from} was upgraded to ${to}`
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
    throw new FleetcronError('OPTION_INVALID', `The option ${option} does not go with this store.`)
  }
  const url = new URL(text)
  url.searchParams.set(name, asked)
  return url.href
}
