import 'reflect-metadata'
import { Global, Inject, Injectable, Module, type OnModuleDestroy, type Type } from '@nestjs/common'
import { describe, expect, it } from 'vitest'
import { Cron, FleetModule } from '../../src/nest/index.js'
import { fleetOf, NEVER, OPTIONS, startApplication } from './stand.js'

describe('when the application ends, runs drain before what they use is taken away', () => {
  it.each([
    { where: 'in the root module', global: false, root: true, fleet: 'first' },
    { where: 'in the root module', global: false, root: true, fleet: 'last' },
    { where: 'in a module of its own', global: false, root: false, fleet: 'first' },
    { where: 'in a module of its own', global: false, root: false, fleet: 'last' },
    { where: 'in a global module', global: true, root: false, fleet: 'first' },
    { where: 'in a global module', global: true, root: false, fleet: 'last' },
  ])('the database $where, the fleet imported $fleet', async ({ global, root, fleet: place }) => {
    const { Database, Invoices, begun, proceed } = application()
    @Module({ providers: [Database, Invoices] })
    class Own {}
    const database = global ? Global()(Own) : Own
    const imports = root ? [] : [(database ?? Own) as Type]
    const fleetModule = FleetModule.forRoot(OPTIONS)
    const app = await startApplication({
      imports: place === 'first' ? [fleetModule, ...imports] : [...imports, fleetModule],
      providers: root ? [Database, Invoices] : [],
    })
    const fleet = fleetOf(app)
    const settled = fleet.once('run-settled')
    await fleet.trigger('nightly')
    await begun
    fleet.on('stopping', proceed)
    await app.close()
    expect((await settled).run).toMatchObject({ state: 'succeeded', result: '"the database is open"' })
    expect(app.get(Database, { strict: false }).open).toBe(false)
  })
})

describe('a database in the manner of TypeORM, which closes in onApplicationShutdown', () => {
  it.each([true, false])('is open while handlers end; fleet imported first: %s', async (first) => {
    let proceed = () => {}
    let tellBegun = () => {}
    const closing = new Promise<void>((resolve) => {
      proceed = resolve
    })
    const begun = new Promise<void>((resolve) => {
      tellBegun = resolve
    })
    @Injectable()
    class DataSource {
      open = true
      onApplicationShutdown() {
        this.open = false
      }
    }
    @Injectable()
    class Invoices {
      constructor(@Inject(DataSource) private readonly source: DataSource) {}
      @Cron(NEVER, { name: 'nightly' })
      async bill() {
        tellBegun()
        await closing
        return this.source.open
      }
    }
    @Module({})
    class Database {}
    const database = { module: Database, global: true, providers: [DataSource], exports: [DataSource] }
    const fleetModule = FleetModule.forRoot(OPTIONS)
    const app = await startApplication({
      imports: first ? [fleetModule, database] : [database, fleetModule],
      providers: [Invoices],
    })
    const settled = fleetOf(app).once('run-settled')
    await fleetOf(app).trigger('nightly')
    await begun
    fleetOf(app).on('stopping', () => proceed())
    await app.close()
    expect((await settled).run).toMatchObject({ state: 'succeeded', result: 'true' })
    expect(app.get(DataSource, { strict: false }).open).toBe(false)
  })
})

/** A database that closes as Prisma's does, and a handler that is busy while the application is closed. */
function application() {
  let tellBegun = () => {}
  let proceed = () => {}
  const begun = new Promise<void>((resolve) => {
    tellBegun = resolve
  })
  const closing = new Promise<void>((resolve) => {
    proceed = resolve
  })
  @Injectable()
  class Database implements OnModuleDestroy {
    open = true
    onModuleDestroy() {
      this.open = false
    }
  }
  @Injectable()
  class Invoices {
    constructor(@Inject(Database) private readonly database: Database) {}
    @Cron(NEVER, { name: 'nightly' })
    async bill() {
      tellBegun()
      await closing
      return this.database.open ? 'the database is open' : 'the database is closed'
    }
  }
  return { Database, Invoices, begun, proceed: () => proceed() }
}
