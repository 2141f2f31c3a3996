import type { Command } from 'commander'
import { findJob } from './find.js'
import { type CommandContext, inLedger, type LedgerOptions, withLedgerOptions } from './ledger.js'
import { limitOf } from './runs.js'
import { table } from './table.js'
import { printJson } from './terminal.js'
import { eventView, short } from './views.js'

interface EventsOptions extends LedgerOptions {
  readonly limit: number
}

const EXAMPLE = `
Example:
  $ fleetcron events daily-invoices --store sqlite:./ledger.db --fleet billing
  at                    job                     kind     by   why
  2026-11-29T12:00:00Z  billing:daily-invoices  paused   ada  month end
  2026-11-01T08:00:00Z  billing:daily-invoices  defined  web1#411`

/** Adds `fleetcron events`: who asked for what, and what was decided about definitions. */
export function addEvents(program: Command, { terminal }: CommandContext): void {
  withLedgerOptions(program.command('events').description('list what was asked and decided, newest first'))
    .argument('[job]', 'its name, or service:id (default: all jobs)')
    .option('-n, --limit <number>', 'how many, 1 to 1000', limitOf, 20)
    .addHelpText('after', EXAMPLE)
    .action((name: string | undefined, options: EventsOptions) =>
      inLedger(options, async (ledger) => {
        const job = name === undefined ? undefined : (await findJob(ledger, name)).header.job
        const found = await ledger.store.events({ limit: options.limit, ...(job && { job }) })
        const views = found.map(eventView)
        if (options.json === true) return printJson(terminal, views)
        const rows = views.map((event) => [short(event.at), event.job, event.kind, event.by, event.why ?? ''])
        terminal.out(table(['at', 'job', 'kind', 'by', 'why'], rows))
      }),
    )
}
