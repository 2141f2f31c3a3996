import { createFleet } from '../../src/index.js'
import type { Store } from '../../src/store/port.js'
import type { CommandLine } from './command.js'

export interface Doctored {
  readonly code: number
  readonly server: {
    connections: { used: number; most: number } | null
    pooler: string | null
    eviction: string | null
  }
  readonly findings: { finding: string; grave: boolean; what: string; remedy: string }[]
}

/** What the doctor says of a fleet of one node that lives meanwhile; the store is the node's, the URL leads to the same ledger. */
export async function doctored(command: CommandLine, store: string | Store, url: string): Promise<Doctored> {
  const fleet = createFleet({ fleet: 'doctored', service: 'billing', store, logger: false })
  fleet.job('invoices', { cron: '0 0 29 2 *', timeZone: 'UTC' }, () => {})
  await fleet.start()
  try {
    const { code, out, err } = await command.run(['doctor', '--store', url, '--fleet', 'doctored', '--json'])
    if (out === '') throw new Error(err)
    return { code, ...JSON.parse(out) }
  } finally {
    await fleet.stop()
  }
}
