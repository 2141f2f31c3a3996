import { createFleet, defineHandler, type Run, type RunOf } from 'fleetcron'
import { Handler } from 'fleetcron/nest'

const fleet = createFleet({ fleet: 'billing', store: 'memory:' })
const at8 = { cron: '0 8 * * *', timeZone: 'UTC' } as const

const digest = defineHandler<{ tenantId: string }>('tenant-digest')
await fleet.schedules.upsert({ name: 'a', handler: digest, data: { tenantId: 'a' }, ...at8 })
await fleet.schedules.ensure({ name: 'a', handler: digest, data: { tenantId: 'a' }, ...at8, overlap: 'wait' })
// @ts-expect-error the handler says what its data is
await fleet.schedules.upsert({ name: 'a', handler: digest, data: { tenant: 'a' }, ...at8 })
// @ts-expect-error data is needed
await fleet.schedules.upsert({ name: 'a', handler: digest, ...at8 })
// @ts-expect-error a schedule kept in the store is never disabled on one node
await fleet.schedules.upsert({ name: 'a', handler: digest, data: { tenantId: 'a' }, ...at8, disabled: true })

fleet.handler(digest, (run) => run.data.tenantId.toUpperCase())
// @ts-expect-error the data has no such field
fleet.handler(digest, (run) => run.data.nothing)
await fleet.schedules.list({ handler: digest, limit: 10 })

const parsed = defineHandler('parsed', { parse: (data) => Number(data), quota: 10 })
fleet.handler(parsed, (run) => run.data.toFixed(2))
const bare = defineHandler('bare')
await fleet.schedules.upsert({ name: 'b', handler: bare, ...at8 })

export class Digests {
  @Handler(digest)
  async send(run: RunOf<typeof digest>) {
    return run.data.tenantId
  }

  // @ts-expect-error a run of other data
  @Handler(digest)
  async other(run: Run<number>) {
    return run.data
  }
}
