import { Global, Inject, Module, type OnModuleDestroy } from '@nestjs/common'
import { type Config, fromEnvironment } from './config.js'
import { type Customer, readCustomers } from './customers.js'
import { type Db, openDatabase } from './database.js'

export const CONFIG = Symbol('config')
export const CUSTOMERS = Symbol('customers')
export const DATABASE = Symbol('database')

/** What both applications are given: configuration, customers, and the business database, closed when the application ends. */
@Global()
@Module({
  providers: [
    { provide: CONFIG, useFactory: fromEnvironment },
    {
      provide: CUSTOMERS,
      inject: [CONFIG],
      useFactory: (config: Config): Customer[] => readCustomers(config.customers).slice(0, config.most ?? undefined),
    },
    { provide: DATABASE, inject: [CONFIG], useFactory: (config: Config): Db => openDatabase(config.database) },
  ],
  exports: [CONFIG, CUSTOMERS, DATABASE],
})
export class DatabaseModule implements OnModuleDestroy {
  constructor(@Inject(DATABASE) private readonly database: Db) {}

  onModuleDestroy(): void {
    this.database.close()
  }
}
