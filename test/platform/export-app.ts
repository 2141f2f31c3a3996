import { createFleet } from '../../src/index.js'

/** An application with schedules of every kind; it is looked at, and not started. */
export default () => {
  const fleet = createFleet({ fleet: 'billing (production)', service: 'billing', store: 'memory:', logger: false })
  const nothing = () => {}
  fleet.job('daily-invoices', { cron: '0 0 * * *', timeZone: 'Europe/Helsinki' }, nothing)
  fleet.job('minutely', { cron: '* * * * *', timeZone: 'UTC' }, nothing)
  const each = { policy: 'each', within: '7d' } as const
  fleet.job('waits', { cron: '0 1 * * *', timeZone: 'UTC', overlap: 'wait', catchUp: each }, nothing)
  fleet.job('two-at-a-time', { cron: '0 1 * * *', timeZone: 'UTC', concurrency: 2 }, nothing)
  fleet.job('never-late', { cron: '0 1 * * *', timeZone: 'UTC', catchUp: 'skip', grace: '5m' }, nothing)
  fleet.job('off', { cron: '0 1 * * *', timeZone: 'UTC', disabled: true }, nothing)
  fleet.job('east', { cron: '0 1 * * *', timeZone: '+02:00' }, nothing)
  fleet.job('half-hours-east', { cron: '0 1 * * *', timeZone: '+05:30' }, nothing)
  fleet.job('spring', { cron: '30 2 * * *', timeZone: 'America/New_York' }, nothing)
  fleet.job('ticks', { cron: '*/10 * * * * *', timeZone: 'UTC' }, nothing)
  fleet.job('last-day', { cron: '0 0 L * *', timeZone: 'UTC' }, nothing)
  fleet.job('once', { at: '2099-01-01T00:00Z' }, nothing)
  fleet.job('counted', { every: '15m' }, nothing)
  fleet.job('by-hand', {}, nothing)
  return fleet
}
