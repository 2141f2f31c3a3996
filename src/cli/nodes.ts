import type { Command } from 'commander'
import { allJobs, throwIfNobody } from './find.js'
import { type CommandContext, inLedger, type LedgerOptions, withLedgerOptions } from './ledger.js'
import { table } from './table.js'
import { printJson } from './terminal.js'
import { nodeView, short } from './views.js'

const EXAMPLE = `
Example:
  $ fleetcron nodes --store sqlite:./ledger.db --fleet billing
  node      services  state  attends  room  jobs  release  zone data  seen
  web1#411  billing   live   yes      yes   3              2026a      2026-11-29T12:00:00Z`

/** Adds `fleetcron nodes`: who has been seen of late. */
export function addNodes(program: Command, { terminal }: CommandContext): void {
  withLedgerOptions(program.command('nodes').description('list the nodes that were seen of late'))
    .addHelpText('after', EXAMPLE)
    .action((options: LedgerOptions) =>
      inLedger(options, async (ledger) => {
        const { nodes, now } = await ledger.store.load({ nodes: true })
        if (nodes.length === 0) throwIfNobody(ledger, await allJobs(ledger), nodes)
        const views = nodes
          .toSorted((a, b) => b.seenAt - a.seenAt || (a.session < b.session ? -1 : 1))
          .map((node) => nodeView(node, now))
        if (options.json === true) return printJson(terminal, views)
        const head = ['node', 'services', 'state', 'attends', 'room', 'jobs', 'release', 'zone data', 'seen']
        const rows = views.map((node) => [
          node.label,
          node.services.join(', '),
          node.state,
          yes(node.attends),
          yes(node.room),
          `${node.jobs}`,
          node.release ?? '',
          node.zoneData,
          short(node.seenAt),
        ])
        terminal.out(table(head, rows))
      }),
    )
}

function yes(value: boolean): string {
  return value ? 'yes' : 'no'
}
