import { createServer } from 'node:net'
import { createFleet } from '../../src/index.js'
import { LEASE, note, TERMS, WORK } from './jobs.js'

/** An application as `fleetcron run --app` loads it. */
export const fleet = createFleet({
  fleet: 'billing',
  service: 'billing',
  store: process.env.LEDGER,
  lease: LEASE,
  logger: false,
})

for (const [name, terms] of Object.entries(TERMS)) fleet.job(name, terms, WORK[name as keyof typeof TERMS])
fleet.job('other', { cron: '* * * * * *', timeZone: 'UTC' }, () => note('other'))

// It has something open that nobody closes, as applications do.
createServer().listen(0)
