import Database from 'better-sqlite3'
import { createFleet, currentRun, type FleetOptions, type JobOptions, type Run, type RunRecord } from 'fleetcron'
import { sqlite } from 'fleetcron/effect/sqlite'

/** Types every `tx`, as an application does once. */
declare module 'fleetcron' {
  interface Register {
    tx: Database.Database
  }
}

const database = new Database(':memory:')
const fleet = createFleet({
  fleet: 'billing',
  store: process.env.DATABASE_URL,
  effects: sqlite(database),
  lease: '30s',
})

fleet.job('daily', { cron: '0 0 * * *', timeZone: 'Europe/Helsinki', overlap: 'wait' }, async (run) => {
  const date: string = run.date
  const at: Date = run.scheduledAt
  const since: Date | null = run.since
  const rows: number = await run.once(`invoice:${date}`, (tx) => tx.prepare('SELECT 1').run().changes)
  run.signal.throwIfAborted()
  return { rows, at, since }
})

fleet.job<{ tenant: string }>(
  'digest',
  { catchUp: { policy: 'each', within: '7d' }, retry: 3 },
  (run) => run.data.tenant,
)

export const record: Promise<RunRecord> = fleet.trigger('digest', { data: { tenant: 'x' }, key: 'once' })
export const current: Run | undefined = currentRun()
export const off: () => void = fleet.on('session-lost', ({ blockedMs, why }) => [blockedMs.toFixed(), why === 'lease'])
export const settled: Promise<{ readonly token: number }> = fleet.once('run-settled', ({ result }) => result === 'late')

// @ts-expect-error a fleet has a name
export const nameless: FleetOptions = { store: 'memory:' }
// @ts-expect-error the option is called timeZone
export const zone: JobOptions = { cron: '* * * * *', timezone: 'UTC' }
// @ts-expect-error each has to say how far back it goes
export const each: JobOptions = { catchUp: 'each' }
// @ts-expect-error not one of the words
export const forbid: JobOptions = { overlap: 'forbid' }
// @ts-expect-error a handler is a function
fleet.job('none', { cron: '* * * * *' }, 'handler')
// @ts-expect-error the data of this job is another
fleet.job<{ tenant: string }>('other', {}, (run) => run.data.customer)
// @ts-expect-error no such event
fleet.on('session-ended', () => {})
// @ts-expect-error a pause ends at a Date
fleet.pause('digest', { until: '1h' })
// @ts-expect-error the transaction is registered as another type
fleet.job('wrong', {}, (run) => run.once('key', (tx) => tx.query('SELECT 1')))
