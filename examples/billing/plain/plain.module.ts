import { Module } from '@nestjs/common'
import { ScheduleModule } from '@nestjs/schedule'
import type { Config } from '../shared/config.js'
import { type Db, openFile } from '../shared/database.js'
import { CONFIG, DatabaseModule } from '../shared/database.module.js'
import { nodeLabel } from '../shared/periods.js'
import { ExpiringLock } from './lock.js'
import { PlainBilling } from './plain-billing.js'
import { WorkLog } from './work-log.js'

const LOCKS = Symbol('locks')

@Module({
  imports: [DatabaseModule, ScheduleModule.forRoot()],
  providers: [
    {
      provide: LOCKS,
      inject: [CONFIG],
      useFactory: (config: Config): Db => openFile(config.ledger),
    },
    {
      provide: ExpiringLock,
      inject: [LOCKS, CONFIG],
      useFactory: (locks: Db, config: Config) => new ExpiringLock(locks, 'invoices', nodeLabel(), config.leaseMs),
    },
    { provide: WorkLog, inject: [LOCKS], useFactory: (locks: Db) => new WorkLog(locks) },
    PlainBilling,
  ],
})
export class PlainModule {}
