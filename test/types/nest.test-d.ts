import { Cron, type CronOptions, FleetModule, InjectFleet, type Run } from 'fleetcron/nest'

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

// @ts-expect-error a fleet has a name
FleetModule.forRoot({ store: 'memory:' })
// @ts-expect-error one letter too many
FleetModule.forRoot({ fleet: 'billing', stores: 'memory:' })
// @ts-expect-error the factory has to give options
FleetModule.forRootAsync({ useFactory: () => 'memory:' })

export const terms: CronOptions = { catchUp: { policy: 'each', within: '7d' } }
export { Invoices }
