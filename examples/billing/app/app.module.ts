import { Module } from '@nestjs/common'
import { sqlite } from 'fleetcron/effect/sqlite'
import { FleetModule } from 'fleetcron/nest'
import type { Config } from '../shared/config.js'
import type { Db } from '../shared/database.js'
import { CONFIG, DATABASE, DatabaseModule } from '../shared/database.module.js'
import { Billing } from './billing.js'
import { Observer } from './observer.js'

@Module({
  imports: [
    DatabaseModule,
    FleetModule.forRootAsync({
      inject: [CONFIG, DATABASE],
      useFactory: (config: Config, database: Db) => ({
        fleet: config.fleet,
        service: 'billing',
        store: config.ledger,
        effects: sqlite(database),
        lease: config.leaseMs,
        release: config.release,
      }),
    }),
  ],
  providers: [Billing, Observer],
})
export class AppModule {}
