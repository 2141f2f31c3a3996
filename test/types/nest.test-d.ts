import { fencedFetch, fencingHeaders } from 'fleetcron'
import {
  Cron,
  type CronOptions,
  Fenced,
  FleetModule,
  InjectFleet,
  Interval,
  ReceivedFence,
  Run,
  runFleetJob,
  ScheduleModule,
  Timeout,
} from 'fleetcron/nest'

class Invoices {
  @Cron('0 0 * * *', { name: 'daily', timeZone: 'Europe/Helsinki', overlap: 'wait' })
  async daily(run: Run): Promise<void> {
    await run.once(`invoice:${run.date}`, () => 1)
  }

  @Cron('0 0 * * *')
  withoutRun(): number {
    return 1
  }

  // @ts-expect-error a handler takes a run, not a text
  @Cron('0 0 * * *')
  text(_text: string): void {}

  // @ts-expect-error a handler takes a run and nothing else
  @Cron('0 0 * * *')
  two(_run: Run, _other: number): void {}

  // @ts-expect-error a property is no handler
  @Cron('0 0 * * *')
  property = 1

  // @ts-expect-error an expression is needed
  @Cron()
  nothing(): void {}

  // @ts-expect-error the schedule is the first argument
  @Cron('0 0 * * *', { every: '1h' })
  every(): void {}

  // @ts-expect-error overlap is one of four words
  @Cron('0 0 * * *', { overlap: 'forbid' })
  overlap(): void {}
}

class Scopes {
  @Cron('0 0 * * *', { scope: 'node', waitForCompletion: true, threshold: 500 })
  node(): void {}

  // @ts-expect-error a timer has no policy of the fleet
  @Cron('0 0 * * *', { scope: 'node', overlap: 'wait' })
  policy(): void {}

  // @ts-expect-error a zone is named once
  @Cron('0 0 * * *', { timeZone: 'UTC', utcOffset: 0 })
  zones(): void {}

  @Cron(new Date(0), { utcOffset: 120 })
  date(): void {}

  @Interval(60_000, { overlap: 'wait' })
  interval(): void {}

  @Interval('named', 60_000)
  named(_run: Run): void {}

  // @ts-expect-error a period is a number of milliseconds
  @Interval('1m')
  text(): void {}

  // @ts-expect-error a handler takes a run, not a number
  @Interval(60_000)
  wrong(_count: number): void {}

  @Timeout(5_000)
  timeout(): void {}

  @Timeout(5_000, { scope: 'fleet', key: 'release-7' })
  once(): void {}

  @Timeout(5_000, { scope: 'fleet', name: 'warm-up', key: process.env.RELEASE })
  ofVariable(): void {}

  @Timeout(5_000, { scope: 'fleet' })
  ofRelease(): void {}

  // @ts-expect-error a timer on every node runs for no key
  @Timeout(5_000, { key: 'release-7' })
  keyOfNode(): void {}
}

class Desk {
  constructor(@InjectFleet() readonly fleet: import('fleetcron').Fleet) {}
}

FleetModule.forRoot({ fleet: 'billing', store: process.env.DATABASE_URL })
FleetModule.forRootAsync({ useFactory: () => ({ fleet: 'billing', store: 'memory:' }) })
FleetModule.forRootAsync({
  imports: [],
  inject: ['URL', Desk],
  useFactory: async (store: string, _desk: Desk) => ({ fleet: 'billing', store }),
})

FleetModule.forRoot()
ScheduleModule.forRoot({ cronJobs: false })
FleetModule.forRoot({
  fleet: 'billing',
  store: 'memory:',
  defaults: { scope: 'node', overlap: 'wait' },
  startup: 'fail',
  shutdown: 'sigterm',
  jobs: { daily: { cron: '0 3 * * *', timeZone: 'UTC', overlap: 'merge', enabled: true } },
})
FleetModule.forRoot({ fleet: 'billing', store: 'memory:', jobs: { daily: { cron: process.env.INVOICE_CRON } } })
// @ts-expect-error a job has one schedule
FleetModule.forRoot({ fleet: 'billing', store: 'memory:', jobs: { daily: { cron: '0 3 * * *', every: '1h' } } })
// @ts-expect-error without a fleet there is no lease
FleetModule.forRoot({ lease: '30s' })
// @ts-expect-error a fleet has a name
FleetModule.forRoot({ store: 'memory:' })
// @ts-expect-error one letter too many
FleetModule.forRoot({ fleet: 'billing', stores: 'memory:' })
// @ts-expect-error the factory has to give options
FleetModule.forRootAsync({ useFactory: () => 'memory:' })

export const exit: Promise<number> = runFleetJob(Desk, ['daily', '--early', '60s'], { logger: false, leave: false })
runFleetJob(FleetModule.forRoot({ fleet: 'billing', store: 'memory:' }))
// @ts-expect-error the arguments are a list
runFleetJob(Desk, 'daily')

export const terms: CronOptions = { catchUp: { policy: 'each', within: '7d' } }
/** `Run` is a value too, for decorated methods under `emitDecoratorMetadata`. */
export const value: abstract new () => Run = Run
export { Invoices, Scopes }

/** A receiver: the fence of its request makes effects through the receiver's own transaction. */
export class Orders {
  @Fenced({ resources: ['billing/billing:stock'] })
  order(@ReceivedFence() fence: ReceivedFence<{ insert(text: string): number }>): Promise<number> {
    return fence.once('order:1', (tx) => tx.insert(fence.resource))
  }

  @Cron('0 0 * * *', { name: 'stock', resource: 'accounts/main' })
  async send(run: Run): Promise<number> {
    const response = await fencedFetch(run, 'https://stock.internal/orders', { method: 'POST' })
    return response.status + fencingHeaders(run)['Fencing-Token'].length
  }

  // @ts-expect-error a timer on every node has no resource
  @Cron('0 0 * * *', { scope: 'node', resource: 'accounts/main' })
  timer(): void {}
}
